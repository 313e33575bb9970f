// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/ragged.h"

#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"

namespace tw::te {
namespace {

// Loops whose ends depend on loops whose ends depend on others: a reduction nests no deeper.
constexpr int kMostRounds = 8;

bool is_fixed(const Range& r) { return is_const(r.min) && is_const(r.extent); }

IntervalMap intervals(const Range& domain, const DomainMap& ranges) {
  IntervalMap result;
  for (const Expr& e : {domain.min, domain.extent}) {
    for (const Var& v : free_vars(e)) {
      const auto it = ranges.find(v);
      if (it == ranges.end()) continue;
      const Range& r = it->second;
      const bool known = r.min.defined() && r.extent.defined();
      result[v] = known ? Interval::of(r) : Interval::everything();
    }
  }
  return result;
}

}  // namespace

bool reads_tensor(const Expr& e) {
  bool found = false;
  for_each_part(e, [&](const Expr& sub) { found |= is<ProducerLoad>(sub) || is<Reduce>(sub); });
  return found;
}

bool is_ragged(const OperationNode& op, const IterVar& axis) {
  const Range& domain = axis->domain;
  if (axis->kind != IterKind::Reduction || is_fixed(domain)) return false;
  VarSet axes;
  for (const IterVar& a : op.root_axes()) axes.insert(a->var);
  for (const Expr& e : {domain.min, domain.extent}) {
    if (uses_any(e, axes) || reads_tensor(e)) return true;
  }
  return false;
}

std::vector<Expr> ragged_ends(const OperationNode& op) {
  std::vector<Expr> result;
  for (const IterVar& axis : op.root_axes()) {
    if (!is_ragged(op, axis)) continue;
    result.push_back(axis->domain.min);
    result.push_back(axis->domain.extent);
  }
  return result;
}

IterVar over(const IterVar& axis, const VarMap& values) {
  const Range& old = axis->domain;
  if (is_fixed(old)) return axis;
  const Range domain{substitute(old.min, values), substitute(old.extent, values)};
  if (domain.min.same_as(old.min) && domain.extent.same_as(old.extent)) return axis;
  return IterVar(domain, axis->var, axis->kind);
}

IterVar inside_only(const IterVar& axis, const Expr& inside) {
  if (is_const_int(inside, 1)) return axis;
  const auto guarded = [&](const Expr& e) {
    return reads_tensor(e) ? if_then_else(inside, e, make_zero(e.dtype())) : e;
  };
  const Range &own = axis->domain, domain{guarded(own.min), guarded(own.extent)};
  const bool same = domain.min.same_as(own.min) && domain.extent.same_as(own.extent);
  return same ? axis : IterVar(domain, axis->var, axis->kind);
}

Range hull(const Range& domain, const DomainMap& ranges, Analyzer& analyzer) {
  Range result = domain;
  for (int round = 0; round < kMostRounds; ++round) {
    const IntervalMap relaxed = intervals(result, ranges);
    if (relaxed.empty()) return result;
    const Expr least = analyzer.interval(result.min, relaxed).least;
    const Expr end = analyzer.simplify(result.min + result.extent);
    const Expr greatest = analyzer.interval(end, relaxed).greatest;
    if (!least.defined() || !greatest.defined()) return {};
    result = {least, analyzer.simplify(greatest - least)};
  }
  return {};
}

}  // namespace tw::te
