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
#define TW_FOLD(Name) Expr on(const Name& op, const Expr& self) override;
  TW_FOLD(Add)
  TW_FOLD(Sub)
  TW_FOLD(Mul)
  TW_FOLD(FloorDiv)
  TW_FOLD(FloorMod)
  TW_FOLD(Min)
  TW_FOLD(Max)
  TW_FOLD(Equal)
  TW_FOLD(NotEqual)
  TW_FOLD(Less)
  TW_FOLD(LessEqual)
  TW_FOLD(Greater)
  TW_FOLD(GreaterEqual)
  TW_FOLD(And)
  TW_FOLD(Or)
  TW_FOLD(Not)
  TW_FOLD(Call)
#undef TW_FOLD

  std::unordered_map<const Variable*, Expr> values_;  // look-ups only
};

}  // namespace tw
