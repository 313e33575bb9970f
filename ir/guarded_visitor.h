// SPDX-License-Identifier: Apache-2.0
// A visitor that knows of parts of an expression under which condition they count: the sides of
// selections, and what stands behind && and ||.
#pragma once

#include "ir/expr.h"
#include "ir/visit.h"

namespace tw {

class GuardedVisitor : public Visitor {
 protected:
  using Visitor::on;
  void on(const Select& op) override { choice(op.condition, op.true_value, op.false_value); }
  void on(const Call& op) override {
    if (op.name != "if_then_else") return Visitor::on(op);
    choice(op.args[0], op.args[1], op.args[2]);
  }
  void on(const And& op) override { choice(op.a, op.b, {}); }
  void on(const Or& op) override { choice(op.a, {}, op.b); }

  // Visits `value`, which counts only where the condition holds.
  virtual void visit_given(const Expr& condition, const Expr& value) = 0;

 private:
  void choice(const Expr& condition, const Expr& yes, const Expr& no) {
    visit(condition);
    if (yes.defined()) visit_given(condition, yes);
    if (no.defined()) visit_given(!condition, no);
  }
};

}  // namespace tw
