// SPDX-License-Identifier: Apache-2.0
// Symbolic intervals: [least, greatest], either end possibly unknown.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/node.h"
#include "ir/substitute.h"

namespace tw {

struct Interval {
  Expr least, greatest;  // undefined: unbounded on that side

  static Interval everything() { return {}; }
  static Interval single(const Expr& point) { return {point, point}; }
  static Interval of(const Range& r);  // [min, min + extent - 1]

  bool is_single() const { return least.defined() && least.same_as(greatest); }
  bool is_bounded() const { return least.defined() && greatest.defined(); }
  // The range covered, simplified; undefined members when unbounded.
  Range range() const;
};
using IntervalMap = std::unordered_map<Var, Interval, IdentityHash, IdentityEqual>;

// The smallest interval found that contains both.
Interval unite(const Interval& a, const Interval& b);
Interval intersect(const Interval& a, const Interval& b);

// Least and greatest values of `e` while the variables in `relaxed` run over their intervals.
Interval evaluate_interval(const Expr& e, const IntervalMap& relaxed);

// coefficient[k] * vars[k] + … + constant, or nothing when `e` is not linear in `vars`; the
// remaining variables may appear in the constant term only.
struct LinearForm {
  std::vector<Expr> coefficients;
  Expr constant;
};
std::optional<LinearForm> linear_form(const Expr& e, const std::vector<Var>& vars);

// The interval of `var` in which `condition` (a comparison, or a conjunction) is certain to hold
// for all values of the variables in `relaxed`. Empty or unknown gives nothing.
std::optional<Interval> deduce_bound(const Var& var, const Expr& condition,
                                     const IntervalMap& relaxed);

}  // namespace tw
