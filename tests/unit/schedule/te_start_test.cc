// SPDX-License-Identifier: Apache-2.0
// What reductions start from, from the definition to loops.
#include <gtest/gtest.h>

#include "ir/expr.h"
#include "ir/interpret.h"
#include "schedule/te/check_bounds.h"
#include "schedule/te/start.h"
#include "schedule/validate.h"
#include "tests/support/expect_error.h"
#include "tests/support/schedule_case.h"
#include "tests/support/scheduled.h"
#include "tests/support/te_run.h"

namespace tw {
namespace {

using test::Array;
using test::expect_error;
using test::loops;
using test::scheduled;

// s0 A, s1 X, s2 P, s3 B: row sums on top of P, s4 C.
constexpr char kProgram[] =
    "A = placeholder(int32, [6, 10])\n"
    "X = placeholder(int32, [6])\n"
    "P = compute([i: 6], (X(i)*2))\n"
    "B = compute([i: 6], reduce [k: 10], sum(A(i, k), where=(k != i)), init=[P(i)])\n"
    "C = compute([i: 6], (B(i) + 1))\n"
    "arguments A X C\noutputs C\n";

// What the loops compute is what the definition says.
void expect_right(const std::string& program, const std::string& trace) {
  const test::ScheduleCase c{.program = te::parse_program("te 1\n" + program),
                             .scalars = {},
                             .trace = parse_trace(trace),
                             .data_seed = 3};
  const test::CaseData data = test::make_data(c);
  EXPECT_EQ(test::check_loop_nest(c, data, {}), "") << trace;
  EXPECT_EQ(test::check_replay(c, data), "") << trace;
}

TEST(TeStart, StartsFromAnotherTensor) {
  const te::Tensor a = te::placeholder({2, 3}, int_type(32), "A"),
                   x = te::placeholder({2}, int_type(32), "X");
  const IterVar k = te::reduce_axis({0, 3}, "k");
  const auto row_sum = [&](const std::vector<Var>& i) {
    return te::starting_from(te::sum(a(i[0], k.var()), {k}), x(i[0]) * 10);
  };
  const te::Tensor s = te::compute({2}, row_sum, "S");
  EXPECT_EQ(test::run(s, {Array({2, 3}, {1, 2, 3, 4, 5, 6}), Array({2}, {7, 8})}).data,
            (std::vector<double>{76, 95}));
  EXPECT_EQ(s.op()->input_tensors().size(), 2u);
}

TEST(TeStart, OverNothingIsWhatItStartsFrom) {
  const te::Tensor x = te::placeholder({2}, int_type(32), "X");
  const te::Tensor a = te::placeholder({2, 0}, int_type(32), "A");
  const IterVar k = te::reduce_axis({0, 0}, "k");
  const te::Tensor s = te::compute(
      {2},
      [&](const std::vector<Var>& i) {
        return te::starting_from(te::max(a(i[0], k.var()), {k}), x(i[0]));
      },
      "S");
  EXPECT_TRUE(s.op()->has_points());
  EXPECT_EQ(test::run(s, {Array({2, 0}, std::vector<double>{}), Array({2}, {7, 8})}).data,
            (std::vector<double>{7, 8}));
  EXPECT_FALSE(te::doubtful_read(s.op()));
  for (const char* trace : {"", "compute_at@1(s2, s3, s3:0)\n", "split@1(s3, s3:1, factor=4)\n"}) {
    expect_right(
        "X = placeholder(int32, [2])\n"
        "P = compute([i: 2], (X(i) + 1))\n"
        "A = placeholder(int32, [2, 0])\n"
        "S = compute([i: 2], reduce [k: 0], sum(A(i, k)), init=[P(i)])\n"
        "arguments X A S\noutputs S\n",
        trace);
  }
}

TEST(TeStart, LoopsStartFromIt) {
  EXPECT_EQ(loops("A = placeholder(int32, [4, 8])\nX = placeholder(int32, [4])\n"
                  "B = compute([i: 4], reduce [k: 8], sum(A(i, k)), init=[X(i)])\n"
                  "arguments A X B\noutputs B\n"),
            "produce B {\n"
            "  for (i, 0, 4) {\n"
            "    B(i) = X(i)\n"
            "    for (k, 0, 8) {\n"
            "      B(i) = (B(i) + A(i, k))\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(TeStart, EverySchedulesLoopsComputeIt) {
  for (const char* trace : {
           "",
           "split@1(s3, s3:0, factor=4)\nsplit@1(s3, s3:1, factor=3)\nreorder@1(s3, [t0.0, t1.0, "
           "t0.1, t1.1])\n",
           "compute_at@1(s3, s4, s4:0)\n",
           "compute_at@1(s3, s4, s4:0)\ncompute_at@1(s2, s3, s3:0)\n",
           "compute_inline@1(s2)\n",
           "split@1(s4, s4:0, factor=4)\ncompute_at@1(s3, s4, t0.0)\nvectorize@1(s4, t0.1)\n",
           "cache_write@1(s3, \"local\")\n",
           "split@1(s3, s3:0, factor=4)\ncache_write@1(s3, \"local\")\n",
           "transform_layout@1(s3, s3:0, 4)\n",
           "split@1(s3, s3:1, factor=4)\nrfactor@1(s3, t0.1)\n",
           "split@1(s3, s3:1, factor=4)\nrfactor@1(s3, t0.0)\n",
           "rfactor@1(s3, s3:1)\n",
       }) {
    expect_right(kProgram, trace);
  }
}

TEST(TeStart, TuplesStartFromTuples) {
  expect_right(
      "A = placeholder(int32, [4, 7])\nX = placeholder(int32, [4])\n"
      "M = compute([i: 4], reduce [k: 7], reduce(identity=[-1000, -1], lhs=[a, b], rhs=[c, d], "
      "result=[select((a >= c), a, c), select((a >= c), b, d)], source=[A(i, k), k]), "
      "init=[X(i), 99])\n"
      "arguments A X M.v0 M.v1\noutputs M.v0 M.v1\n",
      "rfactor@1(s2, s2:1)\n");
}

// It is read before the first loop over terms.
TEST(TeStart, AProducerInsideTheTermsIsTooLate) {
  const Schedule s = scheduled(kProgram, "compute_at@1(s2, s3, s3:1)\n");
  const std::vector<Finding> findings = check(s);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].error.what,
            "computed inside 'k' of 'B', whose reduction starts from what this stage computes");
  EXPECT_EQ(findings[0].error.legal, "compute_root, or inside i of 'B'");
  expect_error(ErrorCode::BadAttach, [&] { infer_bound(normalize(s)); });
}

TEST(TeStart, StartsThatAreNone) {
  const te::Tensor a = te::placeholder({8}, int_type(32), "A");
  const IterVar k = te::reduce_axis({0, 8}, "k");
  const Expr sum = te::sum(a(k.var()), {k});
  const auto refused = [](const std::vector<Expr>& reduction, const std::vector<Expr>& init) {
    return expect_error(ErrorCode::BadReduction, [&] { te::starting_from(reduction, init); }).what;
  };
  EXPECT_EQ(refused({sum}, {k.var()}), "init depends on 'k', over which is reduced");
  EXPECT_EQ(refused({sum}, {make_const(int_type(8), 1)}),
            "component 0 starts from int8 and its source is int32");
  const IterVar r = te::reduce_axis({0, 8}, "r");
  EXPECT_EQ(refused({sum}, {te::sum(a(r.var()), {r})}), "a reduction inside of init");
  EXPECT_EQ(refused({sum}, {1, 2}), "init has 2 values for 1 components");
  EXPECT_EQ(refused({a(0)}, {1}), "init of what is no reduction");
  // On top of it something else is no body of a compute.
  expect_error(ErrorCode::BadReduction, [&] {
    te::compute({8}, [&](const std::vector<Var>&) { return te::starting_from(sum, Expr(1)) + 1; });
  });
}

}  // namespace
}  // namespace tw
