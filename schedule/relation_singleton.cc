// SPDX-License-Identifier: Apache-2.0
#include "ir/expr.h"
#include "schedule/relation.h"

namespace tw {

void SingletonRelation::domain_down(DomainMap& domains, Analyzer&, const ScheduleOptions&) const {
  const DType type = axis->var.dtype();
  domains[axis->var] = {make_zero(type), make_const(type, 1)};
}

void SingletonRelation::domain_up(DomainMap&, const DomainMap&, Analyzer&) const {}

void SingletonRelation::index_up(VarMap&, const DomainMap&) const {}

void SingletonRelation::index_down(VarMap& offsets, const DomainMap&) const {
  offsets[axis->var] = make_zero(axis->var.dtype());
}

// Parts of it that overrun are tested like the end of a tensor, or iterations would repeat.
void SingletonRelation::overrun_up(VarSet& overrun, std::vector<IterVar>& checked, const DomainMap&,
                                   Analyzer&) const {
  if (overrun.contains(axis->var)) checked.push_back(axis);
}

}  // namespace tw
