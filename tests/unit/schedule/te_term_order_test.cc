// SPDX-License-Identifier: Apache-2.0
// Which reductions may take their terms in another order or in groups, and what schedules make of
// that.
#include "schedule/te/term_order.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "schedule/validate.h"
#include "tests/support/expect_error.h"
#include "tests/support/schedule_case.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using test::expect_error;
using test::scheduled;

// `init`: what it starts from in place of its identity.
te::Program reduction(const std::string& type, const std::string& identity,
                      const std::string& result, const std::string& init = "") {
  return te::parse_program(fmt::format(
      "te 1\nA = placeholder({0}, [4, 12])\n"
      "B = compute([i: 4], reduce [k: 12], reduce(identity=[{1}], lhs=[x], rhs=[y], result=[{2}], "
      "source=[A(i, k)]){3})\narguments A B\noutputs B\n",
      type, identity, result, init.empty() ? "" : fmt::format(", init=[{}]", init)));
}

struct Answers {
  bool order, grouping;
  auto operator<=>(const Answers&) const = default;
};
Answers asked(const te::Program& program) {
  const auto& compute = *te::as_op<te::ComputeNode>(program.outputs[0].op());
  return {!te::order_matters(compute).empty(), !te::grouping_matters(compute).empty()};
}
Answers asked(const std::string& type, const std::string& identity, const std::string& result) {
  return asked(reduction(type, identity, result));
}
constexpr Answers kFree = {false, false};

TEST(TermOrder, OfWhatIsAssociativeAndCommutative) {
  EXPECT_EQ(asked("int32", "0", "(x + y)"), kFree);
  EXPECT_EQ(asked("float16", "(float16)0.000000f", "(y + x)"), kFree);
  EXPECT_EQ(asked("float32", "1.0f", "(x*y)"), kFree);
  EXPECT_EQ(asked("bool", "(bool)0", "(x || y)"), kFree);
  EXPECT_EQ(asked("bool", "(bool)1", "(x && y)"), kFree);
  EXPECT_EQ(asked("float32", "0.0f", "sqrt(((x*x) + (y*y)))"), kFree);
  EXPECT_EQ(asked("uint8", "(uint8)0", "max(x, y)"), kFree);
}

// An identity that is none, but that a group may begin with once more.
TEST(TermOrder, GroupsMayBeginWithAnIdentityThatLimits) {
  EXPECT_EQ(asked("int32", "0", "max(x, y)"), kFree);
  // Not where the reduction itself does not begin with it.
  EXPECT_EQ(asked(reduction("int32", "0", "max(x, y)", "(0 - i)")), (Answers{false, true}));
}

TEST(TermOrder, OfDifferences) {
  EXPECT_EQ(asked("int32", "0", "(x - y)"), (Answers{false, true}));
  EXPECT_EQ(asked("int32", "0", "(y - x)"), (Answers{true, true}));
  EXPECT_EQ(asked("int32", "0", "((x*2) + y)"), (Answers{true, true}));
}

TEST(TermOrder, OfIdentitiesThatAreNone) {
  EXPECT_EQ(asked("int32", "5", "(x + y)"), (Answers{false, true}));
  EXPECT_EQ(asked("float32", "2.0f", "(x*y)"), (Answers{false, true}));
}

// The first that is not zero: groups in their order are right.
TEST(TermOrder, OfWhatIsAssociativeAndNotCommutative) {
  EXPECT_EQ(asked("int32", "0", "select((x != 0), x, y)"), (Answers{true, false}));
}

TEST(TermOrder, OfWhatCannotBeEvaluated) {
  EXPECT_EQ(asked("float32", "0.0f", "call_pure_extern<float32>(\"hypot\", x, y)"),
            (Answers{true, true}));
}

constexpr char kPlaces[] =
    "te 1\nA = placeholder(float32, [4, 12])\n"
    "B = compute([i: 4], reduce [k: 12], reduce(identity=[-1, -100.000000f], lhs=[p, v], "
    "rhs=[q, w], result=[{0}], source=[k, A(i, k)]))\narguments A B.v0 B.v1\noutputs B.v0 B.v1\n";
te::Program places(const std::string& result) {
  return te::parse_program(fmt::format(kPlaces, result));
}

// Of equal elements any may be taken, unless the reducer says which.
TEST(TermOrder, OfPlacesOfExtremes) {
  EXPECT_EQ(asked(places("select((v >= w), p, q), select((v >= w), v, w)")), kFree);
  EXPECT_EQ(asked(places("tvm_if_then_else((v < w), q, p), tvm_if_then_else((v < w), w, v)")),
            kFree);
  EXPECT_EQ(asked(places("select(((v > w) || ((v == w) && (p < q))), p, q), max(v, w)")), kFree);
  EXPECT_EQ(asked(places("select((v >= w), p, q), min(v, w)")), (Answers{true, true}));
}

TEST(TermOrder, TermsThatAreConstantsAreTheseConstants) {
  // Means and their weights, which are counts and never negative.
  const auto means = [](const char* count) {
    return asked(te::parse_program(fmt::format(
        "te 1\nA = placeholder(float32, [4, 12])\n"
        "B = compute([i: 4], reduce [k: 12], reduce(identity=[0.000000f, 0.000000f], lhs=[m, c], "
        "rhs=[n, d], result=[select(((c + d) > 0.000000f), (((m*c) + (n*d))/(c + d)), 0.000000f), "
        "(c + d)], source=[A(i, k), {}]))\narguments A B.v0 B.v1\noutputs B.v0 B.v1\n",
        count)));
  };
  EXPECT_EQ(means("1.000000f"), kFree);
  EXPECT_NE(means("A(k, i)"), kFree);
}

// The right result, or the error.
void expect_right(const te::Program& program, const std::string& trace) {
  const test::ScheduleCase c{
      .program = program, .scalars = {}, .trace = parse_trace(trace), .data_seed = 3};
  EXPECT_EQ(test::check_loop_nest(c, test::make_data(c), {}), "") << trace;
}
Schedule after(const te::Program& program, const std::string& trace) {
  const Schedule s = Schedule::create(program.outputs);
  for (const Step& step : parse_trace(trace).steps) s.apply(step);
  return s;
}

TEST(TermOrder, LoopsInAnotherOrderAreRefused) {
  const te::Program horner = reduction("int32", "0", "((x*2) + y)");
  expect_right(horner,
               "split@1(s1, s1:1, factor=5)\nsplit@1(s1, t0.0, factor=2)\n"
               "reorder@1(s1, [t1.0, s1:0])");
  const Schedule s = after(horner,
                           "split@1(s1, s1:1, factor=4)\n"
                           "reorder@1(s1, [t0.1, s1:0, t0.0])  # horner.py:7");
  const ErrorInfo e = expect_error(ErrorCode::LoopOrder, [&] { validate(s.data()); });
  EXPECT_EQ(e.stage, "B");
  EXPECT_EQ(e.axis, "k.inner");
  EXPECT_EQ(e.where, "horner.py:7");
  EXPECT_EQ(e.what,
            "the loops take the terms in another order than the expression, and with its reducer f "
            "that gives something else: f(f(0, 0), 2) is 2, f(f(0, 2), 0) is 4");
  EXPECT_EQ(e.legal, "the loops over terms in this order: k.outer, k.inner");
  EXPECT_EQ(check(s, {}).size(), 1u);
  // A loop of one iteration may stand anywhere, and so may those of a difference.
  expect_right(horner, "split@1(s1, s1:1, factor=12)\nreorder@1(s1, [t0.1, s1:0, t0.0])");
  expect_right(reduction("int32", "0", "(x - y)"),
               "split@1(s1, s1:1, factor=4)\nreorder@1(s1, [t0.1, s1:0, t0.0])");
}

TEST(TermOrder, AxesFusedTheOtherWayRoundAreRefused) {
  const te::Program two = te::parse_program(
      "te 1\nA = placeholder(int32, [4, 3])\n"
      "B = compute([], reduce [k: 4, l: 3], reduce(identity=[0], lhs=[x], rhs=[y], "
      "result=[((x*2) + y)], source=[A(k, l)]))\narguments A B\noutputs B\n");
  expect_right(two, "fuse@1(s1, [s1:0, s1:1])\nsplit@1(s1, t0.0, factor=5)");
  const Schedule s = after(two, "reorder@1(s1, [s1:1, s1:0])\nfuse@1(s1, [s1:1, s1:0])");
  EXPECT_EQ(expect_error(ErrorCode::LoopOrder, [&] { validate(s.data()); }).legal,
            "axes of the reduction fused in their order");
}

TEST(TermOrder, FactorsWhatMayBeGrouped) {
  const auto refused = [](const te::Program& program, const std::string& trace) {
    return expect_error(ErrorCode::CannotFactor, [&] { after(program, trace); });
  };
  const std::string outer = "split@1(s1, s1:1, factor=5)\nrfactor@1(s1, t0.0)",
                    inner = "split@1(s1, s1:1, factor=5)\nrfactor@1(s1, t0.1)";
  const ErrorInfo e = refused(reduction("int32", "5", "(x + y)"), inner);
  EXPECT_EQ(e.axis, "k.inner");
  EXPECT_EQ(e.what,
            "the reducer f does not give the same when terms are taken in groups: 5 is no "
            "identity, as f(1, 5) is 6");
  EXPECT_EQ(e.legal,
            "loops in the order of the expression; rfactor is legal where f is "
            "associative and begins with its identity");
  EXPECT_EQ(refused(reduction("int32", "0", "(x - y)"), outer).stage, "B");
  expect_right(reduction("int32", "0", "max(x, y)"), inner);
  // Of what is associative only the outermost loop, which keeps the order.
  const te::Program first = reduction("int32", "0", "select((x != 0), x, y)");
  expect_right(first, outer);
  expect_right(first, "rfactor@1(s1, s1:1)");
  EXPECT_EQ(refused(first, inner).legal,
            "rfactor of 'k.outer', the outermost loop over terms, and these in this order: "
            "k.outer, k.inner");
  EXPECT_EQ(refused(first,
                    "split@1(s1, s1:1, factor=5)\nreorder@1(s1, [t0.1, t0.0])\n"
                    "rfactor@1(s1, t0.1)")
                .axis,
            "k.inner");
}

}  // namespace
}  // namespace tw
