// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "ir/print.h"

namespace tw {
namespace {

class Bounds : public ::testing::Test {
 protected:
  Var x{"x"}, n{"n"}, i{"i"}, j{"j"};  // i in [0, 11), j in [-4, 5)
  Analyzer analyzer;
  Bounds() {
    analyzer.bind(i, Range{0, 11});
    analyzer.bind(j, Range{-4, 9});
  }
  void expect(const Expr& e, int64_t least, int64_t greatest) {
    const ConstBound b = analyzer.const_bound(e);
    EXPECT_EQ(b.least, least) << to_string(e);
    EXPECT_EQ(b.greatest, greatest) << to_string(e);
  }
  static constexpr int64_t kMin = ConstBound::kMin, kMax = ConstBound::kMax;
};

TEST_F(Bounds, Arithmetic) {
  expect(x, kMin, kMax);
  expect(i * 3 + j, -4, 34);
  expect(i - j, -4, 14);
  expect(i * j, -40, 40);
  expect(x + i - x, 0, 10);
  expect(max(x, i), 0, kMax);
  expect(min(x, i), kMin, 10);
  expect(select(x < 3, i, j), -4, 10);
  expect(cast(int_type(64), i) * 2, 0, 20);
}

TEST_F(Bounds, Division) {
  expect(floor_div(j, 3), -2, 1);
  expect(trunc_div(j, 3), -1, 1);
  expect(floor_mod(x, 7), 0, 6);
  expect(floor_mod(i, 32), 0, 10);
  expect(floor_mod(i + 32, 64), 32, 42);
  expect(trunc_mod(j, 3), -2, 2);
  expect(floor_mod(x * 4 + 1, 16), 1, 13);
  // A block of eight touches one or two rows of fourteen.
  expect(floor_div(x * 8 + 7, 14) - floor_div(x * 8, 14) + 1, 1, 2);
}

TEST_F(Bounds, Types) {
  expect(make(Load{.type = int_type(8), .buffer = buffer_var("b", int_type(8)), .index = i}), -128,
         127);
  expect(Var("u", uint_type(8)), 0, 255);
  expect(Var("p", bool_type()), 0, 1);
  expect(Var("u", uint_type(8)) + make_const(uint_type(8), 1), 0, 255);
}

TEST_F(Bounds, SaturatingCasts) {
  expect(saturating_cast(int_type(8), x), -128, 127);
  expect(saturating_cast(uint_type(8), x), 0, 255);
  expect(saturating_cast(uint_type(8), i * 40), 0, 255);
  expect(saturating_cast(int_type(8), i * 20 - 30), -30, 127);
  expect(saturating_cast(int_type(32), Var("big", int_type(64))), INT32_MIN, INT32_MAX);
  expect(saturating_cast(int_type(8), Var("r", float_type(32))), -128, 127);
}

TEST_F(Bounds, Facts) {
  const auto scope = analyzer.assume(x * 2 < 10 && n - x >= 3);
  expect(x, kMin, 4);
  expect(x - n, kMin, -3);
  expect(n - x + 1, 4, kMax);
}

TEST_F(Bounds, SymbolicRangesProve) {
  const Var k("k");
  analyzer.bind(k, Range{0, n});
  EXPECT_TRUE(analyzer.can_prove(k < n));
  EXPECT_TRUE(analyzer.can_prove(k * 2 < n * 2));
  EXPECT_FALSE(analyzer.can_prove(k < n - 1));
}

TEST_F(Bounds, ModularFacts) {
  const auto expect_fact = [&](const Expr& e, int64_t modulus, int64_t residue) {
    const ModularFact f = analyzer.modular(e);
    EXPECT_EQ(f.modulus, modulus) << to_string(e);
    EXPECT_EQ(f.residue, residue) << to_string(e);
  };
  expect_fact(x, 1, 0);
  expect_fact(x * 4 + 3, 4, 3);
  expect_fact(x * 4 - 1, 4, 3);
  expect_fact(x * 4 + n * 6, 2, 0);
  expect_fact((x * 4) * (n * 6), 24, 0);
  expect_fact(floor_div(x * 12 + 4, 4), 3, 1);
  expect_fact(floor_mod(x * 12 + 4, 8), 4, 0);
  expect_fact(select(n < 3, x * 8, x * 4 + 2), 2, 0);
  expect_fact(7, 0, 7);
  EXPECT_TRUE(analyzer.can_prove(x * 4 + 1 != 2));
}

}  // namespace
}  // namespace tw
