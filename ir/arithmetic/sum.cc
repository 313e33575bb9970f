// SPDX-License-Identifier: Apache-2.0
// Sums: what no rule over two operands can see. Terms that cancel or join may stand far apart and
// at different depths of nested products such as ((a*7 + b)*9 + c); only the products on the way to
// them are multiplied out, so that the nested form stays wherever nothing is gained.
#include "ir/arithmetic/context.h"

namespace tw::arithmetic {
namespace {

bool is_sum(const ExprBase* e) { return e->kind == NodeKind::Add || e->kind == NodeKind::Sub; }

std::optional<int64_t> constant_of(const ExprBase* e) {
  if (e->kind == NodeKind::Broadcast) e = static_cast<const Broadcast*>(e)->value.get();
  if (e->kind != NodeKind::IntImm) return std::nullopt;
  return static_cast<const IntImm*>(e)->value;
}

// x and the factor of x * c; null otherwise.
const Expr* scaled_by(const ExprBase* e, int64_t& factor) {
  if (e->kind != NodeKind::Mul) return nullptr;
  const Mul* m = static_cast<const Mul*>(e);
  auto c = constant_of(m->b.get());
  if (!c) return nullptr;
  factor = *c;
  return &m->a;
}

bool multiply_checked(int64_t a, int64_t b, int64_t& result) {
  return !__builtin_mul_overflow(a, b, &result);
}

// A sum of equal sums has more terms than anybody waits for.
constexpr size_t kMostTerms = 4096;

// The constant of a sum, and how many terms were met.
struct SumWalk {
  int64_t& constant;
  size_t met = 0;
};

// Calls take(atom, coefficient) for the terms of coefficient * e, in order, and adds up the
// constants. A nested sum (y + z)*c is one term unless open(y + z, its coefficient) says otherwise.
// False when a number overflows, the terms and constants are too many, or `take` says so.
template <class Open, class Take>
bool walk_terms(const Expr& e, int64_t coefficient, SumWalk& walk, Open&& open, Take&& take) {
  if (is_sum(e.get())) {
    const Operands o = operands(e.get());
    return walk_terms(o.a, coefficient, walk, open, take) &&
           walk_terms(o.b, e->kind == NodeKind::Add ? coefficient : -coefficient, walk, open, take);
  }
  if (++walk.met > kMostTerms) return false;
  int64_t& constant = walk.constant;
  if (auto c = constant_of(e.get())) {
    int64_t v = 0;
    return multiply_checked(*c, coefficient, v) && !__builtin_add_overflow(constant, v, &constant);
  }
  int64_t factor = 0, total = 0;
  const Expr* inner = scaled_by(e.get(), factor);
  if (!inner) return take(e, coefficient);
  if (!multiply_checked(coefficient, factor, total) || total == INT64_MIN) return false;
  if (is_sum(inner->get()) && open(*inner, total)) {
    return walk_terms(*inner, total, walk, open, take);
  }
  return take(*inner, total);
}
template <class Open, class Take>
bool walk_sum(const Expr& e, int64_t coefficient, int64_t& constant, Open&& open, Take&& take) {
  SumWalk walk{constant};
  return walk_terms(e, coefficient, walk, open, take);
}

template <class Open>
bool flatten(const Expr& e, int64_t coefficient, Sum& sum, Open&& open) {
  return walk_sum(e, coefficient, sum.constant, open, [&](const Expr& atom, int64_t c) {
    sum.terms.push_back({atom, c});
    return true;
  });
}

size_t count_leaves(const ExprBase* e) {
  int64_t factor = 0;
  if (is_sum(e)) {
    const Operands o = operands(e);
    return count_leaves(o.a.get()) + count_leaves(o.b.get());
  }
  if (constant_of(e)) return 0;
  if (const Expr* inner = scaled_by(e, factor); inner && is_sum(inner->get())) {
    return count_leaves(inner->get());
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

void Leaves::gather(const Expr& e, int64_t coefficient) {
  overflow |= !walk_sum(
      e, coefficient, constant, [](const Expr&, int64_t) { return true; },
      [&](const Expr& atom, int64_t c) {
        if (size == kMaxLeaves) return false;
        items[size++] = {atom.get(), c};
        return true;
      });
}

Expr Context::rebuild(const Sum& sum, DType type) {
  const auto scaled = [&](const Term& t, int64_t coefficient) {
    return coefficient == 1 ? t.atom : combine(NodeKind::Mul, t.atom, constant(type, coefficient));
  };
  for (const Term& t : sum.terms) {
    if (!fits(type, t.coefficient) || !fits(type, -t.coefficient)) return {};
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

// The u for which `quotient` is u // m and `remainder`, which is v % m, is u % m; undefined when
// there is none. Both may have been simplified beyond the text of u.
Expr Context::joined_dividend(const ExprBase* quotient, const ExprBase* remainder, int64_t m) {
  const Operands o = operands(remainder);
  int64_t divisor = 0, inner = 0;
  const Expr* dividend = divided(quotient, NodeKind::FloorDiv, divisor);
  if (dividend && divisor == m && same(*dividend, o.a)) return o.a;
  // (u // a) // m is written u // (a*m).
  const Expr* inner_dividend = divided(o.a.get(), NodeKind::FloorDiv, inner);
  int64_t product = 0;
  if (dividend && inner_dividend && multiply_checked(inner, m, product) && divisor == product &&
      same(*dividend, *inner_dividend)) {
    return o.a;
  }
  if (dividend && divisor == m &&
      same(combine(NodeKind::FloorMod, *dividend, o.b).get(), remainder)) {
    return *dividend;
  }
  if ((dividend || is_sum(o.a.get())) &&
      same(combine(NodeKind::FloorDiv, o.a, o.b).get(), quotient)) {
    return o.a;
  }
  return {};
}

Expr Context::merge_terms(NodeKind kind, const Expr& a, const Expr& b) {
  const int64_t sign = kind == NodeKind::Add ? 1 : -1;
  Leaves leaves;
  leaves.gather(a, 1);
  const size_t middle = leaves.size;
  leaves.gather(b, sign);
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
          int64_t expected = 0;
          if (*m > 0 && multiply_checked(r.coefficient, *m, expected) &&
              expected == q.coefficient) {
            if (Expr u = joined_dividend(q.atom, r.atom, *m); u.defined()) {
              join(i, j, std::move(u), r.coefficient);
            }
          }
          return;
        }
        if (q.atom->kind != NodeKind::Mul || q.coefficient != r.coefficient) return;
        const Operands factors = operands(q.atom);
        const auto quotient = [&](const Expr& f, const Expr& n) {
          if (f->kind != NodeKind::FloorDiv || !same(n, o.b)) return false;
          const Operands d = operands(f.get());
          return same(d.a, o.a) && same(d.b, o.b);
        };
        if ((quotient(factors.a, factors.b) || quotient(factors.b, factors.a)) && is_nonzero(o.b)) {
          join(i, j, o.a, r.coefficient);
        }
      };
      remainder(x, y);
      if (!found) remainder(y, x);
    }
  }
  if (!found) return {};

  // Open only the nested sums that hold one of the two leaves.
  Sum sum;
  size_t position = 0;  // of the next leaf
  const auto open = [&](const Expr& nested, int64_t) {
    const size_t end = position + count_leaves(nested.get());
    return (position <= at && at < end) || (position <= other && other < end);
  };
  const auto take = [&](const Expr& atom, int64_t coefficient) {
    if (position == at) {
      if (joined.coefficient != 0) sum.terms.push_back(joined);
    } else if (position != other) {
      sum.terms.push_back({atom, coefficient});
    }
    position += count_leaves(atom.get());
    return true;
  };
  if (!walk_sum(a, 1, sum.constant, open, take) || !walk_sum(b, sign, sum.constant, open, take)) {
    return {};
  }
  return rebuild(sum, a.dtype());
}

Expr Context::divide_sum(NodeKind kind, const Expr& a, int64_t divisor) {
  const DType type = a.dtype();
  const bool modulo = kind == NodeKind::FloorMod;
  // A nested sum is opened when some leaf of it shares more with the divisor than it does as a
  // whole.
  const auto open = [&](const Expr& nested, int64_t coefficient) {
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

// `product` without one factor that equals `factor`; undefined when it has none.
Expr Context::without_factor(const Expr& product, const Expr& factor) {
  if (same(product, factor)) return constant(factor.dtype(), 1);
  if (product->kind != NodeKind::Mul) return {};
  const Operands o = operands(product.get());
  if (Expr b = without_factor(o.b, factor); b.defined()) return combine(NodeKind::Mul, o.a, b);
  if (Expr a = without_factor(o.a, factor); a.defined()) return combine(NodeKind::Mul, a, o.b);
  return {};
}

Expr Context::divide_products(NodeKind kind, const Expr& a, const Expr& divisor) {
  Sum sum, quotient, rest;
  if (!flatten(a, 1, sum, [](const Expr&, int64_t) { return false; })) return {};
  rest.constant = sum.constant;
  for (const Term& t : sum.terms) {
    Expr q = without_factor(t.atom, divisor);
    if (q.defined()) {
      quotient.terms.push_back({std::move(q), t.coefficient});
    } else {
      rest.terms.push_back(t);
    }
  }
  if (quotient.terms.empty()) return {};
  if (kind == NodeKind::FloorDiv && !is_nonzero(divisor)) return {};
  const Expr remaining = rebuild(rest, a.dtype());
  if (!remaining.defined()) return {};
  Expr last = combine(kind, remaining, divisor);
  if (kind == NodeKind::FloorMod) return last;
  quotient.terms.push_back({std::move(last), 1});
  return rebuild(quotient, a.dtype());
}

Expr Context::compare_sums(NodeKind kind, const Expr& a, const Expr& b) {
  Leaves before;
  before.gather(a, 1);
  before.gather(b, -1);
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
  after.gather(difference, 1);
  if (after.overflow || after.size >= before.size) return {};
  // Terms cancelled: positive ones to the left, the others and the constant to the right.
  Sum sum, left, right;
  if (!flatten(difference, 1, sum, [](const Expr&, int64_t) { return false; })) return {};
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
