// SPDX-License-Identifier: Apache-2.0
#include "autotune/cost/index_sum.h"

#include <algorithm>

#include "ir/expr.h"

namespace tw::autotune {
namespace {

using Term = IndexSum::Term;

bool same(const IndexSum& a, const IndexSum& b);

bool same_atom(const Term& a, const Term& b) {
  if (a.of == nullptr || b.of == nullptr) return a.atom.same_as(b.atom) && a.of == b.of;
  return a.divisor == b.divisor && a.modulus == b.modulus && same(*a.of, *b.of);
}

bool same(const IndexSum& a, const IndexSum& b) {
  if (&a == &b) return true;
  return a.constant == b.constant && a.terms.size() == b.terms.size() &&
         std::ranges::all_of(a.terms, [&](const Term& t) {
           return std::ranges::any_of(b.terms, [&](const Term& other) {
             return t.coefficient == other.coefficient && same_atom(t, other);
           });
         });
}

void add_term(IndexSum& sum, Term term) {
  for (Term& known : sum.terms) {
    if (!same_atom(known, term)) continue;
    known.coefficient += term.coefficient;
    if (known.coefficient == 0) sum.terms.erase(sum.terms.begin() + (&known - sum.terms.data()));
    return;
  }
  sum.terms.push_back(std::move(term));
}

void add_sum(IndexSum& sum, const IndexSum& other, int64_t scale) {
  sum.constant += scale * other.constant;
  for (Term t : other.terms) {
    t.coefficient *= scale;
    add_term(sum, std::move(t));
  }
}

// Whether `high` is all that stands above `low`: (p//(a*b))*b + (p//a)%b. Where something stands
// above `high` too, the two stay apart: in a tensor they are rows and columns of a box, which one
// long row would not show.
bool follows(const Term& high, const Term& low) {
  return high.of && low.of && high.modulus == 0 && low.modulus > 0 &&
         high.divisor == low.divisor * low.modulus &&
         high.coefficient == low.coefficient * low.modulus && same(*high.of, *low.of);
}

// Joins digits until no two follow one another.
void join_digits(IndexSum& sum) {
  for (size_t i = 0; i < sum.terms.size();) {
    const auto high = std::ranges::find_if(
        sum.terms, [&](const Term& other) { return follows(other, sum.terms[i]); });
    if (high == sum.terms.end()) {
      ++i;
      continue;
    }
    Term both = sum.terms[i];
    both.modulus = 0;
    const size_t other = static_cast<size_t>(high - sum.terms.begin());
    for (size_t gone : {std::max(i, other), std::min(i, other)}) {
      sum.terms.erase(sum.terms.begin() + static_cast<std::ptrdiff_t>(gone));
    }
    if (both.divisor == 1) {
      add_sum(sum, *both.of, both.coefficient);
    } else {
      add_term(sum, std::move(both));
    }
    i = 0;
  }
}

// What the divisor does not divide, term by term; `whole`, if there, gets the quotient of the rest.
IndexSum rest_of(const IndexSum& sum, int64_t divisor, int64_t scale, IndexSum* whole) {
  IndexSum rest;
  const int64_t quotient = floor_quotient(sum.constant, divisor);
  rest.constant = sum.constant - quotient * divisor;
  if (whole) whole->constant += scale * quotient;
  for (Term t : sum.terms) {
    if (t.coefficient % divisor != 0) {
      rest.terms.push_back(std::move(t));
    } else if (whole) {
      t.coefficient = t.coefficient / divisor * scale;
      add_term(*whole, std::move(t));
    }
  }
  return rest;
}

// The digit that the sum is, if it is no more than one.
const Term* only_digit(const IndexSum& sum) {
  const bool one = sum.terms.size() == 1 && sum.constant == 0 && sum.terms[0].coefficient == 1;
  return one && sum.terms[0].of ? &sum.terms[0] : nullptr;
}

void add_quotient(IndexSum& sum, const IndexSum& numerator, int64_t divisor, int64_t scale) {
  IndexSum rest = rest_of(numerator, divisor, scale, &sum);
  if (rest.terms.empty()) return;
  if (const Term* digit = only_digit(rest); digit && digit->modulus % divisor == 0) {
    if (digit->modulus == divisor) return;  // less than the divisor
    add_term(sum, {.of = digit->of,
                   .divisor = digit->divisor * divisor,
                   .modulus = digit->modulus / divisor,
                   .coefficient = scale});
  } else {
    add_term(sum, {.of = std::make_shared<IndexSum>(std::move(rest)),
                   .divisor = divisor,
                   .coefficient = scale});
  }
}

void add_remainder(IndexSum& sum, const IndexSum& numerator, int64_t divisor, int64_t scale) {
  IndexSum rest = rest_of(numerator, divisor, scale, nullptr);
  if (rest.terms.empty()) {
    sum.constant += scale * rest.constant;
    return;
  }
  const Term* digit = only_digit(rest);
  if (digit && (digit->modulus % divisor == 0 || divisor % digit->modulus == 0)) {
    const int64_t least = digit->modulus == 0 ? divisor : std::min(digit->modulus, divisor);
    add_term(sum,
             {.of = digit->of, .divisor = digit->divisor, .modulus = least, .coefficient = scale});
  } else {
    add_term(sum, {.of = std::make_shared<IndexSum>(std::move(rest)),
                   .modulus = divisor,
                   .coefficient = scale});
  }
}

struct Builder {
  int divisions = 0;

  IndexSum sum_of(const Expr& e) {
    IndexSum sum;
    add(sum, e, 1);
    join_digits(sum);
    return sum;
  }

 private:
  void add(IndexSum& sum, const Expr& e, int64_t scale) {
    switch (e->kind) {
      case NodeKind::IntImm:
        sum.constant += scale * as<IntImm>(e)->value;
        return;
      case NodeKind::Add:
        add(sum, as<Add>(e)->a, scale);
        add(sum, as<Add>(e)->b, scale);
        return;
      case NodeKind::Sub:
        add(sum, as<Sub>(e)->a, scale);
        add(sum, as<Sub>(e)->b, -scale);
        return;
      case NodeKind::Cast:
        add(sum, as<Cast>(e)->value, scale);
        return;
      case NodeKind::Mul: {
        const Mul* mul = as<Mul>(e);
        if (const auto b = as_const_int(mul->b)) return add(sum, mul->a, scale * *b);
        if (const auto a = as_const_int(mul->a)) return add(sum, mul->b, scale * *a);
        break;
      }
      case NodeKind::FloorDiv: {
        const FloorDiv* div = as<FloorDiv>(e);
        if (const auto b = as_const_int(div->b); b && *b > 0) {
          ++divisions;
          return add_quotient(sum, sum_of(div->a), *b, scale);
        }
        break;
      }
      case NodeKind::FloorMod: {
        const FloorMod* mod = as<FloorMod>(e);
        if (const auto b = as_const_int(mod->b); b && *b > 0) {
          ++divisions;
          return add_remainder(sum, sum_of(mod->a), *b, scale);
        }
        break;
      }
      default:
        break;
    }
    add_term(sum, {.atom = e, .coefficient = scale});
  }
};

}  // namespace

int IndexSum::digits() const {
  int n = 0;
  for (const Term& t : terms) n += t.of ? 1 + t.of->digits() : 0;
  return n;
}

IndexSum index_sum(const Expr& e, int* divisions) {
  Builder builder;
  IndexSum sum = builder.sum_of(e);
  if (divisions) *divisions = builder.divisions;
  return sum;
}

IndexSum joined(const IndexSum& outer, int64_t extent, const IndexSum& inner) {
  IndexSum sum;
  add_sum(sum, outer, extent);
  add_sum(sum, inner, 1);
  join_digits(sum);
  return sum;
}

}  // namespace tw::autotune
