// SPDX-License-Identifier: Apache-2.0
#include "ir/arithmetic/interval.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/arithmetic/context.h"
#include "ir/visit.h"

namespace tw {
namespace arithmetic {

// The values of an expression while variables run over intervals; vectors give the scalar interval
// that holds every lane.
class IntervalEvaluator {
 public:
  IntervalEvaluator(Context& context, const IntervalMap& relaxed)
      : context_(context), relaxed_(relaxed) {}

  Interval evaluate(const Expr& e) {
    if (context_.in_symbolic_ && --context_.combinations_left_ < 0) return Interval::everything();
    if (++evaluated_ <= kVisitsBeforeMemory || e->refs.unique()) return evaluate_once(e);
    if (const auto known = known_.find(e); known != known_.end()) return known->second;
    const Interval r = evaluate_once(e);
    known_[e] = r;
    return r;
  }
  Interval evaluate_once(const Expr& e) {
    Interval r = evaluate_node(e);
    // What is one value in every lane stands as a scalar above; lanes that differ are not told
    // apart.
    const auto vector = [](const Expr& end) { return end.defined() && end.dtype().is_vector(); };
    if (!vector(r.least) && !vector(r.greatest)) return r;
    if (e.dtype().is_bool()) return boolean();
    if (!e.dtype().is_int()) return Interval::everything();
    const ConstBound b = context_.const_bound(e);
    const auto end = [&](int64_t v, int64_t none) {
      return v == none || !fits(e.dtype(), v) ? Expr() : make_const(e.dtype().element(), v);
    };
    return {end(b.least, ConstBound::kMin), end(b.greatest, ConstBound::kMax)};
  }

 private:
  Interval evaluate_node(const Expr& e) {
    switch (e->kind) {
      case NodeKind::IntImm:
      case NodeKind::FloatImm:
      case NodeKind::StringImm:
        return Interval::single(e);
      case NodeKind::Variable:
        return variable(e);
      case NodeKind::Broadcast:
        return evaluate(static_cast<const Broadcast*>(e.get())->value);
      case NodeKind::Ramp:
        return ramp(*as<Ramp>(e));
      case NodeKind::Select: {
        const Select* s = as<Select>(e);
        return choose(e, s->condition, s->true_value, s->false_value);
      }
      case NodeKind::Call:
        return call(*as<Call>(e), e);
      case NodeKind::Cast:
        return cast_of(*as<Cast>(e), e);
      case NodeKind::Not: {
        const Interval a = evaluate(as<Not>(e)->a);
        if (a.is_single())
          return unchanged(a, as<Not>(e)->a) ? Interval::single(e)
                                             : Interval::single(context_.combine_not(a.least));
        if (!a.is_bounded()) return boolean();
        return {context_.combine_not(a.greatest), context_.combine_not(a.least)};
      }
      default:
        break;
    }
    if (is_binary(e->kind) && !e.dtype().is_float()) return binary(e);
    return opaque(e);
  }

  static bool unchanged(const Interval& i, const Expr& e) { return i.least.same_as(e); }
  static Interval boolean() { return {make_bool(false), make_bool(true)}; }
  Expr combine(NodeKind kind, const Expr& a, const Expr& b) { return context_.combine(kind, a, b); }

  Interval opaque(const Expr& e) {
    bool depends = false;
    for (const Var& v : free_vars(e)) depends |= relaxed_.count(v) != 0;
    if (!depends) return Interval::single(e);
    if (e.dtype().is_bool()) return boolean();
    return Interval::everything();
  }

  Interval variable(const Expr& e) {
    auto it = relaxed_.find(Var(as<Variable>(e)));
    if (it == relaxed_.end()) return Interval::single(e);
    Interval range = it->second;
    const ConstBound fact = context_.bound_from_facts(e.get(), ConstBound{});
    if (range.least.defined()) range.least = context_.simplify(range.least);
    if (it->second.is_single()) {
      range.greatest = range.least;
      return range;
    }
    if (range.greatest.defined()) range.greatest = context_.simplify(range.greatest);
    // Assumed conditions narrow the range.
    if (fact.least != ConstBound::kMin) {
      const Expr c = make_const(e.dtype(), fact.least);
      range.least = range.least.defined() ? combine(NodeKind::Max, range.least, c) : c;
    }
    if (fact.greatest != ConstBound::kMax) {
      const Expr c = make_const(e.dtype(), fact.greatest);
      range.greatest = range.greatest.defined() ? combine(NodeKind::Min, range.greatest, c) : c;
    }
    return range;
  }

  Interval ramp(const Ramp& op) {
    const Interval base = evaluate(op.base), stride = evaluate(op.stride);
    if (!stride.is_bounded()) return Interval::everything();
    const DType t = op.base.dtype();
    const Expr last = make_const(t, op.lanes - 1);
    const Expr low =
        combine(NodeKind::Min, combine(NodeKind::Mul, stride.least, last), make_zero(t));
    const Expr high =
        combine(NodeKind::Max, combine(NodeKind::Mul, stride.greatest, last), make_zero(t));
    return {base.least.defined() ? combine(NodeKind::Add, base.least, low) : Expr(),
            base.greatest.defined() ? combine(NodeKind::Add, base.greatest, high) : Expr()};
  }

  Interval choose(const Expr& e, const Expr& condition, const Expr& t, const Expr& f) {
    const Interval c = evaluate(condition);
    if (c.is_bounded() && is_one(c.least)) return evaluate(t);
    if (c.is_bounded() && is_zero(c.greatest)) return evaluate(f);
    const Interval x = evaluate(t), y = evaluate(f);
    if (c.is_single() && x.is_single() && y.is_single() && unchanged(c, condition) &&
        unchanged(x, t) && unchanged(y, f)) {
      return Interval::single(e);
    }
    return unite(x, y);
  }

  Interval unite(const Interval& a, const Interval& b) {
    Interval r;
    if (a.least.defined() && b.least.defined()) r.least = combine(NodeKind::Min, a.least, b.least);
    if (a.greatest.defined() && b.greatest.defined()) {
      r.greatest = combine(NodeKind::Max, a.greatest, b.greatest);
      if (r.least.defined() && same(r.least, r.greatest)) r.greatest = r.least;
    }
    return r;
  }

  Interval call(const Call& op, const Expr& e) {
    if (op.name == "if_then_else") {
      const Interval c = evaluate(op.args[0]);
      if (c.is_single() || e.dtype().is_float())
        return choose(e, op.args[0], op.args[1], op.args[2]);
      // Each side under its condition.
      Interval t, f;
      const auto side = [&](bool truth) {
        Known outside = std::exchange(known_, {});
        const Interval r = evaluate(op.args[truth ? 1 : 2]);
        known_ = std::move(outside);
        return r;
      };
      if (!context_.under_each(op.args[0], [&] { t = side(true); }, [&] { f = side(false); })) {
        t = evaluate(op.args[1]);
        f = evaluate(op.args[2]);
      }
      if (c.is_bounded() && is_one(c.least)) return t;
      if (c.is_bounded() && is_zero(c.greatest)) return f;
      return unite(t, f);
    }
    if (op.name == "likely") return evaluate(op.args[0]);
    if (op.name == "saturating_cast") return saturating(op, e);
    return opaque(e);
  }

  // Never falls: an end of the argument's interval becomes one of the result's.
  Interval saturating(const Call& op, const Expr& e) {
    const Interval v = evaluate(op.args[0]);
    const DType from = op.args[0].dtype(), to = op.type.element();
    const auto end = [&](const Expr& x) { return context_.simplify(saturating_cast(to, x)); };
    if (v.is_single()) {
      return unchanged(v, op.args[0]) ? Interval::single(e) : Interval::single(end(v.least));
    }
    if (!(from.is_int() || from.is_bool()) || !to.is_int()) return opaque(e);
    return {v.least.defined() ? end(v.least) : Expr(),
            v.greatest.defined() ? end(v.greatest) : Expr()};
  }

  Interval cast_of(const Cast& op, const Expr& e) {
    const Interval v = evaluate(op.value);
    const DType from = op.value.dtype(), to = op.type.element();
    if (v.is_single()) {
      return unchanged(v, op.value) ? Interval::single(e)
                                    : Interval::single(context_.simplify(cast(to, v.least)));
    }
    if (!(from.is_int() || from.is_bool()) || !to.is_int()) return opaque(e);
    bool exact = from.is_bool() || from.bits <= to.bits;
    if (!exact) {
      const ConstBound b = context_.const_bound(op.value);
      const bool small = v.is_bounded() && fits(to, context_.const_bound(v.least).least) &&
                         fits(to, context_.const_bound(v.greatest).greatest) &&
                         context_.const_bound(v.least).least != ConstBound::kMin &&
                         context_.const_bound(v.greatest).greatest != ConstBound::kMax;
      exact = small || (b.least != ConstBound::kMin && b.greatest != ConstBound::kMax &&
                        fits(to, b.least) && fits(to, b.greatest));
    }
    if (!exact) return Interval::everything();
    return {v.least.defined() ? context_.simplify(cast(to, v.least)) : Expr(),
            v.greatest.defined() ? context_.simplify(cast(to, v.greatest)) : Expr()};
  }

  Expr if_both(NodeKind kind, const Expr& a, const Expr& b) {
    return a.defined() && b.defined() ? combine(kind, a, b) : Expr();
  }
  bool at_least(const Expr& e, int64_t bound) {
    if (!e.defined()) return false;
    if (context_.const_bound(e).least >= bound) return true;
    return context_.symbolic_bound(e).least >= bound;
  }
  bool at_most(const Expr& e, int64_t bound) {
    if (!e.defined()) return false;
    if (context_.const_bound(e).greatest <= bound) return true;
    return context_.symbolic_bound(e).greatest <= bound;
  }

  Interval multiply(const Interval& a, const Interval& b) {
    // b is a single value.
    const Expr& f = b.least;
    if (is_zero(f)) return Interval::single(f);
    const Expr x = if_both(NodeKind::Mul, a.least, f), y = if_both(NodeKind::Mul, a.greatest, f);
    if (at_least(f, 0)) return {x, y};
    if (at_most(f, 0)) return {y, x};
    return {if_both(NodeKind::Min, x, y), if_both(NodeKind::Max, x, y)};
  }

  Interval binary(const Expr& e) {
    const Operands o = operands(e.get());
    if (o.a.dtype().is_float() || o.a.dtype().is_handle() || o.a.dtype().is_uint())
      return opaque(e);
    const Interval a = evaluate(o.a), b = evaluate(o.b);
    const bool one_lane = e.dtype().lanes == 1 && o.a.dtype().lanes == 1;
    if (a.is_single() && b.is_single() && one_lane) {
      return unchanged(a, o.a) && unchanged(b, o.b)
                 ? Interval::single(e)
                 : Interval::single(combine(e->kind, a.least, b.least));
    }
    switch (e->kind) {
      case NodeKind::Add:
        return {if_both(e->kind, a.least, b.least), if_both(e->kind, a.greatest, b.greatest)};
      case NodeKind::Sub:
        return {if_both(e->kind, a.least, b.greatest), if_both(e->kind, a.greatest, b.least)};
      case NodeKind::Mul: {
        if (b.is_single()) return multiply(a, b);
        if (a.is_single()) return multiply(b, a);
        if (at_least(a.least, 0) && at_least(b.least, 0)) {
          return {combine(e->kind, a.least, b.least), if_both(e->kind, a.greatest, b.greatest)};
        }
        if (!a.is_bounded() || !b.is_bounded()) return Interval::everything();
        const Expr p = combine(e->kind, a.least, b.least),
                   q = combine(e->kind, a.least, b.greatest);
        const Expr r = combine(e->kind, a.greatest, b.least),
                   s = combine(e->kind, a.greatest, b.greatest);
        return {combine(NodeKind::Min, combine(NodeKind::Min, p, q), combine(NodeKind::Min, r, s)),
                combine(NodeKind::Max, combine(NodeKind::Max, p, q), combine(NodeKind::Max, r, s))};
      }
      case NodeKind::FloorDiv:
      case NodeKind::Div: {
        if (!b.is_single()) {
          if (at_least(a.least, 0) && at_least(b.least, 1))
            return {make_zero(a.least.dtype()), a.greatest};
          return Interval::everything();
        }
        const Interval r{if_both(e->kind, a.least, b.least), if_both(e->kind, a.greatest, b.least)};
        if (at_least(b.least, 1)) return r;
        if (at_most(b.least, -1)) return {r.greatest, r.least};
        return Interval::everything();
      }
      case NodeKind::FloorMod:
        return remainder(a, b);
      case NodeKind::Mod: {
        if (at_least(a.least, 0)) return remainder(a, b);
        auto c = b.is_single() ? as_const_int(b.least) : std::nullopt;
        if (!c || *c <= 0) return Interval::everything();
        const Expr most = make_const(b.least.dtype(), *c - 1);
        return {make_const(b.least.dtype(), 1 - *c),
                at_most(a.greatest, 0) ? make_zero(b.least.dtype()) : most};
      }
      case NodeKind::Min:
      case NodeKind::Max: {
        const bool minimum = e->kind == NodeKind::Min;
        const auto bounded = [&](const Expr& x, const Expr& y) {
          return x.defined() && y.defined() ? combine(e->kind, x, y) : (x.defined() ? x : y);
        };
        if (minimum) return {if_both(e->kind, a.least, b.least), bounded(a.greatest, b.greatest)};
        return {bounded(a.least, b.least), if_both(e->kind, a.greatest, b.greatest)};
      }
      case NodeKind::And:
      case NodeKind::Or:
        if (!a.is_bounded() || !b.is_bounded()) return boolean();
        return {combine(e->kind, a.least, b.least), combine(e->kind, a.greatest, b.greatest)};
      case NodeKind::Less:
        return compare(a, b, NodeKind::Less, NodeKind::LessEqual);
      case NodeKind::LessEqual:
        return compare(a, b, NodeKind::LessEqual, NodeKind::Less);
      case NodeKind::Greater:
        return compare(b, a, NodeKind::Less, NodeKind::LessEqual);
      case NodeKind::GreaterEqual:
        return compare(b, a, NodeKind::LessEqual, NodeKind::Less);
      case NodeKind::Equal:
      case NodeKind::NotEqual: {
        const auto below = [&](const Expr& x, const Expr& y) {
          return x.defined() && y.defined() && is_one(combine(NodeKind::Less, x, y));
        };
        if (below(a.greatest, b.least) || below(b.greatest, a.least)) {
          return Interval::single(make_bool(e->kind == NodeKind::NotEqual));
        }
        return boolean();
      }
      default:
        return opaque(e);
    }
  }

  // a < b (or <=), and its converse b <= a (or <).
  Interval compare(const Interval& a, const Interval& b, NodeKind kind, NodeKind converse) {
    if (a.greatest.defined() && b.least.defined() && is_one(combine(kind, a.greatest, b.least))) {
      return Interval::single(make_bool(true));
    }
    if (a.least.defined() && b.greatest.defined() &&
        is_one(combine(converse, b.greatest, a.least))) {
      return Interval::single(make_bool(false));
    }
    return boolean();
  }

  Interval remainder(const Interval& a, const Interval& b) {
    if (!b.is_single() || !at_least(b.least, 1)) {
      if (b.greatest.defined() && at_least(b.least, 1)) {
        return {make_zero(b.least.dtype()),
                combine(NodeKind::Sub, b.greatest, make_const(b.greatest.dtype(), 1))};
      }
      return Interval::everything();
    }
    const Expr& c = b.least;
    const DType t = c.dtype();
    if (a.is_bounded()) {
      // Within one multiple of c the remainder follows the dividend.
      const Expr low = combine(NodeKind::FloorDiv, a.least, c);
      const Expr high = combine(NodeKind::FloorDiv, a.greatest, c);
      if (same(low, high) || is_zero(combine(NodeKind::Sub, high, low))) {
        return {combine(NodeKind::FloorMod, a.least, c),
                combine(NodeKind::FloorMod, a.greatest, c)};
      }
    }
    Expr most = combine(NodeKind::Sub, c, make_const(t, 1));
    if (a.greatest.defined() && at_least(a.least, 0)) {
      const Expr both = combine(NodeKind::Min, most, a.greatest);
      if (is_const(both)) most = both;
    }
    return {make_zero(t), most};
  }

  Context& context_;
  const IntervalMap& relaxed_;
  using Known = std::unordered_map<Expr, Interval, IdentityHash, IdentityEqual>;
  int evaluated_ = 0;
  Known known_;  // of what stands in several places, under the facts in force
};

namespace {

// Whether a product of two expressions stands anywhere in a sum: what only expansion cancels.
bool has_product(const Expr& e, std::unordered_set<const ExprBase*>& met) {
  if (e->kind == NodeKind::Add || e->kind == NodeKind::Sub || e->kind == NodeKind::Mul) {
    if (!e->refs.unique() && !met.insert(e.get()).second) return false;
    const Operands o = operands(e.get());
    if (e->kind == NodeKind::Mul && !is_const(o.b)) return true;
    return has_product(o.a, met) || has_product(o.b, met);
  }
  return false;
}

}  // namespace

Interval Context::interval(const Expr& e, const IntervalMap& relaxed) {
  // A variable bound to a value is that value, unless it is the one that runs.
  std::vector<std::pair<Var, Knowledge>> hidden;
  const size_t mark = facts_.size();
  for (const Var& v : free_vars(e)) {
    auto range = relaxed.find(v);
    if (range == relaxed.end()) continue;
    // A value of `e` needs a value of each variable: no interval is empty.
    if (range->second.is_bounded() && !range->second.is_single()) {
      learn(simplify(raw_binary(NodeKind::LessEqual, range->second.least, range->second.greatest)),
            true);
    }
    if (auto it = vars_.find(v); it != vars_.end()) {
      hidden.emplace_back(v, it->second);
      it->second.value = Expr();
    }
  }
  if (!hidden.empty()) forget();
  const Expr simple = simplify(e);
  Interval r = IntervalEvaluator(*this, relaxed).evaluate(simple);
  for (auto& [v, knowledge] : hidden) vars_[v] = std::move(knowledge);
  if (!hidden.empty()) forget();
  truncate_facts(mark);
  const auto finished = [&](const Expr& end) {
    std::unordered_set<const ExprBase*> met;
    return !end.defined() ? end : has_product(end, met) ? canonical_simplify(end) : simplify(end);
  };
  const bool single = r.is_single();
  r.least = finished(r.least);
  r.greatest = single ? r.least : finished(r.greatest);
  if (r.is_bounded() && same(r.greatest, r.least)) r.greatest = r.least;
  return r;
}

ConstBound Context::symbolic_bound(const Expr& e) {
  if (in_symbolic_ || symbolic_vars_ == 0) return {};
  in_symbolic_ = true;
  ConstBound result;
  Expr low = e, high = e;
  // The ends of one variable may speak of another.
  for (int round = 0; round < 3; ++round) {
    const auto ends = [&](const Expr& x) {
      IntervalMap relaxed;
      for (const Var& v : free_vars(x)) {
        auto it = vars_.find(v);
        if (it == vars_.end() || (!it->second.least.defined() && !it->second.greatest.defined()))
          continue;
        const Knowledge& k = it->second;
        Interval& i = relaxed[v];
        i.least = k.least;
        i.greatest = k.greatest;
        if (!i.least.defined() && k.bound.least != ConstBound::kMin)
          i.least = make_const(v.dtype(), k.bound.least);
        if (!i.greatest.defined() && k.bound.greatest != ConstBound::kMax)
          i.greatest = make_const(v.dtype(), k.bound.greatest);
      }
      if (relaxed.empty()) return Interval{};
      return IntervalEvaluator(*this, relaxed).evaluate(x);
    };
    if (low.defined()) low = ends(low).least;
    if (high.defined()) high = ends(high).greatest;
    if (low.defined()) result.least = std::max(result.least, const_bound(low).least);
    if (high.defined()) result.greatest = std::min(result.greatest, const_bound(high).greatest);
    if (!low.defined() && !high.defined()) break;
  }
  in_symbolic_ = false;
  return result;
}

}  // namespace arithmetic

using arithmetic::Context;

Interval Interval::of(const Range& r) {
  Context context;
  const Expr least = context.simplify(r.min), extent = context.simplify(r.extent);
  if (is_one(extent)) return single(least);
  return {least,
          context.combine(NodeKind::Add, least,
                          context.combine(NodeKind::Sub, extent, make_const(extent.dtype(), 1)))};
}

Range Interval::range() const {
  if (!is_bounded()) return {};
  if (is_single()) return {least, make_const(least.dtype(), 1)};
  Context context;
  const Expr low = context.simplify(least);
  const Expr span = context.combine(NodeKind::Sub, context.simplify(greatest), low);
  return {low, context.canonical_simplify(
                   context.combine(NodeKind::Add, span, make_const(span.dtype(), 1)))};
}

Interval unite(const Interval& a, const Interval& b) {
  Context context;
  Interval r;
  if (a.least.defined() && b.least.defined()) {
    r.least = context.simplify(raw_binary(NodeKind::Min, a.least, b.least));
  }
  if (a.greatest.defined() && b.greatest.defined()) {
    r.greatest = context.simplify(raw_binary(NodeKind::Max, a.greatest, b.greatest));
    if (r.least.defined() && arithmetic::same(r.least, r.greatest)) r.greatest = r.least;
  }
  return r;
}

Interval intersect(const Interval& a, const Interval& b) {
  Context context;
  const auto both = [&](NodeKind kind, const Expr& x, const Expr& y) {
    if (!x.defined() || !y.defined()) return x.defined() ? x : y;
    return context.simplify(raw_binary(kind, x, y));
  };
  Interval r{both(NodeKind::Max, a.least, b.least), both(NodeKind::Min, a.greatest, b.greatest)};
  if (r.is_bounded() && arithmetic::same(r.least, r.greatest)) r.greatest = r.least;
  return r;
}

Interval evaluate_interval(const Expr& e, const IntervalMap& relaxed) {
  Context context;
  return context.interval(e, relaxed);
}

}  // namespace tw
