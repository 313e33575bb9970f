// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/evaluate.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/expr.h"
#include "tests/support/te_run.h"

namespace tw::te {
namespace {

using test::Array;
using test::run;
using Values = std::vector<double>;

TEST(TeEvaluate, ComputesEachPointFromItsDefinition) {
  const Tensor a = placeholder({2, 3}, float_type(32), "A");
  const Tensor b =
      compute({3, 2}, [&](const std::vector<Var>& i) { return a(i[1], i[0]) * 10 + i[0]; });
  EXPECT_EQ(run(b, {Array({2, 3}, {1, 2, 3, 4, 5, 6})}).data, (Values{10, 40, 21, 51, 32, 62}));
}

TEST(TeEvaluate, RankZero) {
  const Tensor a = placeholder({}, int_type(32), "A");
  const Tensor b = compute({}, [&](const std::vector<Var>&) { return a() * a(); });
  EXPECT_EQ(run(b, {Array({}, {7})}).data, Values{49});
}

TEST(TeEvaluate, ReductionsRunInOrderInTheirType) {
  const Tensor a = placeholder({4}, float_type(32), "A");
  const IterVar k = reduce_axis({0, 4}, "k");
  const Tensor s = compute({}, [&](const std::vector<Var>&) { return sum(a(k.var()), {k}); });
  // In float32, 2²⁴ + 1 is 2²⁴; in another order the sum would be 2²⁴ + 2.
  EXPECT_EQ(run(s, {Array({4}, {16777216, 1, 1, -1})}).data, Values{16777215});
  const Tensor b = placeholder({4}, int_type(8), "B");
  const Tensor t = compute({}, [&](const std::vector<Var>&) { return sum(b(k.var()), {k}); });
  EXPECT_EQ(run(t, {Array({4}, {100, 100, 0, 0})}).data, Values{-56});
}

TEST(TeEvaluate, IntegerDivisionIsDefinedEverywhere) {
  const Tensor a = placeholder({4}, int_type(8), "A"), b = placeholder({4}, int_type(8), "B");
  const auto result = [&](auto divide) {
    const Tensor c =
        compute({4}, [&](const std::vector<Var>& i) { return divide(a(i[0]), b(i[0])); });
    return run(c, {Array({4}, {7, -128, -7, -128}), Array({4}, {0, -1, 2, 0})}).data;
  };
  EXPECT_EQ(result([](auto x, auto y) { return floor_div(x, y); }), (Values{0, -128, -4, 0}));
  EXPECT_EQ(result([](auto x, auto y) { return floor_mod(x, y); }), (Values{0, 0, 1, 0}));
  EXPECT_EQ(result([](auto x, auto y) { return trunc_div(x, y); }), (Values{0, -128, -3, 0}));
  EXPECT_EQ(result([](auto x, auto y) { return trunc_mod(x, y); }), (Values{0, 0, -1, 0}));
}

TEST(TeEvaluate, HalfPrecisionRoundsAfterEachOperation) {
  const Tensor a = placeholder({2}, float_type(16), "A");
  const Tensor b =
      compute({1}, [&](const std::vector<Var>& i) { return a(i[0]) + a(1) - a(i[0]); });
  EXPECT_EQ(run(b, {Array({2}, {2048, 1})}).data, Values{0});
}

TEST(TeEvaluate, ConditionsLimitAReduction) {
  const Tensor a = placeholder({3, 4}, float_type(32), "A");
  const IterVar k = reduce_axis({0, 4}, "k");
  const Tensor lower = compute(
      {3}, [&](const std::vector<Var>& i) { return sum(a(i[0], k.var()), {k}, k.var() <= i[0]); });
  const Array x({3, 4}, [](int64_t i) { return static_cast<double>(i); });
  EXPECT_EQ(run(lower, {x}).data, (Values{0, 4 + 5, 8 + 9 + 10}));
  const Tensor none = compute(
      {1}, [&](const std::vector<Var>& i) { return max(a(i[0], k.var()), {k}, k.var() > 100); });
  EXPECT_EQ(run(none, {x}).data, Values{-std::numeric_limits<double>::infinity()});
}

TEST(TeEvaluate, ReductionsMayStartAnywhereAndSpanSeveralAxes) {
  const Tensor a = placeholder({4, 4}, int_type(64), "A");
  const IterVar r = reduce_axis({1, 2}, "r"), c = reduce_axis({2, 2}, "c");
  const Tensor s =
      compute({}, [&](const std::vector<Var>&) { return sum(a(r.var(), c.var()), {r, c}); });
  const Array x({4, 4}, [](int64_t i) { return static_cast<double>(i); });
  EXPECT_EQ(run(s, {x}).data, Values{6 + 7 + 10 + 11});
}

TEST(TeEvaluate, TuplesReduceTogether) {
  const Tensor a = placeholder({5}, float_type(32), "A");
  const IterVar k = reduce_axis({0, 5}, "k");
  const DType f = float_type(32), n = int_type(32);
  const Var lc("lc", n), ls("ls", f), rc("rc", n), rs("rs", f);
  const CommReducer count_and_sum{.lhs = {lc, ls},
                                  .rhs = {rc, rs},
                                  .result = {lc + rc, ls + rs},
                                  .identity = {make_const(n, 0), make_const(f, 0)}};
  const std::vector<Tensor> both = compute_many({}, [&](const std::vector<Var>&) {
    return reduce(count_and_sum, {Expr(1), a(k.var())}, {k}, a(k.var()) > 2);
  });
  const std::vector<Array> result = run(both, {Array({5}, {1, 2, 3, 4, 5})});
  EXPECT_EQ(result[0].data, Values{3});
  EXPECT_EQ(result[1].data, Values{12});
}

// The components of a reducer are combined at once: neither sees the other's new value.
TEST(TeEvaluate, TuplesCombineSimultaneously) {
  const Tensor a = placeholder({3}, int_type(32), "A");
  const IterVar k = reduce_axis({0, 3}, "k");
  const Var lx("lx"), ly("ly"), rx("rx"), ry("ry");
  const CommReducer swap{
      .lhs = {lx, ly}, .rhs = {rx, ry}, .result = {ly + rx, lx + ry}, .identity = {1, 2}};
  const std::vector<Tensor> both = compute_many(
      {}, [&](const std::vector<Var>&) { return reduce(swap, {a(k.var()), Expr(0)}, {k}); });
  const std::vector<Array> result = run(both, {Array({3}, {10, 20, 30})});
  // (1, 2) -> (12, 1) -> (21, 12) -> (42, 21)
  EXPECT_EQ(result[0].data, Values{42});
  EXPECT_EQ(result[1].data, Values{21});
}

TEST(TeEvaluate, TwoComputesMayShareAReduceAxis) {
  const Tensor a = placeholder({3}, int_type(32), "A");
  const IterVar k = reduce_axis({0, 3}, "k");
  const Tensor total =
      compute({3}, [&](const std::vector<Var>& i) { return sum(a(k.var()) + i[0], {k}); });
  const Tensor all =
      compute({}, [&](const std::vector<Var>&) { return sum(total(k.var()) * k.var(), {k}); });
  // total = 6 + 3 i; the sum of i · total = 9 + 2 · 12
  EXPECT_EQ(run(all, {Array({3}, {1, 2, 3})}).data, Values{33});
}

TEST(TeEvaluate, SymbolicShapesTakeValuesFromTheScope) {
  const Var n = var("n");
  const Tensor a = placeholder({n}, int_type(32), "A");
  const Tensor b =
      compute({n * 2}, [&](const std::vector<Var>& i) { return a(floor_div(i[0], 2)) + n; });
  InterpreterScope scope;
  scope.values[n] = {.type = int_type(32), .i = 2};
  EXPECT_EQ(run(b, {Array({2}, {5, 6})}, scope).data, (Values{7, 7, 8, 8}));
}

TEST(TeEvaluate, OnlyWhatIsNeededIsComputed) {
  const Tensor a = placeholder({2}, int_type(32), "A");
  const Tensor wild =
      compute({9}, [&](const std::vector<Var>& i) { return a(i[0]); });  // reads past A
  const Tensor b = compute({2}, [&](const std::vector<Var>& i) {
    return if_then_else(i[0] < 1, wild(i[0]), make_const(int_type(32), -1));
  });
  EXPECT_EQ(run(b, {Array({2}, {4, 5})}).data, (Values{4, -1}));
}

TEST(TeEvaluate, IntermediateElementsAreComputedOnce) {
  // Without memory this chain would take 2⁶⁰ steps.
  Tensor t = placeholder({1}, int_type(64), "A");
  for (int depth = 0; depth < 60; ++depth) {
    t = compute({1}, [&](const std::vector<Var>& i) { return t(i[0]) + t(i[0]); });
  }
  EXPECT_EQ(run(t, {Array({1}, {1})}).data, Values{1152921504606846976.0});
}

TEST(TeEvaluate, OutputsMayFeedOtherOutputs) {
  const Tensor a = placeholder({2}, int_type(32), "A");
  const Tensor b = compute({2}, [&](const std::vector<Var>& i) { return a(i[0]) + 1; });
  const Tensor c = compute({2}, [&](const std::vector<Var>& i) { return b(i[0]) * 2; });
  const std::vector<Array> r = run(std::vector<Tensor>{c, b}, {Array({2}, {1, 2})});
  EXPECT_EQ(r[0].data, (Values{4, 6}));
  EXPECT_EQ(r[1].data, (Values{2, 3}));
}

TEST(TeEvaluate, IntegersFollowTheIr) {
  const Tensor a = placeholder({2}, int_type(32), "A"), u = placeholder({2}, uint_type(8), "U");
  const auto body = [&](const std::vector<Var>& i) -> std::vector<Expr> {
    const Expr x = a(i[0]);
    return {floor_div(x, 3),
            floor_mod(x, 3),
            trunc_div(x, 3),
            trunc_mod(x, 3),
            cast(int_type(8), x * 100),
            u(i[0]) + u(i[0]),
            cast(float_type(32), u(i[0])),
            call("shift_right", {x, Expr(1)}),
            cast(bool_type(), x)};
  };
  const std::vector<Array> r =
      run(compute_many({2}, body), {Array({2}, {-7, 7}), Array({2}, {200, 3})});
  const std::vector<Values> expected = {{-3, 2},  {2, 1},   {-2, 2}, {-1, 1}, {68, -68},
                                        {144, 6}, {200, 3}, {-4, 3}, {1, 1}};
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_EQ(r[k].data, expected[k]) << k;
}

TEST(TeEvaluate, LetsBindValues) {
  const Tensor a = placeholder({2}, int_type(32), "A");
  const Var t("t");
  const Tensor b = compute({2}, [&](const std::vector<Var>& i) {
    return make(Let{.var = t, .value = a(i[0]) + 1, .body = t * t});
  });
  EXPECT_EQ(run(b, {Array({2}, {1, 2})}).data, (Values{4, 9}));
}

}  // namespace
}  // namespace tw::te
