// SPDX-License-Identifier: Apache-2.0
// Sums: what no rule over two operands can see. Terms that cancel or join may stand far apart and at
// different depths of nested products such as ((a*7 + b)*9 + c); only the products on the way to them
// are multiplied out, so that the nested form stays wherever nothing is gained.
#include "ir/arithmetic/context.h"

namespace tw::arithmetic {
namespace {

bool is_sum(const ExprBase* e) { return e->kind == NodeKind::Add || e->kind == NodeKind::Sub; }

std::optional<int64_t> constant_of(const ExprBase* e) {
  if (e->kind == NodeKind::Broadcast) e = static_cast<const Broadcast*>(e)->value.get();
  if (e->kind != NodeKind::IntImm) return std::nullopt;
  return static_cast<const IntImm*>(e)->value;
}

// The first factor and the constant of x * c; null otherwise.
const ExprBase* scaled_by(const ExprBase* e, int64_t& factor) {
  if (e->kind != NodeKind::Mul) return nullptr;
  const Mul* m = static_cast<const Mul*>(e);
  auto c = constant_of(m->b.get());
  if (!c) return nullptr;
  factor = *c;
  return m->a.get();
}

bool multiply_checked(int64_t a, int64_t b, int64_t& result) {
  return !__builtin_mul_overflow(a, b, &result);
}

// Flattens a sum into terms. Nested sums are kept as one term unless `open` says otherwise; it sees
// the nested sum and the coefficient it stands with.
template <class Open>
bool flatten(const Expr& e, int64_t coefficient, Sum& sum, Open&& open) {
  if (is_sum(e.get())) {
    const Operands o = operands(e.get());
    return flatten(o.a, coefficient, sum, open) &&
           flatten(o.b, e->kind == NodeKind::Add ? coefficient : -coefficient, sum, open);
  }
  if (auto c = constant_of(e.get())) {
    int64_t v = 0;
    return multiply_checked(*c, coefficient, v) &&
           !__builtin_add_overflow(sum.constant, v, &sum.constant);
  }
  int64_t factor = 0;
  if (scaled_by(e.get(), factor)) {
    const Expr& inner = static_cast<const Mul*>(e.get())->a;
    int64_t total = 0;
    if (!multiply_checked(coefficient, factor, total)) return false;
    if (is_sum(inner.get()) && open(inner.get(), total)) return flatten(inner, total, sum, open);
    sum.terms.push_back({inner, total});
    return true;
  }
  sum.terms.push_back({e, coefficient});
  return true;
}

size_t count_leaves(const ExprBase* e) {
  int64_t factor = 0;
  if (is_sum(e)) {
    const Operands o = operands(e);
    return count_leaves(o.a.get()) + count_leaves(o.b.get());
  }
  if (constant_of(e)) return 0;
  if (const ExprBase* inner = scaled_by(e, factor); inner && is_sum(inner)) {
    return count_leaves(inner);
  }
  return 1;
}

// The dividend and divisor of x // c or x % c.
const Expr* divided(const ExprBase* e, NodeKind kind, int64_t& divisor) {
  if (e->kind != kind) return nullptr;
  const Operands o = operands(e);
  auto c = constant_of(o.b.get());
  if (!c || *c <= 0) return nullptr;
  divisor = *c;
  return &o.a;
}

}  // namespace

void Leaves::gather(const ExprBase* e, int64_t coefficient) {
  if (overflow) return;
  if (is_sum(e)) {
    const Operands o = operands(e);
    gather(o.a.get(), coefficient);
    gather(o.b.get(), e->kind == NodeKind::Add ? coefficient : -coefficient);
    return;
  }
  if (auto c = constant_of(e)) {
    int64_t v = 0;
    overflow |= !multiply_checked(*c, coefficient, v) || __builtin_add_overflow(constant, v, &constant);
    return;
  }
  int64_t factor = 1;
  const ExprBase* inner = scaled_by(e, factor);
  if (inner) {
    int64_t total = 0;
    if (!multiply_checked(coefficient, factor, total)) {
      overflow = true;
      return;
    }
    if (is_sum(inner)) return gather(inner, total);
    e = inner;
    coefficient = total;
  }
  if (size == kMaxLeaves) {
    overflow = true;
    return;
  }
  items[size++] = {e, coefficient};
}

Expr Context::rebuild(const Sum& sum, DType type) {
  const auto scaled = [&](const Term& t, int64_t coefficient) {
    return coefficient == 1 ? t.atom
                            : combine(NodeKind::Mul, t.atom, constant(type, coefficient));
  };
  for (const Term& t : sum.terms) {
    if (!fits(type, t.coefficient) || t.coefficient == INT64_MIN) return {};
  }
  if (!fits(type, sum.constant)) return {};
  Expr result;
  size_t first = sum.terms.size();
  for (size_t i = 0; i < sum.terms.size() && first == sum.terms.size(); ++i) {
    if (sum.terms[i].coefficient > 0) first = i;
  }
  int64_t rest = sum.constant;
  if (first < sum.terms.size()) {
    result = scaled(sum.terms[first], sum.terms[first].coefficient);
  } else if (rest != 0) {
    result = constant(type, rest);
    rest = 0;
  }
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const Term& t = sum.terms[i];
    if (i == first || t.coefficient == 0) continue;
    if (!result.defined()) {
      result = scaled(t, t.coefficient);
    } else if (t.coefficient > 0) {
      result = combine(NodeKind::Add, result, scaled(t, t.coefficient));
    } else {
      result = combine(NodeKind::Sub, result, scaled(t, -t.coefficient));
    }
  }
  if (!result.defined()) return constant(type, rest);
  return rest == 0 ? result : combine(NodeKind::Add, result, constant(type, rest));
}

Expr Context::merge_terms(NodeKind kind, const Expr& a, const Expr& b) {
  const int64_t sign = kind == NodeKind::Add ? 1 : -1;
  Leaves leaves;
  leaves.gather(a.get(), 1);
  const size_t middle = leaves.size;
  leaves.gather(b.get(), sign);
  if (leaves.overflow) return {};

  // What replaces a pair of leaves: coefficient * atom, at the place of the first.
  size_t at = 0, other = 0;
  Term joined;
  bool found = false;
  const auto join = [&](size_t i, size_t j, Expr atom, int64_t coefficient) {
    at = i;
    other = j;
    joined = {std::move(atom), coefficient};
    found = true;
  };
  for (size_t i = 0; i < middle && !found; ++i) {
    const Leaf& x = leaves.items[i];
    for (size_t j = middle; j < leaves.size && !found; ++j) {
      const Leaf& y = leaves.items[j];
      if (same(x.atom, y.atom)) {
        int64_t total = 0;
        if (!__builtin_add_overflow(x.coefficient, y.coefficient, &total)) {
          join(i, j, Expr::of(x.atom), total);
        }
        break;
      }
      // (u // m)*(k*m) + (u % m)*k is u*k.
      const auto remainder = [&](const Leaf& q, const Leaf& r) {
        if (r.atom->kind != NodeKind::FloorMod) return;
        const Operands o = operands(r.atom);
        if (auto m = constant_of(o.b.get())) {
          int64_t expected = 0, divisor = 0;
          if (*m <= 0 || !multiply_checked(r.coefficient, *m, expected) ||
              expected != q.coefficient) {
            return;
          }
          // The quotient stands in its own simplest form: (u // a) % m belongs to u // (a*m).
          int64_t inner = 0;
          const Expr* dividend = divided(q.atom, NodeKind::FloorDiv, divisor);
          const Expr* inner_dividend = divided(o.a.get(), NodeKind::FloorDiv, inner);
          bool partner = dividend && divisor == *m && same(*dividend, o.a);
          partner |= dividend && inner_dividend && inner <= INT32_MAX && *m <= INT32_MAX &&
                     divisor == inner * *m && same(*dividend, *inner_dividend);
          if (!partner && (dividend || is_sum(o.a.get()))) {
            partner = same(combine(NodeKind::FloorDiv, o.a, o.b).get(), q.atom);
          }
          if (partner) join(i, j, o.a, r.coefficient);
          return;
        }
        if (q.atom->kind == NodeKind::Mul && q.coefficient == r.coefficient) {
          const Operands factors = operands(q.atom);
          const auto quotient = [&](const Expr& f, const Expr& n) {
            if (f->kind != NodeKind::FloorDiv || !same(n, o.b)) return false;
            const Operands d = operands(f.get());
            return same(d.a, o.a) && same(d.b, o.b);
          };
          if (quotient(factors.a, factors.b) || quotient(factors.b, factors.a)) {
            join(i, j, o.a, r.coefficient);
          }
        }
      };
      remainder(x, y);
      if (!found) remainder(y, x);
    }
  }
  if (!found) return {};

  // Open only the nested sums that hold one of the two leaves.
  size_t position = 0;
  std::vector<std::pair<size_t, size_t>> positions;  // term index → first leaf
  Sum sum;
  const auto open = [&](const ExprBase* nested, int64_t) {
    const size_t n = count_leaves(nested);
    const bool holds = (position <= at && at < position + n) ||
                       (position <= other && other < position + n);
    return holds;
  };
  // As flatten, counting leaves as it goes.
  const auto walk = [&](const auto& self, const Expr& e, int64_t coefficient) -> bool {
    if (is_sum(e.get())) {
      const Operands o = operands(e.get());
      return self(self, o.a, coefficient) &&
             self(self, o.b, e->kind == NodeKind::Add ? coefficient : -coefficient);
    }
    if (auto c = constant_of(e.get())) {
      int64_t v = 0;
      return multiply_checked(*c, coefficient, v) &&
             !__builtin_add_overflow(sum.constant, v, &sum.constant);
    }
    int64_t factor = 1;
    Expr atom = e;
    if (scaled_by(e.get(), factor)) {
      atom = static_cast<const Mul*>(e.get())->a;
      if (!multiply_checked(coefficient, factor, coefficient)) return false;
      if (is_sum(atom.get())) {
        if (open(atom.get(), coefficient)) return self(self, atom, coefficient);
        sum.terms.push_back({atom, coefficient});
        position += count_leaves(atom.get());
        return true;
      }
    }
    if (position == at) {
      if (joined.coefficient != 0) sum.terms.push_back(joined);
    } else if (position != other) {
      sum.terms.push_back({atom, coefficient});
    }
    ++position;
    return true;
  };
  if (!walk(walk, a, 1) || !walk(walk, b, sign)) return {};
  return rebuild(sum, a.dtype());
}

Expr Context::divide_sum(NodeKind kind, const Expr& a, int64_t divisor) {
  const DType type = a.dtype();
  const bool modulo = kind == NodeKind::FloorMod;
  // A nested sum is opened when some leaf of it shares more with the divisor than it does as a whole.
  const auto open = [&](const ExprBase* nested, int64_t coefficient) {
    if (coefficient % divisor == 0) return false;
    Leaves leaves;
    leaves.gather(nested, coefficient);
    if (leaves.overflow) return false;
    const int64_t whole = gcd(coefficient, divisor);
    for (size_t i = 0; i < leaves.size; ++i) {
      if (gcd(leaves.items[i].coefficient, divisor) > whole) return true;
    }
    return false;
  };
  Sum sum;
  if (!flatten(a, 1, sum, open)) return {};

  // a == divisor * quotient + rest
  Sum quotient, rest;
  rest.constant = sum.constant;
  bool reduced = false;  // the rest has other terms than the dividend
  ConstBound bound{sum.constant, sum.constant};
  for (const Term& t : sum.terms) {
    if (t.coefficient % divisor == 0) {
      quotient.terms.push_back({t.atom, t.coefficient / divisor});
      continue;
    }
    Term r = t;
    int64_t inner = 0, product = 0;
    if (modulo) {
      const Expr* dividend = divided(t.atom.get(), NodeKind::FloorMod, inner);
      if (dividend && multiply_checked(t.coefficient, inner, product) && product % divisor == 0) {
        r.atom = *dividend;
        reduced = true;
      }
      if (r.coefficient > divisor || r.coefficient < -divisor) {
        r.coefficient %= divisor;
        reduced = true;
      }
    }
    bound = add(bound, scale(const_bound(r.atom), r.coefficient));
    rest.terms.push_back(std::move(r));
  }
  if (quotient.terms.empty() && !reduced) bound = intersect(bound, const_bound(a));

  // The rest lies between two multiples: the quotient is known.
  if (bound.least != ConstBound::kMin && bound.greatest != ConstBound::kMax &&
      floor_quotient(bound.least, divisor) == floor_quotient(bound.greatest, divisor)) {
    const int64_t q = floor_quotient(bound.least, divisor);
    if (!modulo) {
      quotient.constant = q;
      return rebuild(quotient, type);
    }
    if (rest.terms.empty()) return constant(type, floor_remainder(rest.constant, divisor));
    if (__builtin_sub_overflow(rest.constant, q * divisor, &rest.constant)) return {};
    return rebuild(rest, type);
  }
  // Whole divisors go out of the constant.
  quotient.constant = floor_quotient(rest.constant, divisor);
  const bool shifted = quotient.constant != 0;
  rest.constant = floor_remainder(rest.constant, divisor);

  // rest == g * upper + lower with lower between two multiples of g.
  int64_t tried[kMaxLeaves];
  size_t num_tried = 0;
  for (;;) {
    int64_t g = 1;
    for (const Term& t : rest.terms) {
      const int64_t candidate = gcd(t.coefficient, divisor);
      const int64_t below = num_tried == 0 ? INT64_MAX : tried[num_tried - 1];
      if (candidate < below && candidate > g) g = candidate;
    }
    if (g == 1 || num_tried == kMaxLeaves) break;
    tried[num_tried++] = g;
    Sum upper, lower;
    ConstBound low{rest.constant, rest.constant};
    for (const Term& t : rest.terms) {
      if (t.coefficient % g == 0) {
        upper.terms.push_back({t.atom, t.coefficient / g});
      } else {
        lower.terms.push_back(t);
        low = add(low, scale(const_bound(t.atom), t.coefficient));
      }
    }
    if (low.least == ConstBound::kMin || low.greatest == ConstBound::kMax ||
        floor_quotient(low.least, g) != floor_quotient(low.greatest, g)) {
      continue;
    }
    upper.constant = floor_quotient(low.least, g);
    lower.constant = rest.constant - upper.constant * g;
    Expr up = rebuild(upper, type);
    if (!up.defined()) return {};
    Expr divided_up = combine(kind, up, constant(type, divisor / g));
    if (!modulo) {
      if (quotient.terms.empty() && quotient.constant == 0) return divided_up;
      quotient.terms.push_back({divided_up, 1});
      return rebuild(quotient, type);
    }
    Sum result;
    result.terms.push_back({divided_up, g});
    for (Term& t : lower.terms) result.terms.push_back(std::move(t));
    result.constant = lower.constant;
    return rebuild(result, type);
  }

  if (modulo) {
    const ModularFact fact = modular(a);
    if (fact.modulus == 0 || fact.modulus % divisor == 0) {
      return constant(type, floor_remainder(fact.residue, divisor));
    }
  }
  if (quotient.terms.empty() && !shifted && !reduced) return {};
  Expr remaining = rebuild(rest, type);
  if (!remaining.defined()) return {};
  Expr last = combine(kind, remaining, constant(type, divisor));
  if (modulo) return last;
  quotient.terms.push_back({last, 1});
  return rebuild(quotient, type);
}

Expr Context::compare_sums(NodeKind kind, const Expr& a, const Expr& b) {
  Leaves before;
  before.gather(a.get(), 1);
  before.gather(b.get(), -1);
  if (before.overflow || before.size == 0) return {};
  const bool equality = kind == NodeKind::Equal || kind == NodeKind::NotEqual;
  const Expr difference = combine(NodeKind::Sub, a, b);
  ConstBound bound = const_bound(difference);
  const auto decided = [&]() -> Expr {
    switch (kind) {
      case NodeKind::Less:
        if (bound.greatest < 0) return make_const(bool_type(a.dtype().lanes), 1);
        if (bound.least >= 0) return make_const(bool_type(a.dtype().lanes), 0);
        break;
      case NodeKind::LessEqual:
        if (bound.greatest <= 0) return make_const(bool_type(a.dtype().lanes), 1);
        if (bound.least > 0) return make_const(bool_type(a.dtype().lanes), 0);
        break;
      default:
        if (bound.least == 0 && bound.greatest == 0) {
          return make_const(bool_type(a.dtype().lanes), kind == NodeKind::Equal);
        }
        if (bound.least > 0 || bound.greatest < 0) {
          return make_const(bool_type(a.dtype().lanes), kind == NodeKind::NotEqual);
        }
    }
    return {};
  };
  if (Expr e = decided(); e.defined()) return e;
  if (symbolic_vars_ > 0 && !in_symbolic_) {
    bound = intersect(bound, symbolic_bound(difference));
    if (Expr e = decided(); e.defined()) return e;
  }
  if (equality) {
    const ModularFact fact = modular(difference);
    if (fact.modulus > 1 && fact.residue != 0) {
      return make_const(bool_type(a.dtype().lanes), kind == NodeKind::NotEqual);
    }
  }
  Leaves after;
  after.gather(difference.get(), 1);
  if (after.overflow || after.size >= before.size) return {};
  // Terms cancelled: positive ones to the left, the others and the constant to the right.
  Sum sum, left, right;
  if (!flatten(difference, 1, sum, [](const ExprBase*, int64_t) { return false; })) return {};
  for (const Term& t : sum.terms) {
    if (t.coefficient > 0) {
      left.terms.push_back(t);
    } else {
      right.terms.push_back({t.atom, -t.coefficient});
    }
  }
  (left.terms.empty() ? left : right).constant = left.terms.empty() ? sum.constant : -sum.constant;
  const Expr l = rebuild(left, a.dtype()), r = rebuild(right, a.dtype());
  if (!l.defined() || !r.defined()) return {};
  return combine(kind, l, r);
}

}  // namespace tw::arithmetic
