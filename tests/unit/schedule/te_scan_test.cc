// SPDX-License-Identifier: Apache-2.0
// Scans: what depends on what, where their stages stand, and what they compute.
#include <gtest/gtest.h>

#include "schedule/te/scan.h"
#include "tests/support/expect_error.h"
#include "tests/support/scheduled.h"
#include "tests/support/te_run.h"

namespace tw {
namespace {

using te::Tensor;
using test::expect_error;
using test::loops;

// Sums of columns so far.
constexpr char kCumsum[] =
    "X = placeholder(int32, [5, 3])\n"
    "I = compute([t: 1, i: 3], X(t, i))\n"
    "S = placeholder(int32, [5, 3])\n"
    "U = compute([t: 5, i: 3], (S((t - 1), i) + X(t, i)))\n"
    "R = scan(init=[I], update=[U], state=[S])\n"
    "arguments X R\noutputs R\n";

te::Program program(const std::string& text) { return te::parse_program("te 1\n" + text); }

TEST(Scan, BeginsThenUpdatesStepByStep) {
  EXPECT_EQ(loops(kCumsum), R"(produce R {
  produce I {
    for (i, 0, 3) {
      R(0, i) = X(0, i)
    }
  }
  for (R.idx, 0, 4) {
    produce U {
      for (i_1, 0, 3) {
        R((R.idx + 1), i_1) = (R(((R.idx + 1) - 1), i_1) + X((R.idx + 1), i_1))
      }
    }
  }
}
)");
}

TEST(Scan, TextRoundTripsAndTheHashKnowsTheParts) {
  const std::string text = "te 1\n" + std::string(kCumsum);
  const te::Program p = te::parse_program(text);
  EXPECT_EQ(te::to_text(p), text);
  ASSERT_EQ(te::placeholders(p.outputs).size(), 1u) << "states are no arguments";
  std::string renamed = kCumsum;
  renamed.replace(renamed.find("U ="), 1, "V");
  renamed.replace(renamed.find("[U]"), 3, "[V]");
  EXPECT_EQ(te::workload_hash(p), te::workload_hash(program(renamed)));
  std::string other = kCumsum;
  other.replace(other.find("+ X(t, i)"), 9, "- X(t, i)");
  EXPECT_NE(te::workload_hash(p), te::workload_hash(program(other)));
}

TEST(Scan, IsEvaluatedFromItsDefinition) {
  const te::Program p = program(kCumsum);
  const test::Array x({5, 3}, [](int64_t i) { return static_cast<double>(i * i % 7 - 3); });
  const test::Array r = test::run(p.outputs[0], {x});
  double sum[3] = {0, 0, 0};
  for (int64_t t = 0; t < 5; ++t) {
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(r({t, i}), sum[i] += x({t, i}));
  }
}

// A run of many steps is no recursion of that depth.
TEST(Scan, LongRunsAreEvaluated) {
  const te::Program p = program(
      "S = placeholder(int32, [100000])\n"
      "I = compute([t: 1], 1)\n"
      "U = compute([t: 100000], ((S((t - 1))*5) % 10007))\n"
      "R = scan(init=[I], update=[U], state=[S])\n"
      "L = compute([], R(99999))\n"
      "arguments L\noutputs L\n");
  int64_t value = 1;
  for (int k = 1; k < 100000; ++k) value = value * 5 % 10007;
  EXPECT_EQ(test::run(p.outputs[0], {}).data[0], static_cast<double>(value));
}

TEST(Scan, ReadingTheStepItselfIsRefused) {
  const te::Program p = program(
      "S = placeholder(int32, [4])\n"
      "I = compute([t: 1], 1)\n"
      "U = compute([t: 4], S(t))\n"
      "R = scan(init=[I], update=[U], state=[S])\n"
      "arguments R\noutputs R\n");
  expect_error(ErrorCode::UninitializedRead, [&] { test::run(p.outputs[0], {}); });
  expect_error(ErrorCode::UninitializedRead, [&] { loops(Schedule::create(p.outputs)); });
}

TEST(Scan, RowsBeforeTheFirstAreRefused) {
  const te::Program p = program(
      "S = placeholder(int32, [4])\n"
      "I = compute([t: 1], 1)\n"
      "U = compute([t: 4], S((t - 2)))\n"
      "R = scan(init=[I], update=[U], state=[S])\n"
      "arguments R\noutputs R\n");
  expect_error(ErrorCode::OutOfBounds, [&] { test::run(p.outputs[0], {}); });
}

// An LSTM without its gates' functions: everything but the batch is read anywhere.
constexpr char kCell[] =
    "X = placeholder(int32, [6, 2, 4])\n"
    "W = placeholder(int32, [4, 4])\n"
    "SH = placeholder(int32, [6, 2, 4])\n"
    "SC = placeholder(int32, [6, 2, 4])\n"
    "IH = compute([t: 1, b: 2, j: 4], 0)\n"
    "IC = compute([t: 1, b: 2, j: 4], 1)\n"
    "G = compute([t: 6, b: 2, j: 4], reduce [k: 4], sum((SH((t - 1), b, k)*W(k, j))))\n"
    "C = compute([t: 6, b: 2, j: 4], max((SC((t - 1), b, j) - G(t, b, j)), X(t, b, j)))\n"
    "H = compute([t: 6, b: 2, j: 4], (C(t, b, j) % 5))\n"
    "L = scan(init=[IH, IC], update=[H, C], state=[SH, SC], inputs=[X])\n"
    "arguments X W L.v0\noutputs L.v0\n";

TEST(Scan, AxesThatAreCarriedUnchangedAreKnown) {
  const te::Program p = program(kCell);
  const auto* node = te::as_op<te::ScanNode>(p.outputs[0].op());
  ASSERT_NE(node, nullptr);
  const te::FixPoint point = te::fix_point(node->updates, node->states);
  EXPECT_EQ(point.fixed, (std::vector<std::vector<bool>>{{true, false}, {true, false}}));
  EXPECT_EQ(point.group[0][0], point.group[1][0]) << "both states have the batch";
  // Time, one batch, and the columns of each.
  EXPECT_EQ(node->all_axes.size(), 4u);
  const te::Program cumsum = program(kCumsum);
  const auto* sums = te::as_op<te::ScanNode>(cumsum.outputs[0].op());
  EXPECT_EQ(sums->fixed.size(), 1u);
}

TEST(Scan, ATranspositionInTimeIsNoFixPoint) {
  const te::Program p = program(
      "S = placeholder(int32, [4, 3, 3])\n"
      "I = compute([t: 1, i: 3, j: 3], i)\n"
      "U = compute([t: 4, i: 3, j: 3], S((t - 1), j, i))\n"
      "R = scan(init=[I], update=[U], state=[S])\n"
      "arguments R\noutputs R\n");
  EXPECT_TRUE(te::as_op<te::ScanNode>(p.outputs[0].op())->fixed.empty());
}

TEST(Scan, StagesOfACellAreComputedInEachStep) {
  const std::string text = loops(kCell);
  // The memory of H and C is that of the scan; G is realized in each step.
  EXPECT_EQ(text.find("realize H"), std::string::npos) << text;
  EXPECT_EQ(text.find("realize C"), std::string::npos) << text;
  const size_t step = text.find("for (L.idx, 0, 5)");
  ASSERT_NE(step, std::string::npos) << text;
  EXPECT_GT(text.find("realize G<global>([(L.idx + 1), 1], [0, 2], [0, 4])"), step) << text;
  EXPECT_NE(text.find("realize L.v1<global>([0, 6], [0, 2], [0, 4])"), std::string::npos) << text;
}

TEST(Scan, ExtentsMayBeSymbols) {
  const std::string text = loops(
      "m = var(int32)\nn = var(int32)\n"
      "X = placeholder(int32, [m, n])\n"
      "I = compute([t: 1, i: n], X(0, i))\n"
      "S = placeholder(int32, [m, n])\n"
      "U = compute([t: m, i: n], (S((t - 1), i) + X(t, i)))\n"
      "R = scan(init=[I], update=[U], state=[S])\n"
      "arguments X R\noutputs R\n");
  EXPECT_NE(text.find("for (R.idx, 0, (m + -1))"), std::string::npos) << text;
}

// A consumer of a part of a fixed axis has that part computed.
TEST(Scan, IsComputedInALoopForAPartOfAFixedAxis) {
  const std::string consumer =
      std::string(kCumsum).substr(0, std::string(kCumsum).find("arguments")) +
      "D = compute([i: 3], R(4, i))\narguments X D\noutputs D\n";
  EXPECT_EQ(loops(consumer, "compute_at@1(s4, s5, s5:0)"), R"(produce D {
  for (i, 0, 3) {
    realize R<global>([0, 5], [i, 1]) {
      produce R {
        produce I {
          R(0, i) = X(0, i)
        }
        for (R.idx, 0, 4) {
          produce U {
            R((R.idx + 1), i) = (R(((R.idx + 1) - 1), i) + X((R.idx + 1), i))
          }
        }
      }
      D(i) = R(4, i)
    }
  }
}
)");
}

TEST(Scan, TheStepsMayBeSplitAndTheirStagesPlaced) {
  const std::string text = loops(kCell,
                                 "split@1(s9, s9:0, factor=2)\n"
                                 "compute_at@1(s5, s7, s7:1)\n"
                                 "vectorize@1(s8, s8:2)\n"
                                 "cache_read@1(s6, \"local\", [s7])\n"
                                 "compute_at@1(t3.0, s9, t0.0)\n");
  EXPECT_NE(text.find("for (L.idx.outer, 0, 3)"), std::string::npos) << text;
  EXPECT_NE(text.find("realize X.local<local>([((L.idx.outer*2) + 1), 2]"), std::string::npos)
      << text;
}

TEST(Scan, WhatItsStagesCannotBeIsRefused) {
  const auto fails = [](ErrorCode code, const char* text, const std::string& trace) {
    expect_error(code, [&] { loops(text, trace); });
  };
  fails(ErrorCode::ParallelReduction, kCumsum, "parallel@1(s4, s4:0)");
  fails(ErrorCode::ParallelReduction, kCumsum, "vectorize@1(s4, s4:0)");
  fails(ErrorCode::ParallelReduction, kCumsum, "bind@1(s4, s4:0, \"threadIdx.x\")");
  fails(ErrorCode::BadArgument, kCumsum,
        "split@1(s4, s4:0, factor=2)\nreorder@1(s4, [t0.1, t0.0])");
  fails(ErrorCode::BadArgument, kCumsum,
        "split@1(s4, s4:0, factor=2)\ntile@1(s4, t0.1, t0.0, 2, 2)");
  fails(ErrorCode::BadAttach, kCumsum, "compute_root@1(s3)");
  fails(ErrorCode::BadAttach, kCumsum, "compute_inline@1(s3)");
  fails(ErrorCode::BadAttach, kCumsum, "compute_inline@1(s1)");
  fails(ErrorCode::BadArgument, kCumsum, "set_scope@1(s3, \"local\")");
  fails(ErrorCode::BadArgument, kCumsum, "transform_layout@1(s3, order=[1, 0])");
  fails(ErrorCode::BadArgument, kCumsum, "cache_write@1(s4, \"local\")");
  // Rows of several steps at once, which are not there yet.
  fails(ErrorCode::BadAttach, kCell, "split@1(s9, s9:0, factor=2)\ncompute_at@1(s5, s9, t0.0)");
}

TEST(Scan, PartsThatDoNotFitAreRefused) {
  const Tensor state = te::placeholder({4, 3}, int_type(32), "S");
  const auto filled = [](std::vector<Expr> shape, DType type = int_type(32)) {
    return te::compute(shape, [&](const std::vector<Var>&) { return make_zero(type); }, "Z");
  };
  const Tensor init = filled({1, 3});
  const Tensor update = te::compute(
      {4, 3}, [&](const std::vector<Var>& i) { return state(max(i[0] - 1, Expr(0)), i[1]); }, "U");
  expect_error(ErrorCode::BadArgument, [&] { te::scan({}, {}, {}); });
  expect_error(ErrorCode::BadShape, [&] { te::scan({filled({1, 2})}, {update}, {state}); });
  expect_error(ErrorCode::BadShape, [&] { te::scan({filled({5, 3})}, {update}, {state}); });
  expect_error(ErrorCode::TypeMismatch,
               [&] { te::scan({filled({1, 3}, float_type(32))}, {update}, {state}); });
  expect_error(ErrorCode::BadArgument, [&] { te::scan({init}, {update}, {filled({4, 3})}); });
  expect_error(ErrorCode::BadArgument, [&] {
    te::parse_program(
        "te 1\nX = placeholder(int32, [1])\nS = placeholder(int32, [4])\n"
        "U = compute([t: 4], S(max((t - 1), 0)))\nR = scan(init=[X], update=[U], state=[S])\n"
        "arguments X R\noutputs R\n");
  });
  const Tensor scan = te::scan({init}, {update}, {state})[0];
  expect_error(ErrorCode::BadArgument, [&] { Schedule::create({scan, update}); });
  const Tensor reader = te::compute(
      {1, 3}, [&](const std::vector<Var>& i) { return init(i[0], i[1]) + scan(i[0], i[1]); }, "Q");
  expect_error(ErrorCode::BadArgument, [&] { Schedule::create({reader}); });
  const Tensor outside = te::compute(
      {4, 3}, [&](const std::vector<Var>& i) { return state(i[0], i[1]) + scan(i[0], i[1]); }, "O");
  expect_error(ErrorCode::BadArgument, [&] { Schedule::create({outside}); });
}

// What a state begins with may be an argument, or the same for two states.
TEST(Scan, WhatIsStoredElsewhereIsCopied) {
  const Tensor x = te::placeholder({1, 3}, int_type(32), "X");
  std::vector<Tensor> states, updates;
  for (int k = 0; k < 2; ++k) {
    states.push_back(te::placeholder({4, 3}, int_type(32), "S" + std::to_string(k)));
    updates.push_back(te::compute(
        {4, 3}, [&](const std::vector<Var>& i) { return states[k](i[0] - 1, i[1]) + (k + 1); },
        "U"));
  }
  const std::vector<Tensor> r = te::scan({x, x}, updates, states);
  const std::vector<test::Array> out = test::run(r, {test::Array({1, 3}, {5, 6, 7})});
  EXPECT_EQ(out[0]({3, 1}), 9);
  EXPECT_EQ(out[1]({3, 2}), 13);
}

}  // namespace
}  // namespace tw
