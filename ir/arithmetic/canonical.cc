// SPDX-License-Identifier: Apache-2.0
// Sums of products. A polynomial is expanded in full; where that leaves fewer terms than the nested
// form the flat form replaces it, otherwise the nested form stays.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ir/arithmetic/context.h"
#include "ir/equal.h"
#include "ir/visit.h"

namespace tw::arithmetic {
namespace {

constexpr size_t kMaxMonomials = 64, kMaxFactors = 8;
constexpr int kMaxSteps = 4096;  // terms cancel in sums of equal sums, so that monomials stay few

struct Monomial {
  std::vector<size_t> factors;  // numbers of atoms, sorted; empty for the constant
  std::vector<size_t> written;  // the same, as they were written
  int64_t coefficient = 0;
};
using Polynomial = std::vector<Monomial>;

// A polynomial over atoms, which are what is neither a sum nor a product; equal ones have one
// number.
class Expansion {
 public:
  const Expr& atom(size_t number) const { return atoms_[number]; }

  // Adds coefficient * e; false when it becomes too large.
  bool expand(const Expr& e, int64_t coefficient, Polynomial& result) {
    if (--steps_left_ < 0) return false;
    switch (e->kind) {
      case NodeKind::IntImm: {
        Monomial m;
        if (__builtin_mul_overflow(static_cast<const IntImm*>(e.get())->value, coefficient,
                                   &m.coefficient)) {
          return false;
        }
        return add(result, std::move(m));
      }
      case NodeKind::Add:
      case NodeKind::Sub: {
        const Operands o = operands(e.get());
        return expand(o.a, coefficient, result) &&
               expand(o.b, e->kind == NodeKind::Add ? coefficient : -coefficient, result);
      }
      case NodeKind::Mul: {
        const Operands o = operands(e.get());
        Polynomial a, b;
        if (!expand(o.a, coefficient, a) || !expand(o.b, 1, b)) return false;
        for (const Monomial& x : a) {
          for (const Monomial& y : b) {
            if (!add_product(result, x, y)) return false;
          }
        }
        return true;
      }
      default: {
        const size_t number = number_of(e);
        return add(result, Monomial{{number}, {number}, coefficient});
      }
    }
  }

 private:
  static bool add(Polynomial& p, Monomial m) {
    for (Monomial& x : p) {
      if (x.factors == m.factors)
        return !__builtin_add_overflow(x.coefficient, m.coefficient, &x.coefficient);
    }
    p.push_back(std::move(m));
    return p.size() <= kMaxMonomials;
  }
  static bool add_product(Polynomial& p, const Monomial& x, const Monomial& y) {
    Monomial m;
    if (__builtin_mul_overflow(x.coefficient, y.coefficient, &m.coefficient)) return false;
    if (x.factors.size() + y.factors.size() > kMaxFactors) return false;
    m.written = x.written;
    m.written.insert(m.written.end(), y.written.begin(), y.written.end());
    m.factors = m.written;
    std::ranges::sort(m.factors);
    return add(p, std::move(m));
  }
  size_t number_of(const Expr& e) {
    for (size_t k = 0; k < atoms_.size(); ++k) {
      if (same(atoms_[k], e)) return k;
    }
    atoms_.push_back(e);
    return atoms_.size() - 1;
  }

  std::vector<Expr> atoms_;
  int steps_left_ = kMaxSteps;
};

// Operations of a sum, counted as its text would show them.
size_t count_operations(const ExprBase* e) {
  if (e->kind != NodeKind::Add && e->kind != NodeKind::Sub && e->kind != NodeKind::Mul) return 1;
  const Operands o = operands(e);
  return count_operations(o.a.get()) + count_operations(o.b.get());
}

class Canonical : public Mutator {
 public:
  explicit Canonical(Context& context) : context_(context) {}

 protected:
  using Mutator::on;
  Expr sum(const Expr& next) {
    if (!next.dtype().is_int() || next.dtype().lanes != 1) return next;
    Expr flat = context_.expand(next);
    return flat.defined() ? flat : next;
  }
  template <class T>
  Expr on_sum(const T& op, const Expr& self) {
    return once(self, [&] { return sum_of(op, self); });
  }
  template <class T>
  Expr sum_of(const T& op, const Expr& self) {
    const bool outermost = !inside_;
    const bool saved = inside_;
    inside_ = true;
    Expr next = Mutator::on(op, self);
    inside_ = saved;
    return outermost ? sum(next) : next;
  }
  Expr on(const Add& op, const Expr& self) override { return on_sum(op, self); }
  Expr on(const Sub& op, const Expr& self) override { return on_sum(op, self); }
  Expr on(const Mul& op, const Expr& self) override { return on_sum(op, self); }
#define OPAQUE(Name)                                    \
  Expr on(const Name& op, const Expr& self) override {  \
    return once(self, [&] {                             \
      const bool saved = std::exchange(inside_, false); \
      Expr next = Mutator::on(op, self);                \
      inside_ = saved;                                  \
      return next;                                      \
    });                                                 \
  }
  // clang-format off
  OPAQUE(FloorDiv)
  OPAQUE(FloorMod)
  OPAQUE(Div)
  OPAQUE(Mod)
  OPAQUE(Min)
  OPAQUE(Max)
  OPAQUE(Load)
  OPAQUE(Select)
  OPAQUE(Call)
  OPAQUE(Cast)
  OPAQUE(ProducerLoad)
  OPAQUE(Ramp)
  OPAQUE(Broadcast)
  OPAQUE(Reduce)
  // clang-format on
#undef OPAQUE
  Expr on(const Let& op, const Expr& self) override {
    return once(self, [&] {
      const Expr value = mutate(op.value);
      context_.bind_let(op.var, value);
      const Expr body = mutate(op.body);
      if (value.same_as(op.value) && body.same_as(op.body)) return self;
      return make(Let{.var = op.var, .value = value, .body = body});
    });
  }
  template <class T>
  Expr on_comparison(const T& op, const Expr& self) {
    return once(self, [&] { return comparison(op, self); });
  }
  template <class T>
  Expr comparison(const T& op, const Expr& self) {
    Expr next = Mutator::on(op, self);
    const T* c = as<T>(next);
    if (!c || !c->a.dtype().is_int() || c->a.dtype().lanes != 1) return next;
    Expr difference = context_.expand(context_.combine(NodeKind::Sub, c->a, c->b));
    if (!difference.defined()) return next;
    return context_.combine(T::node_kind, difference, make_zero(difference.dtype()));
  }
  Expr on(const Less& op, const Expr& self) override { return on_comparison(op, self); }
  Expr on(const LessEqual& op, const Expr& self) override { return on_comparison(op, self); }
  Expr on(const Equal& op, const Expr& self) override { return on_comparison(op, self); }
  Expr on(const NotEqual& op, const Expr& self) override { return on_comparison(op, self); }

 private:
  // What stands in several places is expanded once as an outermost sum, and once inside of sums.
  template <class F>
  Expr once(const Expr& self, F expanded) {
    if (++visits_ <= kVisitsBeforeMemory || self->refs.unique()) return expanded();
    auto& known = known_[inside_ ? 1 : 0];
    if (const auto found = known.find(self.get()); found != known.end()) return found->second;
    Expr result = expanded();
    known.emplace(self.get(), result);
    return result;
  }

  Context& context_;
  bool inside_ = false;
  int visits_ = 0;
  std::unordered_map<const ExprBase*, Expr> known_[2];
};

}  // namespace

Expr Context::expand(const Expr& e) {
  Polynomial p;
  Expansion expansion;
  if (!expansion.expand(e, 1, p)) return {};
  size_t operations = 0;
  for (const Monomial& m : p) {
    if (m.coefficient == 0) continue;
    operations +=
        m.factors.size() + (m.factors.empty() || (m.coefficient != 1 && m.coefficient != -1));
  }
  if (operations >= count_operations(e.get())) return {};
  Sum sum;
  for (const Monomial& m : p) {
    if (m.coefficient == 0) continue;
    if (m.factors.empty()) {
      sum.constant = m.coefficient;
      continue;
    }
    Expr atom = expansion.atom(m.written[0]);
    for (size_t i = 1; i < m.written.size(); ++i) {
      atom = combine(NodeKind::Mul, atom, expansion.atom(m.written[i]));
    }
    sum.terms.push_back({atom, m.coefficient});
  }
  return rebuild(sum, e.dtype());
}

Expr Context::canonical_simplify(const Expr& e) {
  if (!e.defined()) return e;
  Expr result = simplify(e);
  for (int round = 0; round < 3; ++round) {
    Expr next = Canonical(*this).mutate(result);
    if (next.same_as(result)) break;
    next = simplify(next);
    if (same(next, result)) break;
    result = next;
  }
  return result;
}

}  // namespace tw::arithmetic
