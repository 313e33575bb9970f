// SPDX-License-Identifier: Apache-2.0
// Accesses of memory that has become several times as large, a part for each value of an index.
#pragma once

#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"

namespace tw {

class WidenedAccess : public Mutator {
 protected:
  // `sizes`: elements of one part, by buffer; the caller keeps it.
  explicit WidenedAccess(const VarMap& sizes) : sizes_(sizes) {}
  // The part that an access here is of.
  virtual Expr part(const Var& buffer) const = 0;

  using Mutator::on;
  Expr on(const Load& op, const Expr& self) override {
    const Expr e = Mutator::on(op, self);
    if (!sizes_.contains(op.buffer)) return e;
    return with(e, [&](Load& l) { l.index = placed(l.buffer, l.index); });
  }
  Stmt on(const Store& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    if (!sizes_.contains(op.buffer)) return s;
    return with(s, [&](Store& n) { n.index = placed(n.buffer, n.index); });
  }

 private:
  Expr placed(const Var& buffer, const Expr& index) const {
    const DType type = index.dtype().element();
    const Expr begin = cast(type, part(buffer)) * cast(type, sizes_.at(buffer));
    const int lanes = index.dtype().lanes;
    return (lanes > 1 ? make(Broadcast{.value = begin, .lanes = lanes}) : begin) + index;
  }

  const VarMap& sizes_;
};

}  // namespace tw
