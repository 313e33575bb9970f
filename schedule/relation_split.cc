// SPDX-License-Identifier: Apache-2.0
#include "ir/equal.h"
#include "ir/expr.h"
#include "schedule/index_range.h"
#include "schedule/relation.h"
#include "schedule/schedule_options.h"

namespace tw {
namespace {

Expr ceil_div(const Expr& a, const Expr& b, Analyzer& analyzer) {
  const Expr result = floor_div(a + (b - 1), b);
  return is_const(result) ? result : analyzer.simplify(result);
}

bool is_whole(const Range& part, const Range& domain) {
  if (!is_zero(part.min)) return false;
  const auto a = as_const_int(part.extent), b = as_const_int(domain.extent);
  return a && b ? *a == *b : equal(part.extent, domain.extent);
}

}  // namespace

void SplitRelation::domain_down(DomainMap& domains, Analyzer& analyzer,
                                const ScheduleOptions& options) const {
  const Expr extent = domains.at(parent->var).extent;
  const auto size = [&](Expr wanted) {
    const auto limit = as_const_int(extent), value = as_const_int(wanted);
    const bool smaller = limit && value && *limit < *value && *limit > 0;
    return options.clamp_split_factor && smaller ? extent : wanted;
  };
  Expr outer_extent, inner_extent;
  if (factor.defined()) {
    inner_extent = size(factor);
    outer_extent = ceil_div(extent, inner_extent, analyzer);
  } else {
    outer_extent = size(nparts);
    inner_extent = ceil_div(extent, outer_extent, analyzer);
  }
  const Expr zero = make_zero(parent->var.dtype());
  domains[outer->var] = {zero, outer_extent};
  domains[inner->var] = {zero, inner_extent};
}

void SplitRelation::domain_up(DomainMap& parts, const DomainMap& domains, Analyzer&) const {
  const Range& o = parts.at(outer->var);
  const Range& i = parts.at(inner->var);
  const Range& domain = domains.at(parent->var);
  const Range whole = {make_zero(domain.extent.dtype()), domain.extent};
  if (is_whole(o, domains.at(outer->var)) && is_whole(i, domains.at(inner->var))) {
    parts[parent->var] = whole;
    return;
  }
  const Expr& size = domains.at(inner->var).extent;
  parts[parent->var] = clip({o.min * size + i.min, (o.extent - 1) * size + i.extent}, whole);
}

void SplitRelation::index_up(VarMap& offsets, const DomainMap& domains) const {
  auto o = offsets.find(outer->var), i = offsets.find(inner->var);
  if (o == offsets.end() || i == offsets.end()) return;
  const Expr value = o->second * domains.at(inner->var).extent + i->second;
  offsets[parent->var] = value;
}

void SplitRelation::index_down(VarMap& offsets, const DomainMap& domains) const {
  auto p = offsets.find(parent->var);
  if (p == offsets.end()) return;
  const Expr value = p->second;
  const Expr size = divisor_of(domains.at(inner->var).extent);
  offsets[outer->var] = floor_div(value, size);
  offsets[inner->var] = floor_mod(value, size);
}

void SplitRelation::overrun_up(VarSet& overrun, std::vector<IterVar>& checked,
                               const DomainMap& domains, Analyzer& analyzer) const {
  // Past the end of the inner axis begins the next outer iteration, where the parent is in range.
  if (overrun.contains(inner->var)) checked.push_back(inner);
  // Past the end of the outer axis the parent is past its end too.
  if (overrun.contains(outer->var)) {
    overrun.insert(parent->var);
    return;
  }
  const Expr& extent = domains.at(parent->var).extent;
  const Expr covered = domains.at(outer->var).extent * domains.at(inner->var).extent;
  const auto a = as_const_int(covered), b = as_const_int(extent);
  const bool exact = a && b ? *a <= *b : analyzer.can_prove_equal(covered, extent);
  if (!exact) overrun.insert(parent->var);
}

}  // namespace tw
