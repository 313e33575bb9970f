// SPDX-License-Identifier: Apache-2.0
#include "lower/folding_mutator.h"

#include "ir/expr.h"

namespace tw {

Expr FoldingMutator::on(const Variable& op, const Expr& self) {
  auto it = values_.find(&op);
  return it == values_.end() ? self : it->second;
}

#define BINARY_NODE(Name)                                     \
  Expr FoldingMutator::on(const Name& op, const Expr& self) { \
    const Expr a = mutate(op.a), b = mutate(op.b);            \
    if (a.same_as(op.a) && b.same_as(op.b)) return self;      \
    return make_binary(Name::node_kind, a, b);                \
  }
#include "ir/binary_nodes.def"
#undef BINARY_NODE

Expr FoldingMutator::on(const Not& op, const Expr& self) {
  const Expr a = mutate(op.a);
  return a.same_as(op.a) ? self : !a;
}

Expr FoldingMutator::on(const Call& op, const Expr& self) {
  const Expr e = Mutator::on(op, self);
  const Call* call = as<Call>(e);
  if (e.same_as(self) || call->call_kind != CallKind::PureIntrinsic) return e;
  if (call->name == "likely" && is_const(call->args[0])) return call->args[0];
  if (call->name == "if_then_else") {
    if (auto c = as_const_int(call->args[0])) return call->args[*c ? 1 : 2];
  }
  return e;
}

}  // namespace tw
