// SPDX-License-Identifier: Apache-2.0
#include "schedule/index_range.h"

#include <numeric>

#include "ir/equal.h"
#include "ir/expr.h"

namespace tw {
namespace {

// The greatest remainder that the minimum of a range can leave on division by `divisor`.
int64_t greatest_remainder(const Expr& min, int64_t divisor, Analyzer& analyzer) {
  const ModularFact fact = analyzer.modular(min);
  const auto wrap = [](int64_t a, int64_t b) { return ((a % b) + b) % b; };
  if (fact.modulus == 0) return wrap(fact.residue, divisor);
  const int64_t step = std::gcd(fact.modulus, divisor);
  return divisor - step + wrap(fact.residue, step);
}

Range add(const Range& a, const Range& b) { return {a.min + b.min, a.extent + b.extent - 1}; }
Range negate(const Range& a) { return {1 - a.extent - a.min, a.extent}; }
Range scale(const Range& a, int64_t by) {
  if (by < 0) return scale(negate(a), -by);
  if (by == 0) return {make_zero(a.min.dtype()), 1};
  const Expr factor = make_const(a.min.dtype(), by);
  return {a.min * factor, (a.extent - 1) * factor + 1};
}

Expr larger(const Expr& a, const Expr& b) { return equal(a, b) ? a : max(a, b); }

}  // namespace

bool is_single(const Range& r) { return r.extent.defined() && is_one(r.extent); }

bool is_same(const Range& a, const Range& b) {
  return equal(a.min, b.min) && equal(a.extent, b.extent);
}

Expr divisor_of(const Expr& extent) {
  return is_zero(extent) ? make_const(extent.dtype(), 1) : extent;
}

Range unite(const Range& a, const Range& b, Analyzer& analyzer) {
  if (!is_known(a) || !is_known(b)) return {};
  const Expr apart = analyzer.simplify(b.min - a.min);
  if (auto d = as_const_int(apart)) {
    const Range& low = *d >= 0 ? a : b;
    const Range& high = *d >= 0 ? b : a;
    const Expr distance = make_const(apart.dtype(), *d >= 0 ? *d : -*d);
    return {low.min, larger(low.extent, high.extent + distance)};
  }
  const Expr least = min(a.min, b.min);
  const Expr span = analyzer.simplify(max(a.min + a.extent, b.min + b.extent) - least);
  if (as_const_int(span)) return {least, span};
  const ConstBound bound = analyzer.const_bound(span);
  if (bound.greatest == ConstBound::kMax) return {};
  return {least, make_const(span.dtype(), bound.greatest)};
}

Range clip(const Range& r, const Range& whole) {
  if (!is_known(r)) return whole;
  const auto extent = as_const_int(r.extent), limit = as_const_int(whole.extent);
  if (extent && limit) return *extent >= *limit ? whole : r;
  return equal(r.extent, whole.extent) ? whole : r;
}

Range floor_div(const Range& r, const Expr& divisor, Analyzer& analyzer) {
  if (!is_known(r)) return {};
  if (is_single(r)) return {floor_div(r.min, divisor), 1};
  const auto by = as_const_int(divisor);
  const Expr remainder =
      by ? make_const(divisor.dtype(), greatest_remainder(r.min, *by, analyzer)) : divisor - 1;
  return {floor_div(r.min, divisor), floor_div(remainder + r.extent - 1, divisor) + 1};
}

Range floor_mod(const Range& r, const Expr& divisor, Analyzer& analyzer) {
  if (!is_known(r)) return {};
  if (is_single(r)) return {floor_mod(r.min, divisor), 1};
  const auto by = as_const_int(divisor), extent = as_const_int(r.extent);
  if (by && extent && greatest_remainder(r.min, *by, analyzer) + *extent <= *by) {
    return {floor_mod(r.min, divisor), r.extent};
  }
  return {make_zero(divisor.dtype()), divisor};
}

Range IndexRange::operator()(const Expr& e) const {
  const auto single = [&] { return Range{e, 1}; };
  const auto& self = *this;
  if (const Variable* v = as<Variable>(e)) {
    auto it = ranges_.find(Var(v));
    return it == ranges_.end() ? single() : it->second;
  }
  if (is_const(e)) return single();
  const auto both = [&](const auto& n, auto combine) -> Range {
    const Range a = self(n.a), b = self(n.b);
    if (!is_known(a) || !is_known(b)) return {};
    if (a.min.same_as(n.a) && b.min.same_as(n.b) && is_single(a) && is_single(b)) return single();
    return combine(a, b);
  };
  // Of the extremum of two windows, the extent is at most the larger one's.
  const auto extremum = [&](const auto& n, NodeKind kind) {
    return both(n, [&](const Range& a, const Range& b) -> Range {
      return {make_binary(kind, a.min, b.min), larger(a.extent, b.extent)};
    });
  };
  const auto divide = [&](const auto& n, bool modulo, bool truncated) {
    return both(n, [&](const Range& a, const Range& b) -> Range {
      const auto by = as_const_int(b.min);
      if (!is_single(b) || !by || *by <= 0) {
        return is_single(a) && is_single(b) ? Range{make_binary(e->kind, a.min, b.min), 1}
                                            : Range{};
      }
      // Rounding towards zero is rounding down where the dividend is not negative.
      if (truncated && !is_single(a) && !analyzer_.can_prove_at_least(a.min, 0)) return Range{};
      if (truncated && is_single(a)) return Range{make_binary(e->kind, a.min, b.min), 1};
      return modulo ? floor_mod(a, b.min, analyzer_) : floor_div(a, b.min, analyzer_);
    });
  };
  switch (e->kind) {
    case NodeKind::Add:
      return both(*as<Add>(e), [](const Range& a, const Range& b) { return add(a, b); });
    case NodeKind::Sub:
      return both(*as<Sub>(e), [](const Range& a, const Range& b) {
        return is_single(b) ? Range{a.min - b.min, a.extent} : add(a, negate(b));
      });
    case NodeKind::Mul:
      return both(*as<Mul>(e), [](const Range& a, const Range& b) -> Range {
        if (is_single(a) && is_single(b)) return {a.min * b.min, 1};
        const auto x = as_const_int(a.min), y = as_const_int(b.min);
        if (is_single(b) && y) return scale(a, *y);
        if (is_single(a) && x) return scale(b, *x);
        return {};
      });
    case NodeKind::FloorDiv:
      return divide(*as<FloorDiv>(e), false, false);
    case NodeKind::FloorMod:
      return divide(*as<FloorMod>(e), true, false);
    case NodeKind::Div:
      return divide(*as<Div>(e), false, true);
    case NodeKind::Mod:
      return divide(*as<Mod>(e), true, true);
    case NodeKind::Min:
      return extremum(*as<Min>(e), NodeKind::Min);
    case NodeKind::Max:
      return extremum(*as<Max>(e), NodeKind::Max);
    case NodeKind::Select: {
      const Select& s = *as<Select>(e);
      return unite(self(s.true_value), self(s.false_value), analyzer_);
    }
    case NodeKind::Call: {
      const Call& c = *as<Call>(e);
      if (c.name != "if_then_else") return {};
      return unite(self(c.args[1]), self(c.args[2]), analyzer_);
    }
    case NodeKind::Cast: {
      const Cast& c = *as<Cast>(e);
      if (!c.type.is_int() || !c.value.dtype().is_int() || c.type.bits < c.value.dtype().bits)
        return {};
      const Range r = self(c.value);
      return is_known(r) ? Range{cast(c.type, r.min), cast(c.type, r.extent)} : r;
    }
    default:
      return {};
  }
}

}  // namespace tw
