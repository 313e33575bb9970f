// SPDX-License-Identifier: Apache-2.0
// Linear forms, and the bounds of a variable that a condition needs.
#include <optional>
#include <unordered_map>

#include "ir/arithmetic/context.h"
#include "ir/arithmetic/interval.h"
#include "ir/visit.h"

namespace tw {
namespace {

using arithmetic::Context;

class LinearCollector {
 public:
  LinearCollector(Context& context, const std::vector<Var>& vars)
      : context_(context), vars_(vars), set_(vars.begin(), vars.end()) {}

  std::optional<LinearForm> collect(const Expr& e) {
    std::optional<LinearForm> form = form_of(e);
    if (!form) return form;
    for (Expr& c : form->coefficients) c = context_.canonical_simplify(c);
    form->constant = context_.canonical_simplify(form->constant);
    return form;
  }

 private:
  // What stands in several places has one form.
  std::optional<LinearForm> form_of(const Expr& e) {
    if (++visits_ <= kVisitsBeforeMemory || e->refs.unique()) return form_of_node(e);
    if (const auto known = known_.find(e); known != known_.end()) return known->second;
    return known_[e] = form_of_node(e);
  }

  std::optional<LinearForm> form_of_node(const Expr& e) {
    if (!uses_any(e, set_)) return constant(context_.simplify(e));
    switch (e->kind) {
      case NodeKind::Variable: {
        LinearForm form = constant(make_zero(e.dtype()));
        for (size_t i = 0; i < vars_.size(); ++i) {
          if (vars_[i].same_as(e)) form.coefficients[i] = make_const(e.dtype(), 1);
        }
        return form;
      }
      case NodeKind::Add:
        return sum(NodeKind::Add, as<Add>(e)->a, as<Add>(e)->b);
      case NodeKind::Sub:
        return sum(NodeKind::Sub, as<Sub>(e)->a, as<Sub>(e)->b);
      case NodeKind::Mul: {
        const Mul* m = as<Mul>(e);
        if (!uses_any(m->b, set_)) return product(m->a, m->b);
        if (!uses_any(m->a, set_)) return product(m->b, m->a);
        return std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  LinearForm constant(const Expr& e) {
    return {std::vector<Expr>(vars_.size(), make_zero(e.dtype())), e};
  }
  std::optional<LinearForm> sum(NodeKind kind, const Expr& a, const Expr& b) {
    std::optional<LinearForm> x = form_of(a);
    const std::optional<LinearForm> y = x ? form_of(b) : std::nullopt;
    if (!y) return std::nullopt;
    for (size_t i = 0; i < vars_.size(); ++i) {
      x->coefficients[i] = context_.combine(kind, x->coefficients[i], y->coefficients[i]);
    }
    x->constant = context_.combine(kind, x->constant, y->constant);
    return x;
  }
  std::optional<LinearForm> product(const Expr& e, const Expr& factor) {
    std::optional<LinearForm> form = form_of(e);
    if (!form) return form;
    const Expr f = context_.simplify(factor);
    for (Expr& c : form->coefficients) c = context_.combine(NodeKind::Mul, c, f);
    form->constant = context_.combine(NodeKind::Mul, form->constant, f);
    return form;
  }

  Context& context_;
  const std::vector<Var>& vars_;
  VarSet set_;
  int visits_ = 0;
  std::unordered_map<Expr, std::optional<LinearForm>, IdentityHash, IdentityEqual> known_;
};

bool integral(const Expr& e) { return e.dtype().is_int() && e.dtype().lanes == 1; }

class BoundDeducer {
 public:
  BoundDeducer(const Var& var, const IntervalMap& relaxed) : var_(var), relaxed_(relaxed) {
    relaxed_.erase(var);
  }

  std::optional<Interval> solve(const Expr& condition) {
    const Expr c = context_.simplify(condition);
    return solve_simplified(c);
  }

 private:
  std::optional<Interval> solve_simplified(const Expr& c) {
    if (const And* a = as<And>(c)) {
      auto x = solve_simplified(a->a);
      auto y = x ? solve_simplified(a->b) : std::nullopt;
      return x && y ? nonempty(intersect(*x, *y)) : std::nullopt;
    }
    if (const Call* call = as<Call>(c); call && call->name == "likely") {
      return solve_simplified(call->args[0]);
    }
    if (!uses(c, var_)) {
      // It holds whatever the variable is, or nothing is certain.
      const Interval truth = context_.interval(c, relaxed_);
      if (truth.is_bounded() && is_one(truth.least)) return Interval::everything();
      return std::nullopt;
    }
    if (const Less* n = as<Less>(c); n && integral(n->a)) return below(n->a, n->b, 1);
    if (const LessEqual* n = as<LessEqual>(c); n && integral(n->a)) return below(n->a, n->b, 0);
    if (const Equal* n = as<Equal>(c); n && integral(n->a)) {
      auto x = below(n->a, n->b, 0);
      auto y = x ? below(n->b, n->a, 0) : std::nullopt;
      return x && y ? nonempty(intersect(*x, *y)) : std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<Interval> nonempty(const Interval& i) {
    if (i.is_bounded() && is_one(context_.combine(NodeKind::Less, i.greatest, i.least)))
      return std::nullopt;
    return i;
  }

  // a + gap <= b
  std::optional<Interval> below(const Expr& a, const Expr& b, int64_t gap) {
    const DType type = a.dtype();
    const auto number = [&](int64_t v) { return make_const(type, v); };
    // A quotient moves its divisor to the other side: x // c < y is x < y*c.
    const auto quotient = [&](const Expr& e) -> const FloorDiv* {
      const FloorDiv* d = as<FloorDiv>(e);
      auto c = d ? as_const_int(d->b) : std::nullopt;
      return c && *c > 0 && uses(d->a, var_) ? d : nullptr;
    };
    if (const FloorDiv* d = quotient(a); d && !uses(b, var_)) {
      const Expr limit = context_.combine(NodeKind::Add, b, number(1 - gap));
      return below(d->a, context_.combine(NodeKind::Mul, limit, d->b), 1);
    }
    if (const FloorDiv* d = quotient(b); d && !uses(a, var_)) {
      const Expr limit = context_.combine(NodeKind::Add, a, number(gap));
      return below(context_.combine(NodeKind::Mul, limit, d->b), d->a, 0);
    }
    if (const Min* m = as<Min>(b)) return both(below(a, m->a, gap), below(a, m->b, gap));
    if (const Max* m = as<Max>(a)) return both(below(m->a, b, gap), below(m->b, b, gap));

    const Expr difference = context_.canonical_simplify(context_.combine(NodeKind::Sub, a, b));
    auto form = linear(difference);
    if (!form) return std::nullopt;
    auto k = as_const_int(form->coefficients[0]);
    if (!k || *k == 0) return std::nullopt;
    // k * var + rest + gap <= 0 for the greatest rest.
    const Interval rest = context_.interval(form->constant, relaxed_);
    if (!rest.greatest.defined()) return std::nullopt;
    const Expr room = context_.combine(NodeKind::Sub, number(-gap), rest.greatest);
    if (*k > 0) {
      return Interval{Expr(), context_.combine(NodeKind::FloorDiv, room, number(*k))};
    }
    // var >= ceil(-room / -k)
    const Expr need = context_.combine(
        NodeKind::Add, context_.combine(NodeKind::Mul, room, number(-1)), number(-*k - 1));
    return Interval{context_.combine(NodeKind::FloorDiv, need, number(-*k)), Expr()};
  }

  std::optional<Interval> both(std::optional<Interval> x, std::optional<Interval> y) {
    return x && y ? nonempty(intersect(*x, *y)) : std::nullopt;
  }

  std::optional<LinearForm> linear(const Expr& e) { return linear_form(e, {var_}); }

  Context context_;
  Var var_;
  IntervalMap relaxed_;
};

}  // namespace

std::optional<LinearForm> linear_form(const Expr& e, const std::vector<Var>& vars) {
  if (!integral(e)) return std::nullopt;
  Context context;
  const Expr simple = context.simplify(e);
  return LinearCollector(context, vars).collect(simple);
}

std::optional<Interval> deduce_bound(const Var& var, const Expr& condition,
                                     const IntervalMap& relaxed) {
  return BoundDeducer(var, relaxed).solve(condition);
}

}  // namespace tw
