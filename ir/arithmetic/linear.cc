// SPDX-License-Identifier: Apache-2.0
// Linear forms, and the bounds of a variable that a condition needs.
#include "ir/arithmetic/context.h"
#include "ir/arithmetic/interval.h"

namespace tw {
namespace {

using arithmetic::Context;

class LinearCollector {
 public:
  LinearCollector(Context& context, const std::vector<Var>& vars, DType type)
      : context_(context), vars_(vars), set_(vars.begin(), vars.end()) {
    form_.coefficients.assign(vars.size(), make_zero(type));
    form_.constant = make_zero(type);
  }

  bool add(const Expr& e, const Expr& factor) {
    if (!uses_any(e, set_)) {
      accumulate(form_.constant, e, factor);
      return true;
    }
    switch (e->kind) {
      case NodeKind::Variable:
        for (size_t i = 0; i < vars_.size(); ++i) {
          if (vars_[i].same_as(e))
            accumulate(form_.coefficients[i], make_const(e.dtype(), 1), factor);
        }
        return true;
      case NodeKind::Add:
        return add(as<Add>(e)->a, factor) && add(as<Add>(e)->b, factor);
      case NodeKind::Sub:
        return add(as<Sub>(e)->a, factor) &&
               add(as<Sub>(e)->b,
                   context_.combine(NodeKind::Mul, factor, make_const(e.dtype(), -1)));
      case NodeKind::Mul: {
        const Mul* m = as<Mul>(e);
        if (!uses_any(m->b, set_)) return add(m->a, context_.combine(NodeKind::Mul, factor, m->b));
        if (!uses_any(m->a, set_)) return add(m->b, context_.combine(NodeKind::Mul, factor, m->a));
        return false;
      }
      default:
        return false;
    }
  }

  LinearForm take() {
    for (Expr& c : form_.coefficients) c = context_.canonical_simplify(c);
    form_.constant = context_.canonical_simplify(form_.constant);
    return std::move(form_);
  }

 private:
  void accumulate(Expr& sum, const Expr& e, const Expr& factor) {
    sum = context_.combine(NodeKind::Add, sum,
                           context_.combine(NodeKind::Mul, context_.simplify(e), factor));
  }

  Context& context_;
  const std::vector<Var>& vars_;
  VarSet set_;
  LinearForm form_;
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
  LinearCollector collector(context, vars, e.dtype());
  if (!collector.add(simple, make_const(e.dtype(), 1))) return std::nullopt;
  return collector.take();
}

std::optional<Interval> deduce_bound(const Var& var, const Expr& condition,
                                     const IntervalMap& relaxed) {
  return BoundDeducer(var, relaxed).solve(condition);
}

}  // namespace tw
