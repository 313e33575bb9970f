// SPDX-License-Identifier: Apache-2.0
#include "autotune/cost/index_sum.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

#include "ir/expr.h"
#include "ir/print.h"
#include "tests/support/fuzz.h"

namespace tw::autotune {
namespace {

using Values = std::map<const ExprBase*, int64_t>;

int64_t quotient(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
int64_t remainder(int64_t a, int64_t b) { return a - quotient(a, b) * b; }

int64_t value(const IndexSum& sum, const Values& values) {
  int64_t total = sum.constant;
  for (const IndexSum::Term& t : sum.terms) {
    int64_t x = t.of ? quotient(value(*t.of, values), t.divisor) : values.at(t.atom.get());
    if (t.of && t.modulus > 0) x = remainder(x, t.modulus);
    total += t.coefficient * x;
  }
  return total;
}

int64_t value(const Expr& e, const Values& values) {
  if (const IntImm* i = as<IntImm>(e)) return i->value;
  if (is<Variable>(e)) return values.at(e.get());
  const auto at = [&](const auto* op, auto f) {
    return f(value(op->a, values), value(op->b, values));
  };
  if (const Add* op = as<Add>(e)) return at(op, std::plus<>());
  if (const Sub* op = as<Sub>(e)) return at(op, std::minus<>());
  if (const Mul* op = as<Mul>(e)) return at(op, std::multiplies<>());
  if (const FloorDiv* op = as<FloorDiv>(e)) return at(op, quotient);
  return at(as<FloorMod>(e), remainder);
}

class IndexSumTest : public testing::Test {
 protected:
  Var p{"p", int_type(32)}, q{"q", int_type(32)};
  static Expr number(int64_t n) { return make_const(int_type(32), n); }
  static Expr div(const Expr& a, int64_t b) { return floor_div(a, number(b)); }
  static Expr mod(const Expr& a, int64_t b) { return floor_mod(a, number(b)); }
};

TEST_F(IndexSumTest, QuotientAndRemainderAreTheWhole) {
  int divisions = 0;
  const IndexSum sum = index_sum(div(p, 56) * number(56) + mod(p, 56) + number(3), &divisions);
  EXPECT_EQ(divisions, 2);
  EXPECT_EQ(sum.digits(), 0);
  ASSERT_EQ(sum.terms.size(), 1u);
  EXPECT_TRUE(sum.terms[0].atom.same_as(Expr(p)));
  EXPECT_EQ(sum.terms[0].coefficient, 1);
  EXPECT_EQ(sum.constant, 3);
}

TEST_F(IndexSumTest, ThreeFusedLoopsAreOneDimension) {
  const IndexSum rows = joined(index_sum(mod(div(p, 7), 5)), 7, index_sum(mod(p, 7)));
  EXPECT_EQ(rows.digits(), 2) << "below other digits they stay row and column";
  const IndexSum outer = joined(index_sum(div(div(p, 7), 5)), 5, index_sum(mod(div(p, 7), 5)));
  EXPECT_EQ(outer.digits(), 1);
  EXPECT_EQ(joined(outer, 7, index_sum(mod(p, 7))).digits(), 0);
}

TEST_F(IndexSumTest, WhatTheDivisorDividesLeavesTheDigit) {
  const IndexSum sum =
      index_sum(div(p * number(16) + q, 8) * number(8) + mod(p * number(16) + q, 8));
  EXPECT_EQ(sum.digits(), 0);
  EXPECT_EQ(index_sum(mod(p * number(16) + number(3), 8)).constant, 3);
  EXPECT_EQ(index_sum(mod(p * number(16) + number(3), 8)).terms.size(), 0u);
  EXPECT_EQ(index_sum(p - p).terms.size(), 0u);
}

// Sums are what the expressions are, for any values of the variables, negative ones too.
TEST_F(IndexSumTest, EqualsItsExpression) {
  test::FuzzCases cases(2000, 1);
  int joins = 0;
  while (cases.next()) {
    std::mt19937_64 rng(cases.seed());
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(rng() % static_cast<uint64_t>(n));
    };
    const std::function<Expr(int)> random = [&](int levels) -> Expr {
      const int64_t kind = levels == 0 ? 0 : below(6);
      if (kind == 0) return below(4) == 0 ? number(below(9) - 4) : Expr(below(2) == 0 ? p : q);
      const Expr a = random(levels - 1);
      const int64_t factor = int64_t{1} << below(4);
      if (kind == 1) return a + random(levels - 1);
      if (kind == 2) return a - random(levels - 1);
      if (kind == 3) return a * number(factor);
      if (kind == 4) return floor_div(a, number(factor + below(2)));
      const Expr divisor = number(factor + below(2));
      // Of the same sum, as loops that were fused give them.
      return floor_div(a, divisor) * divisor + floor_mod(a, divisor);
    };
    const Expr e = random(4);
    int divisions = 0;
    const IndexSum sum = index_sum(e, &divisions);
    EXPECT_LE(sum.digits(), divisions) << to_string(e);
    joins += sum.digits() < divisions ? 1 : 0;
    for (int k = 0; k < 20; ++k) {
      const Values values{{p.get(), below(400) - 100}, {q.get(), below(400) - 100}};
      ASSERT_EQ(value(sum, values), value(e, values)) << to_string(e);
    }
  }
  EXPECT_GT(joins, cases.cases() / 5);
}

}  // namespace
}  // namespace tw::autotune
