// SPDX-License-Identifier: Apache-2.0
#include "lower/scoped_mutator.h"

#include "ir/attributes.h"
#include "ir/changes.h"
#include "ir/expr.h"
#include "lower/conditions.h"

namespace tw {

namespace {

// A scalar integer that reads nothing but variables: it may be computed anywhere in their scope.
bool is_arithmetic(const Expr& value) {
  bool plain = value.dtype().is_integer() && !value.dtype().is_vector();
  for_each_expr(
      value, [&](const Expr& e) { plain &= !is<Load>(e) && !is<ProducerLoad>(e) && !is<Call>(e); });
  return plain;
}

}  // namespace

Analyzer::Scope ScopedMutator::assume(const Expr& condition, const Stmt& body) {
  const Expr known = lasting(condition, body);
  return analyzer_.assume(known.defined() ? known : make_bool(true));
}

Stmt ScopedMutator::on(const For& op, const Stmt& self) {
  const Expr min = mutate(op.min), extent = mutate(op.extent);
  analyzer_.bind(op.var, lasting(Range{min, extent}, op.body));
  const Stmt body = mutate(op.body);
  if (min.same_as(op.min) && extent.same_as(op.extent) && body.same_as(op.body)) return self;
  return with(self, [&](For& f) {
    f.min = min;
    f.extent = extent;
    f.body = body;
  });
}

Stmt ScopedMutator::on(const While& op, const Stmt& self) {
  const Expr condition = mutate(op.condition);
  const auto scope = assume(strip_likely(condition), op.body);
  const Stmt body = mutate(op.body);
  if (condition.same_as(op.condition) && body.same_as(op.body)) return self;
  return make(While{.condition = condition, .body = body});
}

Stmt ScopedMutator::on(const LetStmt& op, const Stmt& self) {
  const Expr value = mutate(op.value);
  if (is_arithmetic(value)) analyzer_.bind(op.var, value);
  const Stmt body = mutate(op.body);
  if (value.same_as(op.value) && body.same_as(op.body)) return self;
  return with(self, [&](LetStmt& l) {
    l.value = value;
    l.body = body;
  });
}

Stmt ScopedMutator::on(const AttrStmt& op, const Stmt& self) {
  if (attr::is_parallel_launch(op.key)) {
    analyzer_.bind(Var(as<Variable>(op.node)), Range{make_zero(op.node.dtype()), op.value});
  }
  return Mutator::on(op, self);
}

Stmt ScopedMutator::on(const IfThenElse& op, const Stmt& self) {
  const Expr condition = mutate(op.condition);
  const Expr plain = strip_likely(condition);
  Stmt then_case, else_case;
  {
    const auto scope = assume(plain, op.then_case);
    then_case = mutate(op.then_case);
  }
  if (op.else_case.defined()) {
    const auto scope = assume(!plain, op.else_case);
    else_case = mutate(op.else_case);
  }
  if (condition.same_as(op.condition) && then_case.same_as(op.then_case) &&
      else_case.same_as(op.else_case)) {
    return self;
  }
  return with(self, [&](IfThenElse& i) {
    i.condition = condition;
    i.then_case = then_case;
    i.else_case = else_case;
  });
}

}  // namespace tw
