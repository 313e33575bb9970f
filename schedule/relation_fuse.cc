// SPDX-License-Identifier: Apache-2.0
#include "ir/expr.h"
#include "schedule/index_range.h"
#include "schedule/relation.h"

namespace tw {

void FuseRelation::domain_down(DomainMap& domains, Analyzer&, const ScheduleOptions&) const {
  const DType type = fused->var.dtype();
  domains[fused->var] = {make_zero(type), cast(type, domains.at(outer->var).extent) *
                                              cast(type, domains.at(inner->var).extent)};
}

void FuseRelation::domain_up(DomainMap& parts, const DomainMap& domains, Analyzer& analyzer) const {
  const Range part = parts.at(fused->var);
  // An axis of extent one has one offset, whatever the division would say.
  if (is_one(domains.at(outer->var).extent)) {
    parts[outer->var] = {make_zero(outer->var.dtype()), make_const(outer->var.dtype(), 1)};
    parts[inner->var] = {cast(inner->var.dtype(), part.min), cast(inner->var.dtype(), part.extent)};
    return;
  }
  const Expr size = divisor_of(domains.at(inner->var).extent);
  const auto whole = [&](const IterVar& axis) {
    return Range{make_zero(axis->var.dtype()), domains.at(axis->var).extent};
  };
  parts[outer->var] = clip(floor_div(part, size, analyzer), whole(outer));
  parts[inner->var] = clip(floor_mod(part, size, analyzer), whole(inner));
}

void FuseRelation::index_up(VarMap& offsets, const DomainMap& domains) const {
  auto f = offsets.find(fused->var);
  if (f == offsets.end()) return;
  const Expr value = f->second;
  const Expr size = divisor_of(domains.at(inner->var).extent);
  // An axis of extent one has one offset, whatever the division would say.
  const auto one = [&](const IterVar& axis) { return is_one(domains.at(axis->var).extent); };
  offsets[outer->var] =
      cast(outer->var.dtype(), one(outer) ? make_zero(value.dtype()) : floor_div(value, size));
  offsets[inner->var] = cast(inner->var.dtype(), one(outer) ? value : floor_mod(value, size));
}

void FuseRelation::index_down(VarMap& offsets, const DomainMap& domains) const {
  auto o = offsets.find(outer->var), i = offsets.find(inner->var);
  if (o == offsets.end() || i == offsets.end()) return;
  const Expr value = o->second * domains.at(inner->var).extent + i->second;
  offsets[fused->var] = value;
}

void FuseRelation::overrun_up(VarSet& overrun, std::vector<IterVar>&, const DomainMap& domains,
                              Analyzer&) const {
  // The remainder is always in range; the quotient overruns.
  if (!overrun.contains(fused->var)) return;
  overrun.insert(is_one(domains.at(outer->var).extent) ? inner->var : outer->var);
}

}  // namespace tw
