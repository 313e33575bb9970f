// SPDX-License-Identifier: Apache-2.0
// A mutator whose analyzer knows, at each node, the loop ranges, let values and conditions around
// it.
#pragma once

#include "ir/arithmetic/analyzer.h"
#include "ir/visit.h"

namespace tw {

class ScopedMutator : public Mutator {
 protected:
  using Mutator::Mutator;
  using Mutator::on;
  Stmt on(const For& op, const Stmt& self) override;
  Stmt on(const LetStmt& op, const Stmt& self) override;
  Stmt on(const AttrStmt& op, const Stmt& self) override;
  Stmt on(const While& op, const Stmt& self) override;
  Stmt on(const IfThenElse& op, const Stmt& self) override;

  // What of the condition lasts while the statements run is known as long as this lives.
  [[nodiscard]] Analyzer::Scope assume(const Expr& condition, const Stmt& body);

  Analyzer analyzer_;
};

}  // namespace tw
