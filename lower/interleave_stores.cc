// SPDX-License-Identifier: Apache-2.0
// interleave_stores: vectors stored with lanes a small stride apart, that fill each other's gaps,
// become one vector without gaps.
//
// before:                                        after:
//   P[ramp(i, 4, 16)] = a[ramp(j, 1, 16)]          P[ramp(i, 1, 64)] = shuffle(
//   P[ramp((i + 1), 4, 16)] = b[ramp(j, 1, 16)]        [a[ramp(j, 1, 16)], …, d[ramp(j, 1, 16)]],
//   P[ramp((i + 2), 4, 16)] = c[ramp(j, 1, 16)]        [0, 16, 32, 48, 1, 17, …, 63])
//   P[ramp((i + 3), 4, 16)] = d[ramp(j, 1, 16)]
//
// Such stores copy rows into groups of their elements, for which processors have instructions that
// add several products at once. They are found in statements that stand side by side: those of
// unrolled loops. What is stored must not look at the buffer.
#include <optional>

#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

constexpr int64_t kGreatestStride = 4;

// A store of lanes that lie a small stride apart, and nothing else that happens.
const Ramp* strided(const Stmt& s) {
  const Store* store = as<Store>(s);
  if (store == nullptr || store->predicate.defined()) return nullptr;
  const Ramp* ramp = as<Ramp>(store->index);
  const auto stride = ramp ? as_const_int(ramp->stride) : std::nullopt;
  return stride && 2 <= *stride && *stride <= kGreatestStride ? ramp : nullptr;
}

bool looks_at(const Expr& e, const Var& buffer) {
  bool found = false;
  for_each_expr(e, [&](const Expr& part) {
    const Load* load = as<Load>(part);
    const Call* call = as<Call>(part);
    found |= load != nullptr && load->buffer.same_as(buffer);
    found |= part.same_as(buffer);
    found |= call != nullptr &&
             (call->call_kind == CallKind::Intrinsic || call->call_kind == CallKind::Extern);
  });
  return found;
}

class InterleaveStores : public Mutator {
 public:
  InterleaveStores() : Mutator(KindSet{NodeKind::Block}) {}

 protected:
  using Mutator::on;

  Stmt on(const Block& op, const Stmt& self) override {
    std::vector<Stmt> result;
    bool changed = false;
    for (size_t begin = 0; begin < op.stmts.size();) {
      if (Stmt whole = interleaved(op.stmts, begin); whole.defined()) {
        begin += static_cast<size_t>(*as_const_int(strided(op.stmts[begin])->stride));
        result.push_back(whole);
        changed = true;
        continue;
      }
      result.push_back(mutate(op.stmts[begin]));
      changed |= !result.back().same_as(op.stmts[begin++]);
    }
    return changed ? block(result) : self;
  }

 private:
  // The statements from `begin` on, as many as their stride, as one; undefined where they do not
  // fill each other's gaps in order.
  static Stmt interleaved(const std::vector<Stmt>& stmts, size_t begin) {
    const Ramp* first = strided(stmts[begin]);
    if (first == nullptr) return {};
    const auto stride = static_cast<size_t>(*as_const_int(first->stride));
    if (begin + stride > stmts.size()) return {};
    const Store* store = as<Store>(stmts[begin]);
    std::vector<Expr> rows;
    for (size_t k = 0; k < stride; ++k) {
      const Ramp* ramp = strided(stmts[begin + k]);
      const Store* row = as<Store>(stmts[begin + k]);
      const bool same = ramp != nullptr && row->buffer.same_as(store->buffer) &&
                        ramp->lanes == first->lanes &&
                        as_const_int(ramp->stride) == int64_t(stride);
      if (!same || looks_at(row->value, store->buffer)) return {};
      if (as_const_int(simplify(ramp->base - first->base)) != int64_t(k)) return {};
      rows.push_back(row->value);
    }
    const auto lanes = static_cast<size_t>(first->lanes);
    std::vector<int> indices;
    for (size_t l = 0; l < lanes; ++l) {
      for (size_t k = 0; k < stride; ++k) indices.push_back(static_cast<int>(k * lanes + l));
    }
    const Expr dense = make(Ramp{.base = first->base,
                                 .stride = make_const(first->base.dtype(), 1),
                                 .lanes = static_cast<int>(lanes * stride)});
    return with(stmts[begin], [&](Store& s) {
      s.value = make(Shuffle{.vectors = rows, .indices = indices});
      s.index = dense;
    });
  }
};

}  // namespace

Kernel interleave_stores(Kernel kernel, const PassContext&) {
  kernel.body = InterleaveStores().mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
