// SPDX-License-Identifier: Apache-2.0
// A mutator that replaces variables and folds what becomes constant on the way, through the folding
// operators of ir/expr.h. Cheaper than substituting and simplifying afterwards.
#pragma once

#include <unordered_map>

#include "ir/visit.h"

namespace tw {

class FoldingMutator : public Mutator {
 protected:
  using Mutator::on;
  Expr on(const Variable& op, const Expr& self) override;
  Expr on(const Not& op, const Expr& self) override;
  Expr on(const Call& op, const Expr& self) override;
#define BINARY_NODE(Name) Expr on(const Name& op, const Expr& self) override;
#include "ir/binary_nodes.def"
#undef BINARY_NODE

  std::unordered_map<const Variable*, Expr> values_;  // look-ups only
};

}  // namespace tw
