// SPDX-License-Identifier: Apache-2.0
#include "ir/arithmetic/analyzer.h"

#include <algorithm>

#include "ir/arithmetic/context.h"

namespace tw {
namespace arithmetic {

void Context::forget() {
  memory_.epoch = ++epochs_;
  memory_.bounds.forget();
  memory_.modulars.forget();
  memory_.simplified.forget();
}

void Context::bind(const Var& var, const Expr& value) {
  forget();
  const Expr v = simplify(value);
  forget();
  Knowledge& k = vars_[var];
  symbolic_vars_ -= k.least.defined() || k.greatest.defined();
  k = Knowledge{};
  if (v.dtype() == var.dtype()) k.value = v;
  if (v.dtype().is_float()) return;
  k.bound = const_bound(v);
  k.modular = modular(v);
}

void Context::bind_bounds(const Var& var, const Expr& value) {
  bind(var, value);
  vars_[var].value = Expr();
}

void Context::bind_let(const Var& var, const Expr& value) {
  if (const auto it = vars_.find(var); it != vars_.end()) {
    const bool current = it->second.epoch == memory_.epoch;
    if (current && it->second.let.same_as(value)) return;
    if (current || !it->second.let.defined()) forget();  // the variable stood for something else
  }
  Knowledge known;
  if (!value.dtype().is_float()) {
    known.bound = const_bound(value);
    known.modular = modular(value);
  }
  known.let = value;
  known.epoch = memory_.epoch;
  Knowledge& k = vars_[var];
  symbolic_vars_ -= k.least.defined() || k.greatest.defined();
  k = std::move(known);
}

void Context::bind(const Var& var, const Range& range) {
  forget();
  const Expr min = simplify(range.min), extent = simplify(range.extent);
  if (is_one(extent)) return bind(var, min);
  const Expr greatest =
      combine(NodeKind::Add, min, combine(NodeKind::Sub, extent, make_const(extent.dtype(), 1)));
  forget();
  Knowledge& k = vars_[var];
  symbolic_vars_ -= k.least.defined() || k.greatest.defined();
  k = Knowledge{};
  k.bound.least = const_bound(min).least;
  // A loop over nothing binds nothing: the body sees min <= var.
  k.bound.greatest = std::max(const_bound(greatest).greatest, k.bound.least);
  if (!is_const(min)) k.least = min;
  if (!is_const(greatest)) k.greatest = greatest;
  symbolic_vars_ += k.least.defined() || k.greatest.defined();
  learn_at_least(extent, 1);
}

void Context::learn_at_least(const Expr& e, int64_t least) {
  if (least < 1 || !e.dtype().is_int() || const_bound(e).least >= 1) return;
  const auto peel = [](const auto* n) { return n ? as_const_int(n->b) : std::nullopt; };
  if (const FloorDiv* d = as<FloorDiv>(e)) {
    const auto c = peel(d);
    if (c && *c > 0 && least < (int64_t{1} << 31) && *c < (int64_t{1} << 31)) {
      learn_at_least(d->a, least * *c);
    }
    return;
  }
  if (const auto c = peel(as<Add>(e)); c && *c > -(int64_t{1} << 31)) {
    return learn_at_least(as<Add>(e)->a, least - *c);
  }
  facts_.push_back({make(NotEqual{.a = e, .b = make_zero(e.dtype())}), {1, 1}});
}

void Context::truncate_facts(size_t count) {
  if (facts_.size() <= count) return;
  facts_.resize(count);
  forget();
}

void Context::add_difference_fact(const Expr& a, const Expr& b, ConstBound bound) {
  Expr d = combine(NodeKind::Sub, a, b);
  if (is_const(d)) return;
  if (const Add* sum = as<Add>(d)) {
    if (auto c = as_const_int(sum->b)) {
      bound = subtract(bound, {*c, *c});
      d = sum->a;
    }
  }
  const Expr negated = combine(NodeKind::Mul, d, make_const(d.dtype(), -1));
  facts_.push_back({d, bound});
  if (!is_const(negated)) facts_.push_back({negated, scale(bound, -1)});
}

void Context::learn(const Expr& condition, bool truth) {
  if (is_const(condition) || !condition.dtype().is_bool()) return;
  if (const Call* c = as<Call>(condition); c && c->name == "likely") {
    facts_.push_back({condition, {truth, truth}});
    return learn(c->args[0], truth);
  }
  if (const Not* n = as<Not>(condition)) return learn(n->a, !truth);
  if (condition->kind == (truth ? NodeKind::And : NodeKind::Or)) {
    const Operands o = operands(condition.get());
    learn(o.a, truth);
    return learn(o.b, truth);
  }
  forget();
  constexpr int64_t kMin = ConstBound::kMin, kMax = ConstBound::kMax;
  if (is_binary(condition->kind)) {
    const Operands o = operands(condition.get());
    if (o.a.dtype().is_int() && o.a.dtype().lanes == 1) {
      const Expr *a = &o.a, *b = &o.b;
      NodeKind kind = condition->kind;
      if (kind == NodeKind::Greater || kind == NodeKind::GreaterEqual) {
        std::swap(a, b);
        kind = kind == NodeKind::Greater ? NodeKind::Less : NodeKind::LessEqual;
      }
      if (!truth && (kind == NodeKind::Less || kind == NodeKind::LessEqual)) {
        std::swap(a, b);
        kind = kind == NodeKind::Less ? NodeKind::LessEqual : NodeKind::Less;
      } else if (!truth && (kind == NodeKind::Equal || kind == NodeKind::NotEqual)) {
        kind = kind == NodeKind::Equal ? NodeKind::NotEqual : NodeKind::Equal;
      }
      const auto ca = as_const_int(*a), cb = as_const_int(*b);
      const int64_t strict = kind == NodeKind::Less;
      if (kind == NodeKind::Less || kind == NodeKind::LessEqual) {
        if (cb) {
          facts_.push_back({*a, add({kMin, *cb}, {kMin, -strict})});
        } else if (ca) {
          facts_.push_back({*b, add({*ca, kMax}, {strict, kMax})});
        } else {
          add_difference_fact(*a, *b, {kMin, -strict});
        }
      } else if (kind == NodeKind::Equal) {
        if (cb) {
          facts_.push_back({*a, {*cb, *cb}});
        } else if (!ca) {
          add_difference_fact(*a, *b, {0, 0});
        }
      }
    }
  }
  facts_.push_back({condition, {truth, truth}});
  forget();
}

void Context::assume(const Expr& condition) { learn(simplify(condition), true); }

bool Context::holds(const Expr& condition) {
  const Expr e = simplify(condition);
  return is_one(e);
}

bool Context::can_prove(const Expr& condition) {
  if (holds(condition)) return true;
  return is_one(canonical_simplify(condition));
}

}  // namespace arithmetic

using arithmetic::Context;

Analyzer::Analyzer() : state_(std::make_unique<State>()) {}
Analyzer::~Analyzer() = default;

void Analyzer::bind(const Var& var, const Range& range) { state_->context.bind(var, range); }
void Analyzer::bind(const Var& var, const Expr& value) { state_->context.bind(var, value); }

Analyzer::Scope Analyzer::assume(const Expr& condition) {
  const size_t depth = state_->context.num_facts();
  state_->context.assume(condition);
  return Scope(*this, depth);
}

Expr Analyzer::simplify(const Expr& e) { return state_->context.simplify(e); }
Expr Analyzer::canonical_simplify(const Expr& e) { return state_->context.canonical_simplify(e); }
ConstBound Analyzer::const_bound(const Expr& e) {
  return arithmetic::intersect(state_->context.const_bound(e),
                               state_->context.const_bound(state_->context.simplify(e)));
}
ModularFact Analyzer::modular(const Expr& e) {
  return state_->context.modular(state_->context.simplify(e));
}
Interval Analyzer::interval(const Expr& e, const IntervalMap& relaxed) {
  return state_->context.interval(e, relaxed);
}
bool Analyzer::can_prove(const Expr& condition) { return state_->context.can_prove(condition); }
bool Analyzer::can_prove_equal(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  return can_prove(raw_binary(NodeKind::Equal, a, b));
}
bool Analyzer::can_prove_at_least(const Expr& e, int64_t bound) {
  if (const_bound(e).least >= bound) return true;
  if (!arithmetic::fits(e.dtype(), bound)) return false;
  return can_prove(raw_binary(NodeKind::LessEqual, make_const(e.dtype(), bound), e));
}

Analyzer::Scope::Scope(Scope&& other) noexcept
    : analyzer_(std::exchange(other.analyzer_, nullptr)), depth_(other.depth_) {}
Analyzer::Scope::~Scope() {
  if (analyzer_) analyzer_->state_->context.truncate_facts(depth_);
}

Expr simplify(const Expr& e) {
  Context context;
  return context.simplify(e);
}

}  // namespace tw
