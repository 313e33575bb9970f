// SPDX-License-Identifier: Apache-2.0
// inject_double_buffer: what is marked so is stored twice, and computed for the next iteration
// before this one reads it, so that one's loads need not wait for the other's.
//
// before:                                        after:
//   for (k, 0, 4) {                                allocate S[float32 * 2 * 8]
//     // attr [0] double_buffer = 1                for (i, 0, 8) {
//     allocate S[float32 * 8]                        S[i] = A[i]
//     for (i, 0, 8) {                              }
//       S[i] = A[((k*8) + i)]                      for (k, 0, 4) {
//     }                                              if (likely(((k + 1) < 4))) {
//     B[k] = S[3]                                      for (i_1, 0, 8) {
//   }                                                    S[((floormod((k + 1), 2)*8) + i_1)] =
//                                                          A[(((k + 1)*8) + i_1)]
//                                                      }
//                                                    }
//                                                    B[k] = S[((floormod(k, 2)*8) + 3)]
//                                                  }
//
// Only where what computes it reads nothing that the loop writes otherwise, in a serial loop.
#include <algorithm>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "lower/passes.h"
#include "lower/widened_access.h"

namespace tw::pass {
namespace {

struct Doubled {
  std::vector<Allocate> buffers;  // the outputs of one stage
  Stmt produce;
};

const Allocate* marked(const Stmt& s) {
  const AttrStmt* mark = as<AttrStmt>(s);
  return mark != nullptr && mark->key == attr::kDoubleBuffer ? as<Allocate>(mark->body) : nullptr;
}

VarSet stored(const Stmt& root) {
  VarSet buffers;
  for_each_stmt(root, [&](const Stmt& s) {
    if (const Store* store = as<Store>(s)) buffers.insert(store->buffer);
  });
  return buffers;
}

// Takes what is marked out of the body of one loop.
class Take {
 public:
  explicit Take(const For& loop) : loop_(loop) {}
  std::vector<Doubled> taken;

  Stmt from(const Stmt& s) {
    if (marked(s) != nullptr) return from_marked(s);
    switch (s->kind) {
      case NodeKind::Allocate:
        return with(s, [&](Allocate& a) { a.body = from(a.body); });
      case NodeKind::AttrStmt:
        return with(s, [&](AttrStmt& a) { a.body = from(a.body); });
      case NodeKind::Block: {
        std::vector<Stmt> stmts = as<Block>(s)->stmts;
        stmts.back() = from(stmts.back());  // which may leave several
        return block(stmts);
      }
      default:
        return s;
    }
  }

 private:
  Stmt from_marked(const Stmt& s) {
    Doubled stage;
    Stmt body = s;
    while (const Allocate* a = marked(body)) {
      stage.buffers.push_back(*a);
      body = a->body;
    }
    const Block* block_of = as<Block>(body);
    if (block_of != nullptr) stage.produce = block_of->stmts.front();
    if (block_of == nullptr || !can_run_ahead(stage)) {
      return with(s, [&](AttrStmt& a) {
        a.body = with(a.body, [&](Allocate& x) { x.body = from(x.body); });
      });
    }
    taken.push_back(stage);
    return from(block({block_of->stmts.begin() + 1, block_of->stmts.end()}));
  }

  bool can_run_ahead(const Doubled& stage) const {
    VarSet own;
    for (const Allocate& a : stage.buffers) {
      if (a.scope == attr::kTileScope) return false;
      if (std::ranges::any_of(a.extents, [](const Expr& e) { return !as_const_int(e); }))
        return false;
      own.insert(a.buffer);
    }
    // Memory that it has for itself is its own too.
    bool plain = true;
    for_each_stmt(stage.produce, [&](const Stmt& s) {
      if (const Allocate* a = as<Allocate>(s)) own.insert(a->buffer);
      plain &= !is<Evaluate>(s) && !is<AssertStmt>(s);
    });
    for (const Var& v : stored(stage.produce)) plain &= own.contains(v);
    // What the rest of the iteration writes.
    VarSet others;
    std::vector<Stmt> open = {loop_.body};
    while (!open.empty()) {
      const Stmt s = open.back();
      open.pop_back();
      if (s.same_as(stage.produce)) continue;
      if (const Block* b = as<Block>(s)) {
        open.insert(open.end(), b->stmts.begin(), b->stmts.end());
      } else if (const Allocate* a = as<Allocate>(s)) {
        open.push_back(a->body);
      } else if (const AttrStmt* attribute = as<AttrStmt>(s)) {
        open.push_back(attribute->body);
      } else {
        for (const Var& v : stored(s)) others.insert(v);
        for_each_stmt(s, [&](const Stmt& x) { plain &= !is<Evaluate>(x) || has_no_effect(x); });
      }
    }
    for (const Allocate& a : stage.buffers) plain &= !others.contains(a.buffer);
    for_each_expr(stage.produce, [&](const Expr& e) {
      if (const Load* load = as<Load>(e)) plain &= !others.contains(load->buffer);
      if (const Call* call = as<Call>(e)) plain &= is_pure(Expr::of(call));
    });
    return plain;
  }
  static bool has_no_effect(const Stmt& s) { return is_pure(as<Evaluate>(s)->value); }

  const For& loop_;
};

// Accesses in one half of memory.
class InHalf : public WidenedAccess {
 public:
  InHalf(const VarMap& sizes, Expr half) : WidenedAccess(sizes), half_(std::move(half)) {}

 protected:
  Expr part(const Var&) const override { return half_; }

 private:
  const Expr half_;
};

bool passes_on(const Stmt& root, const VarMap& buffers) {
  bool found = false;
  for_each_expr(root, [&](const Expr& e) {
    const Variable* v = as<Variable>(e);
    found |= v != nullptr && buffers.contains(Var(v));
  });
  return found;
}

class InjectDoubleBuffer : public Mutator {
 protected:
  using Mutator::on;

  Stmt on(const For& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    if (op.for_kind != ForKind::Serial) return s;
    const For& loop = *as<For>(s);
    Take take(loop);
    const Stmt rest = take.from(loop.body);
    VarMap sizes;
    for (const Doubled& stage : take.taken) {
      for (const Allocate& a : stage.buffers) {
        int64_t size = 1;
        for (const Expr& e : a.extents) size *= *as_const_int(e);
        sizes[a.buffer] = make_const(loop.var.dtype(), size);
      }
    }
    if (sizes.empty() || passes_on(loop.body, sizes)) return s;
    return doubled(loop, take.taken, rest, sizes);
  }

 private:
  static Stmt doubled(const For& loop, const std::vector<Doubled>& stages, const Stmt& rest,
                      const VarMap& sizes) {
    const DType type = loop.var.dtype();
    const Expr one = make_const(type, 1), two = make_const(type, 2), zero = make_zero(type);
    const Expr here = is_zero(loop.min) ? Expr(loop.var) : loop.var - loop.min;
    const Expr next = loop.var + one;
    std::vector<Stmt> first, ahead;
    for (const Doubled& stage : stages) {
      const auto at = [&](const Expr& value, const Expr& half) {
        const Stmt there = substitute(stage.produce, VarMap{{loop.var, value}});
        return rename_bindings(InHalf(sizes, half).mutate(there));
      };
      first.push_back(at(loop.min, zero));
      ahead.push_back(at(next, floor_mod(here + one, two)));
    }
    const Expr more = likely(here + one < loop.extent);
    Stmt prologue = block(first);
    if (!as_const_int(loop.extent) || *as_const_int(loop.extent) < 1)
      prologue = make(IfThenElse{.condition = zero < loop.extent, .then_case = prologue});
    For around = loop;
    around.body = block({make(IfThenElse{.condition = more, .then_case = block(ahead)}),
                         InHalf(sizes, floor_mod(here, two)).mutate(rest)});
    Stmt result = block({prologue, make(std::move(around))});
    for (size_t k = stages.size(); k-- > 0;) {
      for (size_t b = stages[k].buffers.size(); b-- > 0;) {
        Allocate a = stages[k].buffers[b];
        a.extents.insert(a.extents.begin(), make_const(a.extents[0].dtype(), 2));
        a.body = result;
        result = make(std::move(a));
      }
    }
    return result;
  }
};

class DropMarks : public Mutator {
 protected:
  using Mutator::on;
  Stmt on(const AttrStmt& op, const Stmt& self) override {
    return op.key == attr::kDoubleBuffer ? mutate(op.body) : Mutator::on(op, self);
  }
};

}  // namespace

Kernel inject_double_buffer(Kernel kernel, const PassContext&) {
  kernel.body = DropMarks().mutate(InjectDoubleBuffer().mutate(kernel.body));
  return kernel;
}

}  // namespace tw::pass
