// SPDX-License-Identifier: Apache-2.0
#include "ir/expr.h"
#include "schedule/relation.h"

namespace tw {

void RebaseRelation::domain_down(DomainMap& domains, Analyzer&, const ScheduleOptions&) const {
  const Range domain = domains.at(parent->var);
  domains[rebased->var] = {make_zero(rebased->var.dtype()), domain.extent};
}

void RebaseRelation::domain_up(DomainMap& parts, const DomainMap&, Analyzer&) const {
  const Range part = parts.at(rebased->var);
  parts[parent->var] = part;
}

void RebaseRelation::index_up(VarMap& offsets, const DomainMap&) const {
  auto it = offsets.find(rebased->var);
  if (it == offsets.end()) return;
  const Expr value = it->second;
  offsets[parent->var] = value;
}

void RebaseRelation::index_down(VarMap& offsets, const DomainMap&) const {
  auto it = offsets.find(parent->var);
  if (it == offsets.end()) return;
  const Expr value = it->second;
  offsets[rebased->var] = value;
}

void RebaseRelation::overrun_up(VarSet& overrun, std::vector<IterVar>&, const DomainMap&,
                                Analyzer&) const {
  if (overrun.contains(rebased->var)) overrun.insert(parent->var);
}

}  // namespace tw
