// SPDX-License-Identifier: Apache-2.0
// Constant bounds and modular facts: one pass over the expression each, cached.
#include <algorithm>
#include <numeric>

#include "ir/arithmetic/context.h"

namespace tw::arithmetic {
namespace {

constexpr int64_t kMin = ConstBound::kMin, kMax = ConstBound::kMax;

bool infinite(int64_t v) { return v == kMin || v == kMax; }

// Sum of two lower (or two upper) ends; `end` is the infinity of that side.
int64_t add_ends(int64_t a, int64_t b, int64_t end) {
  if (infinite(a) || infinite(b)) return end;
  int64_t r = 0;
  return __builtin_add_overflow(a, b, &r) ? end : r;
}

int64_t multiply_ends(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  const bool negative = (a < 0) != (b < 0);
  int64_t r = 0;
  if (infinite(a) || infinite(b) || __builtin_mul_overflow(a, b, &r)) return negative ? kMin : kMax;
  return r;
}

ConstBound type_bound(DType type) {
  if (type.is_bool()) return {0, 1};
  if (type.is_uint()) {
    return {0, type.bits >= 63 ? kMax : (int64_t{1} << type.bits) - 1};
  }
  if (type.is_int() && type.bits < 32) {
    return {-(int64_t{1} << (type.bits - 1)), (int64_t{1} << (type.bits - 1)) - 1};
  }
  return {};
}

ModularFact normalized(int64_t modulus, int64_t residue) {
  modulus = modulus < 0 ? -modulus : modulus;
  if (modulus != 0) residue = floor_remainder(residue, modulus);
  return {modulus, residue};
}

// Large numbers say nothing worth an overflow.
bool small(const ModularFact& f) {
  return f.modulus < (int64_t{1} << 31) && f.residue < (int64_t{1} << 31) &&
         f.residue > -(int64_t{1} << 31);
}

ModularFact join(ModularFact a, ModularFact b) {
  if (a == b) return a;
  if (!small(a) || !small(b)) return {};
  const int64_t m = gcd(gcd(a.modulus, b.modulus), a.residue - b.residue);
  return m <= 1 ? ModularFact{} : normalized(m, a.residue);
}

}  // namespace

int64_t gcd(int64_t a, int64_t b) {
  auto x = a < 0 ? -static_cast<uint64_t>(a) : static_cast<uint64_t>(a);
  auto y = b < 0 ? -static_cast<uint64_t>(b) : static_cast<uint64_t>(b);
  return static_cast<int64_t>(std::gcd(x, y));
}
int64_t floor_remainder(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}
ConstBound value_bound(DType type) {
  if (!type.is_int() || type.bits == 64) return type_bound(type);
  return {-(int64_t{1} << (type.bits - 1)), (int64_t{1} << (type.bits - 1)) - 1};
}

bool fits(DType type, int64_t value) {
  if (type.bits >= 64) return true;
  const int64_t limit = int64_t{1} << (type.bits - 1);
  return -limit <= value && value < limit;
}

ConstBound unite(ConstBound a, ConstBound b) {
  return {std::min(a.least, b.least), std::max(a.greatest, b.greatest)};
}
ConstBound intersect(ConstBound a, ConstBound b) {
  ConstBound r{std::max(a.least, b.least), std::min(a.greatest, b.greatest)};
  // Contradicting facts: the code is never reached, and either bound will do.
  return r.least <= r.greatest ? r : a;
}
ConstBound add(ConstBound a, ConstBound b) {
  return {add_ends(a.least, b.least, kMin), add_ends(a.greatest, b.greatest, kMax)};
}
ConstBound subtract(ConstBound a, ConstBound b) { return add(a, scale(b, -1)); }
ConstBound scale(ConstBound a, int64_t factor) {
  if (factor == 0) return {0, 0};
  const int64_t x = multiply_ends(a.least, factor), y = multiply_ends(a.greatest, factor);
  return factor > 0 ? ConstBound{x, y} : ConstBound{y, x};
}
ConstBound multiply(ConstBound a, ConstBound b) {
  const int64_t c[] = {multiply_ends(a.least, b.least), multiply_ends(a.least, b.greatest),
                       multiply_ends(a.greatest, b.least), multiply_ends(a.greatest, b.greatest)};
  return {*std::min_element(c, c + 4), *std::max_element(c, c + 4)};
}
ConstBound floor_divide(ConstBound a, int64_t divisor) {
  return {infinite(a.least) ? a.least : floor_quotient(a.least, divisor),
          infinite(a.greatest) ? a.greatest : floor_quotient(a.greatest, divisor)};
}

ConstBound Context::bound_from_facts(const ExprBase* e, ConstBound bound) const {
  for (const Fact& f : facts_) {
    if (f.expr->kind == e->kind && same(f.expr.get(), e)) bound = intersect(bound, f.bound);
  }
  return bound;
}

ConstBound Context::const_bound(const Expr& e) {
  switch (e->kind) {
    case NodeKind::IntImm: {
      const int64_t v = static_cast<const IntImm*>(e.get())->value;
      if (e.dtype().is_uint() && v < 0) return {0, kMax};
      return {v, v};
    }
    case NodeKind::Variable: {
      ConstBound bound = type_bound(e.dtype());
      if (auto it = vars_.find(Var(static_cast<const Variable*>(e.get()))); it != vars_.end()) {
        bound = intersect(bound, it->second.bound);
      }
      return facts_.empty() ? bound : bound_from_facts(e.get(), bound);
    }
    default:
      break;
  }
  if (const ConstBound* known = memory_.bounds.find(e.get())) return *known;
  const ConstBound type = type_bound(e.dtype());
  // The cache forgets, and what it forgets of a part that stands in many places is asked again.
  if (bound_depth_ == 0) bound_steps_ = kMostBoundSteps;
  if (--bound_steps_ < 0) return type;
  ++bound_depth_;
  ConstBound bound = compute_bound(e.get());
  --bound_depth_;
  if (e.dtype().is_uint() && (bound.least < type.least || bound.greatest > type.greatest)) {
    bound = type;  // wraps
  }
  bound = intersect(bound, type);
  if (!facts_.empty()) bound = bound_from_facts(e.get(), bound);
  memory_.bounds.insert(e, bound);
  return bound;
}

// a - b where both are quotients by one divisor and their dividends differ by little.
ConstBound Context::difference_bound(const Expr& a, const Expr& b) {
  const auto quotient = [](const Expr& e, int64_t& factor) -> const FloorDiv* {
    factor = 1;
    const Expr* inner = &e;
    if (const Mul* m = as<Mul>(e)) {
      auto c = as_const_int(m->b);
      if (!c || *c <= 0) return nullptr;
      factor = *c;
      inner = &m->a;
    }
    const FloorDiv* d = as<FloorDiv>(*inner);
    auto c = d ? as_const_int(d->b) : std::nullopt;
    return c && *c > 0 ? d : nullptr;
  };
  int64_t fa = 1, fb = 1;
  const FloorDiv *x = quotient(a, fa), *y = quotient(b, fb);
  if (!x || !y || fa != fb || *as_const_int(x->b) != *as_const_int(y->b)) return {};
  if (depth_ > 40) return {};
  const int64_t m = *as_const_int(x->b);
  const ConstBound d = const_bound(combine(NodeKind::Sub, x->a, y->a));
  // floor(u + d) - floor(u) lies between floor(d) and ceil(d).
  ConstBound r;
  if (!infinite(d.least)) r.least = floor_quotient(d.least, m);
  if (!infinite(d.greatest)) r.greatest = -floor_quotient(-d.greatest, m);
  return scale(r, fa);
}

ConstBound Context::compute_bound(const ExprBase* e) {
  if (is_binary(e->kind)) {
    const Operands o = operands(e);
    if (o.a.dtype().is_float() || o.a.dtype().is_handle()) return {};
    const ConstBound a = const_bound(o.a), b = const_bound(o.b);
    switch (e->kind) {
      case NodeKind::Add:
        return add(a, b);
      case NodeKind::Sub:
        return intersect(subtract(a, b), difference_bound(o.a, o.b));
      case NodeKind::Mul: {
        ConstBound r = multiply(a, b);
        if (same(o.a, o.b)) r.least = std::max<int64_t>(r.least, 0);
        return r;
      }
      case NodeKind::FloorDiv:
        if (b.least == b.greatest && b.least > 0) return floor_divide(a, b.least);
        if (b.least > 0) {
          // The quotient is nearer to zero, or -1, than the dividend.
          const int64_t low = a.least >= 0
                                  ? (infinite(b.greatest) ? 0
                                     : infinite(a.least)  ? 0
                                                          : a.least / b.greatest)
                                  : (infinite(a.least) ? kMin : floor_quotient(a.least, b.least));
          const int64_t high = infinite(a.greatest)   ? kMax
                               : a.greatest >= 0      ? a.greatest / b.least
                               : infinite(b.greatest) ? -1
                                                      : floor_quotient(a.greatest, b.greatest);
          return {low, high};
        }
        return {};
      case NodeKind::FloorMod:
        if (b.least > 0) {
          const int64_t top = infinite(b.greatest) ? kMax : b.greatest - 1;
          if (b.least == b.greatest && !infinite(a.least) && !infinite(a.greatest)) {
            const int64_t q = floor_quotient(a.least, b.least);
            if (q == floor_quotient(a.greatest, b.least)) {
              return {floor_remainder(a.least, b.least), floor_remainder(a.greatest, b.least)};
            }
          }
          // The remainder is a multiple of what dividend and divisor share.
          if (b.least == b.greatest && !infinite(b.least)) {
            const ModularFact f = modular(o.a);
            const int64_t g = f.modulus == 0 ? 1 : gcd(f.modulus, b.least);
            if (g > 1) {
              const int64_t r = floor_remainder(f.residue, g);
              const int64_t most = b.least - g + r;
              return {r, a.least >= 0 ? std::min(most, a.greatest) : most};
            }
          }
          return {0, a.least >= 0 ? std::min(top, a.greatest) : top};
        }
        return b.greatest < 0 ? ConstBound{infinite(b.least) ? kMin : b.least + 1, 0}
                              : ConstBound{};
      case NodeKind::Div:
        if (b.least == b.greatest && b.least > 0) {
          return {infinite(a.least) ? kMin : a.least / b.least,
                  infinite(a.greatest) ? kMax : a.greatest / b.least};
        }
        if (b.least > 0) return {std::min<int64_t>(a.least, 0), std::max<int64_t>(a.greatest, 0)};
        return {};
      case NodeKind::Mod: {
        if (infinite(b.least) || infinite(b.greatest)) {
          return {std::min<int64_t>(a.least, 0), std::max<int64_t>(a.greatest, 0)};
        }
        const int64_t top =
            std::max(b.greatest > 0 ? b.greatest : 0, b.least < 0 ? -b.least : 0) - 1;
        if (top < 0) return {};
        return {a.least >= 0 ? 0 : std::max(-top, a.least),
                a.greatest <= 0 ? 0 : std::min(top, a.greatest)};
      }
      case NodeKind::Min:
        return {std::min(a.least, b.least), std::min(a.greatest, b.greatest)};
      case NodeKind::Max:
        return {std::max(a.least, b.least), std::max(a.greatest, b.greatest)};
      case NodeKind::And:
        return {std::min(a.least, b.least), std::min(a.greatest, b.greatest)};
      case NodeKind::Or:
        return {std::max(a.least, b.least), std::max(a.greatest, b.greatest)};
      default:
        return {0, 1};
    }
  }
  switch (e->kind) {
    case NodeKind::Select: {
      const Select* s = static_cast<const Select*>(e);
      return unite(const_bound(s->true_value), const_bound(s->false_value));
    }
    case NodeKind::Call: {
      const Call* c = static_cast<const Call*>(e);
      if (c->name == "if_then_else") return unite(const_bound(c->args[1]), const_bound(c->args[2]));
      if (c->name == "likely") return const_bound(c->args[0]);
      if (c->name == "bitwise_and" && c->dtype.is_int()) {
        const ConstBound a = const_bound(c->args[0]), b = const_bound(c->args[1]);
        if (a.least >= 0 && b.least >= 0) return {0, std::min(a.greatest, b.greatest)};
        if (b.least >= 0) return {0, b.greatest};
        if (a.least >= 0) return {0, a.greatest};
      }
      if (c->name == "saturating_cast") {
        const ConstBound limits = value_bound(c->type);
        const DType from = c->args[0].dtype();
        if (from.is_float() || c->type.is_float()) return limits;
        const ConstBound v = const_bound(c->args[0]);
        return {std::clamp(v.least, limits.least, limits.greatest),
                std::clamp(v.greatest, limits.least, limits.greatest)};
      }
      return {};
    }
    case NodeKind::Cast: {
      const Cast* c = static_cast<const Cast*>(e);
      const DType from = c->value.dtype();
      if (!(from.is_integer() || from.is_bool()) || !(c->type.is_integer() || c->type.is_bool()))
        return {};
      const ConstBound v = const_bound(c->value);
      const ConstBound target = value_bound(c->type);
      // A value that does not fit wraps; one without bounds fits when its type does.
      const bool widens = from.is_int() == c->type.is_int() && from.bits <= c->type.bits;
      return widens || (target.least <= v.least && v.greatest <= target.greatest) ? v : target;
    }
    case NodeKind::Broadcast:
      return const_bound(static_cast<const Broadcast*>(e)->value);
    case NodeKind::Ramp: {
      const Ramp* r = static_cast<const Ramp*>(e);
      return add(const_bound(r->base), unite({0, 0}, scale(const_bound(r->stride), r->lanes - 1)));
    }
    case NodeKind::Let: {
      const Let* l = static_cast<const Let*>(e);
      bind_let(l->var, l->value);
      return const_bound(l->body);
    }
    default:
      return {};
  }
}

bool Context::is_nonzero(const Expr& e) {
  const auto excludes_zero = [](ConstBound b) { return b.least > 0 || b.greatest < 0; };
  if (excludes_zero(const_bound(e))) return true;
  if (const Broadcast* one = as<Broadcast>(e)) return is_nonzero(one->value);
  if (const Mul* product = as<Mul>(e)) return is_nonzero(product->a) && is_nonzero(product->b);
  // A factor of what is known not to be zero, as of the extent of a fused loop around.
  return std::ranges::any_of(facts_, [&](const Fact& f) {
    const NotEqual* n = as<NotEqual>(f.expr);
    return n != nullptr && f.bound.least == 1 && is_zero(n->b) && without_factor(n->a, e).defined();
  });
}

ModularFact Context::modular(const Expr& e) {
  if (e->refs.unique() || is<Variable>(e) || is<IntImm>(e)) return compute_modular(e.get());
  if (const ModularFact* known = memory_.modulars.find(e.get())) return *known;
  const ModularFact fact = compute_modular(e.get());
  memory_.modulars.insert(e, fact);
  return fact;
}

ModularFact Context::compute_modular(const ExprBase* e) {
  if (!e->dtype.is_int() && !e->dtype.is_uint()) return {};
  const auto of = [&](const Expr& x) { return modular(x); };
  const auto checked = [](ModularFact f) { return small(f) ? f : ModularFact{}; };
  switch (e->kind) {
    case NodeKind::IntImm:
      return {0, static_cast<const IntImm*>(e)->value};
    case NodeKind::Variable: {
      auto it = vars_.find(Var(static_cast<const Variable*>(e)));
      return it == vars_.end() ? ModularFact{} : it->second.modular;
    }
    case NodeKind::Broadcast:
      return of(static_cast<const Broadcast*>(e)->value);
    case NodeKind::Ramp: {
      const Ramp* r = static_cast<const Ramp*>(e);
      const ModularFact base = of(r->base), stride = of(r->stride);
      if (!small(base) || !small(stride)) return {};
      return join(base,
                  normalized(gcd(base.modulus, gcd(stride.modulus, stride.residue)), base.residue));
    }
    case NodeKind::Select: {
      const Select* s = static_cast<const Select*>(e);
      return join(of(s->true_value), of(s->false_value));
    }
    case NodeKind::Let: {
      const Let* l = static_cast<const Let*>(e);
      bind_let(l->var, l->value);
      return of(l->body);
    }
    case NodeKind::Cast: {
      const Cast* c = static_cast<const Cast*>(e);
      const DType from = c->value.dtype();
      return from.is_int() && c->type.is_int() && from.bits <= c->type.bits ? of(c->value)
                                                                            : ModularFact{};
    }
    case NodeKind::Call: {
      const Call* c = static_cast<const Call*>(e);
      return c->name == "if_then_else" ? join(of(c->args[1]), of(c->args[2])) : ModularFact{};
    }
    default:
      break;
  }
  if (!is_binary(e->kind) || e->dtype.is_uint()) return {};
  const Operands o = operands(e);
  switch (e->kind) {
    case NodeKind::Add:
    case NodeKind::Sub: {
      const ModularFact a = of(o.a), b = of(o.b);
      if (!small(a) || !small(b)) return {};
      return normalized(gcd(a.modulus, b.modulus),
                        e->kind == NodeKind::Add ? a.residue + b.residue : a.residue - b.residue);
    }
    case NodeKind::Mul: {
      const ModularFact a = of(o.a), b = of(o.b);
      if (!small(a) || !small(b)) return {};
      // (m x + r)(n y + s) = mn xy + ms x + nr y + rs
      const int64_t m =
          gcd(a.modulus * b.modulus, gcd(a.modulus * b.residue, b.modulus * a.residue));
      return checked(normalized(m, a.residue * b.residue));
    }
    case NodeKind::FloorDiv:
    case NodeKind::Div: {
      auto c = as_const_int(o.b);
      if (!c || *c <= 0) return {};
      const ModularFact a = of(o.a);
      if (a.modulus == 0) {
        return {0, e->kind == NodeKind::Div ? a.residue / *c : floor_quotient(a.residue, *c)};
      }
      if (a.modulus % *c != 0) return {};
      // (m k + r) / c with c | m; truncation agrees only for an exact or non-negative dividend.
      if (e->kind == NodeKind::Div && a.residue % *c != 0 && const_bound(o.a).least < 0) return {};
      return normalized(a.modulus / *c, floor_quotient(a.residue, *c));
    }
    case NodeKind::FloorMod:
    case NodeKind::Mod: {
      auto c = as_const_int(o.b);
      if (!c || *c <= 0) return {};
      const ModularFact a = of(o.a);
      if (a.modulus == 0) {
        return {0, e->kind == NodeKind::Mod ? a.residue % *c : floor_remainder(a.residue, *c)};
      }
      if (e->kind == NodeKind::FloorMod && a.modulus % *c == 0) {
        return {0, floor_remainder(a.residue, *c)};
      }
      const int64_t g = gcd(a.modulus, *c);
      return g <= 1 ? ModularFact{} : normalized(g, a.residue);
    }
    case NodeKind::Min:
    case NodeKind::Max:
      return join(of(o.a), of(o.b));
    default:
      return {};
  }
}

}  // namespace tw::arithmetic
