// SPDX-License-Identifier: Apache-2.0
// vectorize_loop: a vectorized loop becomes statements over all its lanes at once.
//
// before:                                   after:
//   vectorized (x, 0, 8) {                    C[ramp((y*8), 1, 8)] =
//     C[((y*8) + x)] =                            (A[ramp((y*8), 1, 8)] + x8(B[y]))
//         (A[((y*8) + x)] + B[y])
//   }
//
// A condition on the vector variable is the tail of a loop that does not divide. With
// predicate_tail its stores and loads are masked; otherwise the statement is run lane by lane:
//
//   vectorized (x, 0, 8) {                        for (x.s, 0, 8) {
//     if (likely((((y*8) + x) < n))) {              if (likely((((y*8) + x.s) < n))) {
//       C[((y*8) + x)] = 0                            C[((y*8) + x.s)] = 0
//     }                                             }
//   }                                             }
//
// A loop of 7 or of 14 iterations has no vector of its own in the machine: where there are masks it
// becomes one of 8 or 16 lanes of which the last are off. Others become vectors of powers of two,
// one after the other, 16 and 8 lanes for 24: code generation takes a vector of 24 lanes apart into
// single elements wherever it passes from block to block, as sums do that stay in registers.
//
// Lane by lane is also the way out for whatever has no vector form: calls with effects, calls that
// get the address of another element in each lane, loops whose bounds depend on the lane, several
// lanes that store to one element. A buffer allocated inside
// gets one element a lane. A while loop is refused: what ends it is memory, which lanes would take
// turns with.
#include <bit>
#include <utility>

#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "lower/passes.h"
#include "lower/scoped_mutator.h"
#include "lower/vectorizer.h"
#include "runtime/error.h"

namespace tw::pass {
namespace {

// Wider loops become a serial loop over vectors of so many.
constexpr int64_t kMaxLanes = 256, kLanesOfPart = 64;

// The greatest power of two that is no more.
int64_t floor_power(int64_t n) {
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n)));
}

class VectorizeLoops : public ScopedMutator {
 public:
  explicit VectorizeLoops(const PassContext& context)
      : options_(context.options), target_(context.target) {}

 protected:
  using ScopedMutator::on;

  Stmt on(const For& op, const Stmt& self) override {
    const bool beside = std::exchange(found_, false);
    Stmt s = ScopedMutator::on(op, self);
    const bool inside = found_;
    found_ = beside || inside || op.for_kind == ForKind::Vectorized;
    if (op.for_kind != ForKind::Vectorized) return s;
    // Vectors do not nest: around a vectorized loop another one is serial.
    if (inside || !options_.vectorize) return with(s, [](For& f) { f.for_kind = ForKind::Serial; });
    return vectorize(*as<For>(s), s);
  }

 private:
  Stmt vectorize(const For& loop, const Stmt& self) {
    const auto extent = as_const_int(loop.extent);
    if (!extent) {
      raise({.code = ErrorCode::SymbolicExtent,
             .what = "vectorized loop of unknown extent",
             .axis = loop.var.name(),
             .legal = "a constant extent; split the axis first"});
    }
    if (*extent <= 0) return make(Evaluate{.value = 0});
    if (*extent == 1) return substitute(loop.body, VarMap{{loop.var, loop.min}});
    if (*extent > kMaxLanes) return in_vectors(loop, *extent);
    if (Stmt rounded = round_up(loop, *extent); rounded.defined()) return rounded;
    if (floor_power(*extent) != *extent) return in_powers_of_two(loop, *extent);
    const Stmt s = vectorize_body(loop, static_cast<int>(*extent), analyzer_, options_).body;
    return s.defined() ? s : with(self, [](For& f) { f.for_kind = ForKind::Serial; });
  }

  // Less than a vector, and not a half or a quarter: more lanes, the last of them off. Undefined
  // where that does not apply or not all of the body has a vector form.
  Stmt round_up(const For& loop, int64_t extent) {
    const auto lanes = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(extent)));
    if (lanes == extent || !options_.predicate_tail || !target_.has_masks) return {};
    if (lanes > target_.vector_lanes(32)) return {};
    const Expr end = loop.min + make_const(loop.min.dtype(), extent);
    For wide = loop;
    wide.body = make(IfThenElse{.condition = likely(loop.var < end), .then_case = loop.body});
    const auto [s, only_vectors] =
        vectorize_body(wide, static_cast<int>(lanes), analyzer_, options_);
    return only_vectors && !divides_in_lanes(s) ? s : Stmt();
  }
  // A quotient that all lanes shared may differ in those that were added.
  static bool divides_in_lanes(const Stmt& s) {
    bool found = false;
    for_each_expr(s, [&](const Expr& e) {
      found |= (is<FloorDiv>(e) || is<FloorMod>(e)) && e.dtype().is_vector();
    });
    return found;
  }

  // Of the loop's iterations from the one `begin` on, so many.
  Stmt part_of(const For& loop, const Expr& begin, int64_t extent) {
    For part = loop;
    if (!is_zero(begin)) part.min = loop.min + begin;
    part.extent = make_const(loop.var.dtype(), extent);
    const Stmt renamed = rename_bindings(make(std::move(part)));
    return vectorize(*as<For>(renamed), renamed);
  }

  Stmt in_powers_of_two(const For& loop, int64_t extent) {
    std::vector<Stmt> parts;
    for (int64_t begin = 0, lanes = 0; begin < extent; begin += lanes) {
      const int64_t rest = extent - begin;
      const bool rounds_up = begin > 0 && target_.has_masks && rest <= target_.vector_lanes(32);
      lanes = rounds_up ? rest : floor_power(rest);
      parts.push_back(part_of(loop, make_const(loop.var.dtype(), begin), lanes));
    }
    return block(parts);
  }

  // A serial loop over vectors, and what is left.
  Stmt in_vectors(const For& loop, int64_t extent) {
    const DType type = loop.var.dtype();
    const int64_t vectors = extent / kLanesOfPart, rest = extent % kLanesOfPart;
    const Var part(loop.var.name() + ".part", type);
    analyzer_.bind(part, Range{make_zero(type), make_const(type, vectors)});
    const Expr begin = part * make_const(type, kLanesOfPart);
    std::vector<Stmt> parts{make(For{.var = part,
                                     .min = make_zero(type),
                                     .extent = make_const(type, vectors),
                                     .body = part_of(loop, begin, kLanesOfPart)})};
    if (rest > 0) parts.push_back(part_of(loop, make_const(type, extent - rest), rest));
    return block(parts);
  }

  const PassOptions& options_;
  const Target& target_;
  bool found_ = false;  // a vectorized loop, in what was walked since this was cleared
};

}  // namespace

Kernel vectorize_loop(Kernel kernel, const PassContext& context) {
  kernel.body = VectorizeLoops(context).mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
