// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/check_bounds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "schedule/check_reads.h"
#include "schedule/te/text.h"
#include "tests/support/expect_error.h"
#include "tests/support/scheduled.h"

namespace tw {
namespace {

using te::Reach;
using test::expect_error;

std::string program(const std::string& index, int extent, int size) {
  return fmt::format(
      "A = placeholder(float32, [{}])\nP = placeholder(int32, [{}])\n"
      "B = compute([i: {}], {})\narguments A P B\noutputs B\n",
      size, extent, extent, index);
}

std::optional<te::DoubtfulRead> judged(const std::string& body, int extent, int size) {
  return te::doubtful_read(
      te::parse_program("te 1\n" + program(body, extent, size)).outputs[0].op());
}

struct Case {
  std::string body;
  int extent, size;
};

TEST(CheckBounds, ReadsThatStayInsideAreFound) {
  const Case inside[] = {
      {"A((i + i))", 5, 9},
      {"A((i*i))", 10, 82},
      {"A(max(i, 100))", 64, 101},
      {"A((floormod(i, 70) + floordiv(i, 2)))", 140, 139},
      {"A((i - floordiv(i, 2)))", 10, 6},
      {"A((min(i, 3) + max((i - 5), 0)))", 10, 8},
      {"A(select((i < 5), i, (i - 5)))", 10, 5},
      {"A(floormod((i*7), 10))", 1000, 10},
      {"tvm_if_then_else((i < 5), A((i + i)), 0.000000f)", 10, 9},
      {"tvm_if_then_else((i < 5), A(i), A((i - 5)))", 10, 5},
      {"select(((2 <= i) && (i < 7)), A((i - 2)), 0.000000f)", 10, 5},
      {"tvm_if_then_else(((i < 3) || (i > 6)), 0.000000f, A((i - 3)))", 10, 4},
      {"tvm_if_then_else(likely((floormod(i, 2) == 0)), A(floordiv(i, 2)), A(0))", 10, 5},
  };
  for (const Case& c : inside) {
    const auto doubt = judged(c.body, c.extent, c.size);
    EXPECT_FALSE(doubt) << c.body << ": " << (doubt ? doubt->error.what : "");
  }
}

TEST(CheckBounds, ReadsOutsideAreFoundWithTheirPlace) {
  const std::pair<Case, const char*> outside[] = {
      {{"A((i + i))", 5, 8}, "index 0 of 'A', (i + i), goes from 0 to 8"},
      {{"A((i*i))", 10, 81}, "index 0 of 'A', (i*i), is 81 where i is 9"},
      {{"A(max(i, 100))", 64, 100}, "index 0 of 'A', max(i, 100), is 100"},
      {{"A((floormod(i, 70) + floordiv(i, 2)))", 140, 138},
       "index 0 of 'A', (floormod(i, 70) + floordiv(i, 2)), is 138 where i is 139"},
      {{"tvm_if_then_else((i < 6), A((i + i)), 0.000000f)", 10, 9},
       "index 0 of 'A', (i + i), is 10 where i is 5"},
      {{"select((i > 2), A((i + 100)), 0.000000f)", 10, 50},
       "index 0 of 'A', (i + 100), is 103 where i is 3"},
  };
  for (const auto& [c, what] : outside) {
    const auto doubt = judged(c.body, c.extent, c.size);
    ASSERT_TRUE(doubt) << c.body;
    EXPECT_EQ(doubt->reach, Reach::Outside) << c.body;
    EXPECT_EQ(doubt->error.what, what);
    EXPECT_EQ(doubt->error.code, ErrorCode::OutOfBounds);
    EXPECT_EQ(doubt->error.stage, "B");
    EXPECT_EQ(doubt->error.axis, "i");
    EXPECT_EQ(doubt->error.legal.rfind(fmt::format("0 to {};", c.size - 1), 0), 0u);
  }
}

TEST(CheckBounds, WhatOnlyACallKnowsIsLetPass) {
  EXPECT_FALSE(judged("A(P(i))", 10, 5));
  EXPECT_FALSE(judged("tvm_if_then_else((P(i) < 3), A((i + 1)), 0.000000f)", 10, 5));
  const char* symbolic =
      "te 1\nn = var(int32)\nm = var(int32)\nA = placeholder(float32, [m])\n"
      "B = compute([i: n], A({}))\narguments A B\noutputs B\n";
  const auto judge = [&](const char* index) {
    return te::doubtful_read(
        te::parse_program(fmt::format(fmt::runtime(symbolic), index)).outputs[0].op());
  };
  EXPECT_FALSE(judge("i"));
  EXPECT_FALSE(judge("((i*2) + 1)"));
  const auto doubt = judge("(i + m)");
  ASSERT_TRUE(doubt);
  EXPECT_EQ(doubt->reach, Reach::Outside);
  EXPECT_TRUE(judge("(i - n)"));
}

// A guard of other axes than the index has proves nothing of it, and may never hold.
TEST(CheckBounds, AGuardOfOtherAxesIsNone) {
  const auto judge = [](const char* condition) {
    const std::string text = fmt::format(
        "te 1\nA = placeholder(float32, [4])\n"
        "B = compute([i: 8, j: 8], tvm_if_then_else({}, A(i), 0.000000f))\narguments A B\noutputs "
        "B\n",
        condition);
    return te::doubtful_read(te::parse_program(text).outputs[0].op());
  };
  ASSERT_TRUE(judge("(j < 2)"));
  EXPECT_EQ(judge("(j < 2)")->reach, Reach::Unproven);
  EXPECT_FALSE(judge("((i + j) < 4)"));
}

TEST(CheckBounds, MorePointsThanAreLookedAt) {
  const auto judge = [](const char* body, int64_t size) {
    const std::string text = fmt::format(
        "te 1\nA = placeholder(float32, [{}])\n"
        "B = compute([i: 4096, j: 4096], {})\narguments A B\noutputs B\n",
        size, body);
    return te::doubtful_read(te::parse_program(text).outputs[0].op());
  };
  const char* xor_of = "A(bitwise_xor(i, j))";
  ASSERT_TRUE(judge(xor_of, 4096));
  EXPECT_EQ(judge(xor_of, 4096)->reach, Reach::Unproven);
  EXPECT_FALSE(
      judge("tvm_if_then_else((bitwise_xor(i, j) < 100), A(bitwise_xor(i, j)), 0.000000f)", 100));
  EXPECT_FALSE(judge("A((i*j))", 4095 * 4095 + 1));
}

void lowered(const Schedule& s) {
  const Schedule normalized = normalize(s);
  check_reads(normalized, infer_bound(normalized));
}

TEST(CheckBounds, AnOutputIsRefusedByCreate) {
  expect_error(ErrorCode::OutOfBounds, [] { test::scheduled(program("A((i + i))", 8, 8)); });
}

// B is computed whole at the outermost level, and reads outside; inside a loop of C, or inlined, it
// is computed for what C reads of it.
TEST(CheckBounds, AStageIsJudgedByWhatIsComputedOfIt) {
  constexpr char text[] =
      "A = placeholder(float32, [10])\n"
      "B = compute([i: 12], A((i - 1)))\n"
      "C = compute([i: 10], (B((i + 1))*2.000000f))\n"
      "arguments A C\noutputs C\n";
  const Schedule whole = test::scheduled(text);
  const ErrorInfo e = expect_error(ErrorCode::OutOfBounds, [&] { lowered(whole); });
  EXPECT_EQ(e.stage, "B");
  EXPECT_EQ(e.what, "index 0 of 'A', (i - 1), goes from -1 to 10");
  lowered(test::scheduled(text, "compute_inline@1(s1)"));
  lowered(test::scheduled(text, "split@1(s2, s2:0, factor=5)\ncompute_at@1(s1, s2, t0.0)"));
}

// No schedule makes a program doubtful whose every stage is inside.
TEST(CheckBounds, SchedulesOfWhatIsInsideAreNotJudged) {
  lowered(
      test::scheduled("A = placeholder(float32, [9, 9])\n"
                      "B = compute([y: 9, x: 9], (A(y, x)*2.000000f))\n"
                      "C = compute([y: 9, x: 9], A(floordiv(((y*9) + x), 9), x))\n"
                      "D = compute([y: 9, x: 9], (B(y, x) + C(x, y)))\n"
                      "arguments A D\noutputs D\n",
                      "transform_layout@1(s1, axis=s1:1, factor=4)\n"
                      "collapse_layout@1(s2, [s2:0, s2:1])\n"));
}

}  // namespace
}  // namespace tw
