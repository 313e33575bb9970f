// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/arithmetic/analyzer.h"
#include "ir/arithmetic/interval.h"
#include "ir/expr.h"
#include "ir/print.h"

namespace tw {
namespace {

std::string text(const Expr& e) { return e.defined() ? to_string(e) : "?"; }
std::string text(const Interval& i) { return "[" + text(i.least) + ", " + text(i.greatest) + "]"; }
std::string region(const Interval& i) {
  const Range r = i.range();
  return text(r.min) + " : " + text(r.extent);
}

class Intervals : public ::testing::Test {
 protected:
  Var x{"x"}, y{"y"}, n{"n"}, m{"m"}, f{"f"}, fo{"fo"}, k{"k"}, i{"i"};
};

TEST_F(Intervals, Affine) {
  const IntervalMap relaxed{{k, {0, 4}}};
  EXPECT_EQ(text(evaluate_interval(x + k, relaxed)), "[x, (x + 4)]");
  EXPECT_EQ(text(evaluate_interval(x * 2 - k * 3 + 1, relaxed)), "[((x*2) + -11), ((x*2) + 1)]");
  EXPECT_EQ(text(evaluate_interval(x * 2, relaxed)), "[(x*2), (x*2)]");
  EXPECT_TRUE(evaluate_interval(x * 2, relaxed).is_single());
  EXPECT_EQ(text(evaluate_interval(k - k, relaxed)), "[0, 0]");
}

TEST_F(Intervals, SplitAxesRelaxedTogether) {
  const Var outer("i.outer"), inner("i.inner");
  const IntervalMap both{{outer, {0, 6}}, {inner, {0, 15}}};
  EXPECT_EQ(text(evaluate_interval(outer * 16 + inner, both)), "[0, 111]");
  EXPECT_EQ(text(evaluate_interval(floor_div(outer * 16 + inner, 16), both)), "[0, 6]");
  const IntervalMap one{{inner, {0, 15}}};
  EXPECT_EQ(region(evaluate_interval(outer * 16 + inner + k, one)), "((i.outer*16) + k) : 16");
}

TEST_F(Intervals, FusedAxes) {
  // One whole row of three.
  const IntervalMap row{{f, {fo * 3, fo * 3 + 2}}, {k, {0, 4}}};
  EXPECT_EQ(region(evaluate_interval(floor_div(f, 3), row)), "fo : 1");
  EXPECT_EQ(region(evaluate_interval(floor_mod(f, 3) * 2 + k, row)), "0 : 9");
  const IntervalMap point{{f, Interval::single(fo)}, {k, {0, 4}}};
  EXPECT_EQ(text(evaluate_interval(floor_div(f, 3), point)), "[floordiv(fo, 3), floordiv(fo, 3)]");
  EXPECT_EQ(region(evaluate_interval(floor_mod(f, 3) * 2 + k, point)), "(floormod(fo, 3)*2) : 5");
  // Two rows of three: whole rows again.
  const IntervalMap rows{{f, {fo * 6, fo * 6 + 5}}};
  EXPECT_EQ(region(evaluate_interval(floor_div(f, 3), rows)), "(fo*2) : 2");
  EXPECT_EQ(text(evaluate_interval(floor_mod(f, 3), rows)), "[0, 2]");
  // A half row: the remainder stays within it.
  const IntervalMap half{{f, {fo * 2, fo * 2 + 1}}};
  EXPECT_EQ(region(evaluate_interval(floor_div(f, 4), half)), "floordiv(fo, 2) : 1");
  EXPECT_EQ(region(evaluate_interval(floor_mod(f, 4), half)), "(floormod(fo, 2)*2) : 2");
  // Blocks that do not fit the rows.
  const IntervalMap skewed{{f, {fo * 8, fo * 8 + 7}}};
  const Interval rows_of_14 = evaluate_interval(floor_div(f, 14), skewed);
  Analyzer analyzer;
  EXPECT_EQ(analyzer.const_bound(rows_of_14.range().extent), (ConstBound{1, 2}));
}

TEST_F(Intervals, SymbolicEnds) {
  const IntervalMap relaxed{{i, {0, n - 1}}, {k, {0, m - 1}}};
  EXPECT_EQ(text(evaluate_interval(i + k, relaxed)), "[0, ((n + m) + -2)]");
  EXPECT_EQ(text(evaluate_interval(i - k, relaxed)), "[(1 - m), (n + -1)]");
  EXPECT_EQ(region(evaluate_interval(i * m + k, relaxed)), "0 : (n*m)");
  EXPECT_EQ(region(Interval::of(Range{x, n})), "x : n");
}

TEST_F(Intervals, ChoicesAndComparisons) {
  const IntervalMap relaxed{{k, {0, 12}}};
  EXPECT_EQ(text(evaluate_interval(max(k, 4), relaxed)), "[4, 12]");
  EXPECT_EQ(text(evaluate_interval(min(k, x), relaxed)), "[min(x, 0), min(x, 12)]");
  EXPECT_EQ(text(evaluate_interval(select(x < 3, k, k + 5), relaxed)), "[0, 17]");
  EXPECT_EQ(text(evaluate_interval(k < 13, relaxed)), "[(bool)1, (bool)1]");
  EXPECT_EQ(text(evaluate_interval(k < 5, relaxed)), "[(bool)0, (bool)1]");
  // The sides of if_then_else are seen under its condition.
  EXPECT_EQ(text(evaluate_interval(if_then_else(k >= 2 && k < 11, k - 2, 0), relaxed)), "[0, 8]");
}

TEST_F(Intervals, WhatIsUnknown) {
  const IntervalMap relaxed{{k, {0, 12}}};
  const Var table = buffer_var("table", int_type(32));
  const auto load = [&](const Expr& index) {
    return make(Load{.type = int_type(32), .buffer = table, .index = index});
  };
  EXPECT_EQ(text(evaluate_interval(load(k), relaxed)), "[?, ?]");
  EXPECT_TRUE(evaluate_interval(load(x), relaxed).is_single());
  EXPECT_EQ(text(evaluate_interval(floor_mod(load(k), 4), relaxed)), "[0, 3]");
  EXPECT_EQ(text(evaluate_interval(k, {{k, Interval::everything()}})), "[?, ?]");
  EXPECT_FALSE(Interval::everything().range().min.defined());
}

TEST_F(Intervals, FactsNarrowWhatVariablesRunOver) {
  Analyzer analyzer;
  const auto scope = analyzer.assume(k >= 2 && k < 11);
  EXPECT_EQ(text(analyzer.interval(k - 2, {{k, {0, 12}}})), "[0, 8]");
}

TEST_F(Intervals, UnionAndIntersection) {
  EXPECT_EQ(text(unite(Interval{0, 4}, Interval{2, 9})), "[0, 9]");
  EXPECT_EQ(text(unite(Interval{x, x + 4}, Interval{x + 1, x + 6})), "[x, (x + 6)]");
  EXPECT_EQ(text(intersect(Interval{0, 4}, Interval{2, 9})), "[2, 4]");
  EXPECT_EQ(text(intersect(Interval{0, {}}, Interval{{}, n})), "[0, n]");
  EXPECT_EQ(text(unite(Interval{0, 4}, Interval::everything())), "[?, ?]");
}

TEST_F(Intervals, LinearForms) {
  const auto form = linear_form((x * 4 + y) * 3 - x + n * 2 + 7, {x, y});
  ASSERT_TRUE(form);
  EXPECT_EQ(text(form->coefficients[0]), "11");
  EXPECT_EQ(text(form->coefficients[1]), "3");
  EXPECT_EQ(text(form->constant), "((n*2) + 7)");
  EXPECT_EQ(text(linear_form(x * n + y, {x})->coefficients[0]), "n");
  EXPECT_FALSE(linear_form(x * y, {x, y}));
  EXPECT_FALSE(linear_form(floor_div(x, 2), {x}));
}

TEST_F(Intervals, DeducedBounds) {
  const auto bound = [&](const Expr& condition, const IntervalMap& relaxed) {
    const auto b = deduce_bound(x, condition, relaxed);
    return b ? text(*b) : "nothing";
  };
  const IntervalMap inner{{k, {0, 15}}};
  EXPECT_EQ(bound(x * 16 + k < 99, inner), "[?, 5]");
  EXPECT_EQ(bound(likely(x * 16 + k < n), inner), "[?, (floordiv(n, 16) + -1)]");
  EXPECT_EQ(bound(x + k >= 2 && x + k < 58, inner), "[2, 42]");
  EXPECT_EQ(bound(20 - x * 3 >= k, inner), "[?, 1]");
  EXPECT_EQ(bound(floor_div(x, 3) < n, inner), "[?, ((n*3) + -1)]");
  EXPECT_EQ(bound(x * 4 == 8, inner), "[2, 2]");
  EXPECT_EQ(bound(x * x < 8, inner), "nothing");
  EXPECT_EQ(bound(x < 4 && k < 15, inner), "nothing");
  EXPECT_EQ(bound(x < 4 && k < 16, inner), "[?, 3]");
  EXPECT_EQ(bound(x < 4 && x >= 4, inner), "nothing");
}

}  // namespace
}  // namespace tw
