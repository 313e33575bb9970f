// SPDX-License-Identifier: Apache-2.0
#include "lower/vector_safety.h"

#include "ir/expr.h"
#include "ir/visit.h"

namespace tw {
namespace {

// What a quotient or a remainder of integers divides by; undefined for all else.
Expr integer_divisor(const Expr& e) {
  if (e.dtype().is_float()) return {};
  if (const auto* d = as<Div>(e)) return d->b;
  if (const auto* d = as<Mod>(e)) return d->b;
  if (const auto* d = as<FloorDiv>(e)) return d->b;
  if (const auto* d = as<FloorMod>(e)) return d->b;
  return {};
}

class Maskable : public Visitor {
 public:
  bool result = true;

 protected:
  using Visitor::on;
  void on(const Evaluate& op) override { result &= is_pure(op.value); }
  void on(const AssertStmt&) override { result = false; }
  void on(const Call& op) override {
    result &= op.call_kind == CallKind::PureIntrinsic || op.call_kind == CallKind::PureExtern;
    Visitor::on(op);
  }
};

class CountTouching : public Visitor {
 public:
  explicit CountTouching(const VarSet& buffers) : buffers_(buffers) {}
  int statements = 0;

 protected:
  using Visitor::on;
  void on(const Store& op) override {
    const int before = statements;
    Visitor::on(op);
    if (buffers_.count(op.buffer) != 0 || statements > before) statements = before + 1;
  }
  void on(const Load& op) override {
    statements += buffers_.count(op.buffer) != 0;
    Visitor::on(op);
  }

 private:
  const VarSet& buffers_;
};

}  // namespace

bool can_be_masked(const Stmt& s) {
  Maskable walk;
  walk.visit(s);
  return walk.result;
}

bool loads_from(const Expr& e, const Var& buffer) {
  bool found = false;
  for_each_expr(e, [&](const Expr& x) {
    const Load* load = as<Load>(x);
    found |= load != nullptr && load->buffer.same_as(buffer);
  });
  return found;
}

bool is_addressed(const Var& buffer, const Stmt& s) {
  bool found = false;
  for_each_expr(s, [&](const Expr& e) {
    const Call* call = as<Call>(e);
    if (call == nullptr) return;
    for (const Expr& a : call->args) {
      const Variable* whole = as<Variable>(a);
      found |= whole != nullptr && Var(whole).same_as(buffer);
      const Load* element = call->name == "address_of" ? as<Load>(a) : nullptr;
      found |= element != nullptr && element->buffer.same_as(buffer);
    }
  });
  return found;
}

bool divides_in_any_lane(const Stmt& s) {
  bool found = false;
  for_each_expr(s, [&](const Expr& e) {
    if (!e.dtype().is_vector()) return;
    const Expr divisor = integer_divisor(e);
    found |= divisor.defined() && !as_const_int(divisor);
  });
  return found;
}

bool always_safe(const Expr& e, bool allow_loads) {
  bool safe = true;
  for_each_expr(e, [&](const Expr& x) {
    if (is<Load>(x) && !allow_loads) safe = false;
    if (const Expr divisor = integer_divisor(x); divisor.defined()) {
      const auto c = as_const_int(divisor);
      safe &= c.has_value() && *c != 0;
    }
    if (const auto* c = as<Call>(x)) safe &= c->call_kind == CallKind::PureIntrinsic;
  });
  return safe;
}

int statements_touching(const Stmt& s, const VarSet& buffers) {
  CountTouching walk(buffers);
  walk.visit(s);
  return walk.statements;
}

}  // namespace tw
