// SPDX-License-Identifier: Apache-2.0
// remove_no_op: statements that do nothing go: decided conditions, empty loops and blocks, unread
// lets, unused buffers, loops of one iteration.
//
// before:                                       after:
//   for (i, 0, 0) { A[i] = 1 }                    A[0] = 2
//   if (true) { A[0] = 2 }
//   let t = n*2 in 0
#include <unordered_set>

#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "lower/folding_mutator.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

using Variables = std::unordered_set<const Variable*>;  // look-ups only

class FindUsed : public Visitor {
 public:
  Variables used;

 protected:
  using Visitor::on;
  void on(const Variable& op) override { used.insert(&op); }
  void on(const Load& op) override {
    used.insert(op.buffer.operator->());
    Visitor::on(op);
  }
  void on(const Store& op) override {
    used.insert(op.buffer.operator->());
    Visitor::on(op);
  }
};

// "Nothing" travels upwards as Evaluate of a constant, since a loop must have a body.
bool is_nothing(const Stmt& s) {
  if (!s.defined()) return true;
  const Evaluate* e = as<Evaluate>(s);
  return e != nullptr && is_pure(e->value);
}
Stmt nothing() { return make(Evaluate{.value = 0}); }

class RemoveNoOp : public FoldingMutator {
 public:
  explicit RemoveNoOp(Variables used) : used_(std::move(used)) {}

 protected:
  using FoldingMutator::on;

  Stmt on(const For& op, const Stmt& self) override {
    const auto extent = as_const_int(op.extent);
    if (extent && *extent <= 0) return nothing();
    if (extent && *extent == 1 && op.for_kind != ForKind::Vectorized) {
      values_[op.var.operator->()] = mutate(op.min);
      return mutate(op.body);
    }
    Stmt s = Mutator::on(op, self);
    return is_nothing(as<For>(s)->body) ? nothing() : s;
  }

  Stmt on(const While& op, const Stmt& self) override {
    return is_zero(mutate(op.condition)) ? nothing() : Mutator::on(op, self);
  }

  Stmt on(const IfThenElse& op, const Stmt& self) override {
    if (auto c = as_const_int(mutate(op.condition))) {
      const Stmt& chosen = *c ? op.then_case : op.else_case;
      return chosen.defined() ? mutate(chosen) : nothing();
    }
    Stmt s = Mutator::on(op, self);
    const IfThenElse& i = *as<IfThenElse>(s);
    const bool no_then = is_nothing(i.then_case), no_else = is_nothing(i.else_case);
    if (no_then && no_else) return is_pure(i.condition) ? nothing() : s;
    if (no_else && i.else_case.defined()) return with(s, [](IfThenElse& n) { n.else_case = {}; });
    if (no_then) {
      return make(IfThenElse{.condition = !i.condition, .then_case = i.else_case});
    }
    return s;
  }

  Stmt on(const LetStmt& op, const Stmt& self) override {
    const bool unused = !used_.contains(op.var.operator->());
    if (unused && is_pure(op.value)) return mutate(op.body);
    Stmt s = Mutator::on(op, self);
    return is_nothing(as<LetStmt>(s)->body) && is_pure(op.value) ? nothing() : s;
  }

  Stmt on(const Allocate& op, const Stmt& self) override {
    if (!used_.contains(op.buffer.operator->())) return mutate(op.body);
    Stmt s = Mutator::on(op, self);
    return is_nothing(as<Allocate>(s)->body) ? nothing() : s;
  }

  Stmt on(const AttrStmt& op, const Stmt& self) override {
    // A pragma names its loop's variable, which may be gone: what it says is then said of nothing.
    const Variable* var = as<Variable>(op.node);
    if (var != nullptr && values_.count(var) != 0) return mutate(op.body);
    Stmt s = Mutator::on(op, self);
    return is_nothing(as<AttrStmt>(s)->body) ? nothing() : s;
  }

  // Nothing but loops of one iteration change expressions.
  Stmt on(const Store& op, const Stmt& self) override {
    return values_.empty() ? self : Mutator::on(op, self);
  }

  Stmt on(const Produce& op, const Stmt& self) override {
    Stmt s = Mutator::on(op, self);
    return is_nothing(as<Produce>(s)->body) ? nothing() : s;
  }

  Stmt on(const Block& op, const Stmt& self) override {
    std::vector<Stmt> kept;
    bool changed = false;
    for (const Stmt& s : op.stmts) {
      Stmt next = mutate(s);
      changed |= !next.same_as(s) || is_nothing(next);
      if (!is_nothing(next)) kept.push_back(std::move(next));
    }
    if (!changed) return self;
    return kept.empty() ? nothing() : block(kept);
  }

 private:
  Variables used_;
};

}  // namespace

Kernel remove_no_op(Kernel kernel, const PassContext&) {
  FindUsed find;
  find.visit(kernel.body);
  kernel.body = RemoveNoOp(std::move(find.used)).mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
