// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/interpret.h"
#include "lower/llvm/target.h"
#include "tests/support/expect_error.h"
#include "tests/support/scheduled.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

using test::expect_error;

std::string checked(std::string_view text) {
  return run_pass(pass::check_bounds, text, {.check_bounds = true});
}

TEST(CheckBoundsPass, AGatherIsTested) {
  constexpr char text[] =
      "declare A: float32[10]\ndeclare I: int32[8]\ndeclare B: float32[8]\n"
      "for (i, 0, 8) {\n  B(i) = A(I(i))\n}\n";
  EXPECT_EQ(checked(text), R"(for (i, 0, 8) {
  assert(((0 <= I(i)) && (I(i) < 10)), "index 0 of 'A', I(i), is not from 0 to 10 - 1")
  B(i) = A(I(i))
}
)");
  EXPECT_EQ(run_pass(pass::check_bounds, text), "for (i, 0, 8) {\n  B(i) = A(I(i))\n}\n");
}

TEST(CheckBoundsPass, WhatLoopsAndConditionsProveIsNot) {
  constexpr char text[] =
      "declare A: float32[10]\ndeclare B: float32[12]\n"
      "for (i, 0, 12) {\n"
      "  if ((i < 10)) {\n    B(i) = A(i)\n  }\n"
      "  B(i) = tvm_if_then_else((2 <= i), A((i - 2)), 0.000000f)\n"
      "}\n";
  EXPECT_EQ(checked(text).find("assert"), std::string::npos) << checked(text);
}

// An index under a condition is looked at where the condition holds only.
TEST(CheckBoundsPass, ATestStandsUnderTheConditionsOfItsRead) {
  const std::string text = checked(
      "declare A: float32[10]\ndeclare I: int32[8]\ndeclare B: float32[8]\n"
      "for (i, 0, 8) {\n  B(i) = tvm_if_then_else((I(i) < 10), A(I(i)), 0.000000f)\n}\n");
  EXPECT_NE(text.find("assert(tvm_if_then_else((I(i) < 10), (0 <= I(i)), (bool)1)"),
            std::string::npos)
      << text;
}

TEST(CheckBoundsPass, WhatAWhileLoopAsksIsTestedBeforeEachRound) {
  constexpr char assertion[] =
      "assert(((0 <= C(0)) && (C(0) < 10)), \"index 0 of 'A', C(0), is not from 0 to 10 - 1\")\n";
  EXPECT_EQ(checked("declare A: int32[10]\ndeclare C: int32[1]\n"
                    "while ((A(C(0)) > 0)) {\n  C(0) = (C(0) + 1)\n}\nC(0) = 0\n"),
            std::string("{\n  ") + assertion +
                "}\nwhile ((A(C(0)) > 0)) {\n  C(0) = (C(0) + 1)\n  " + assertion +
                "}\nC(0) = 0\n");
}

constexpr char kGather[] =
    "A = placeholder(float32, [10])\nI = placeholder(int32, [8])\n"
    "B = compute([i: 8], A(I(i)))\narguments A I B\noutputs B\n";

// Whatever the schedule makes of the loops, the kernel ends with the error and not with the read.
TEST(CheckBoundsPass, EverySchedulesKernelRefusesABadIndex) {
  for (const char* trace : {"", "split@1(s2, s2:0, factor=3)\nunroll@1(s2, t0.1)",
                            "vectorize@1(s2, s2:0)", "parallel@1(s2, s2:0)"}) {
    const Schedule s = test::scheduled(kGather, trace);
    std::vector<LowerArgument> arguments;
    for (const te::Tensor& t : te::make_program(s.outputs()).arguments) arguments.emplace_back(t);
    const Kernel kernel =
        lower(s, arguments, Target(), {.passes = {.check_bounds = true}, .stop_after = "simplify"});
    for (const int64_t last : {9, 10, -1}) {
      InterpreterBuffer a(float_type(32), 10), i(int_type(32), 8), b(float_type(32), 8);
      for (int64_t k = 0; k < 10; ++k) a.set(k, {.type = float_type(32), .f = 1.0 * k});
      for (int64_t k = 0; k < 8; ++k) i.set(k, {.type = int_type(32), .i = k == 6 ? last : k});
      InterpreterScope scope;
      InterpreterBuffer* buffers[] = {&a, &i, &b};
      for (size_t k = 0; k < 3; ++k) scope.buffers[kernel.arguments[k].var] = buffers[k];
      if (last == 9) {
        interpret(kernel.body, scope);
        EXPECT_EQ(b.at(6).f, 9.0) << trace;
      } else {
        expect_error(ErrorCode::AssertionFailed, [&] { interpret(kernel.body, scope); });
      }
    }
  }
}

// What lowering refuses, it tests with the option.
TEST(CheckBoundsPass, AStageThatReadsOutsideIsRefusedOrTested) {
  const Schedule s = test::scheduled(
      "A = placeholder(float32, [10])\nB = compute([i: 12], A((i - 1)))\n"
      "C = compute([i: 10], B((i + 1)))\narguments A C\noutputs C\n");
  std::vector<LowerArgument> arguments;
  for (const te::Tensor& t : te::make_program(s.outputs()).arguments) arguments.emplace_back(t);
  EXPECT_EQ(expect_error(ErrorCode::OutOfBounds, [&] { lower(s, arguments, Target()); }).stage,
            "B");
  const Kernel kernel = lower(s, arguments, Target(), {.passes = {.check_bounds = true}});
  EXPECT_NE(to_string(kernel.body).find("index 0 of 'A'"), std::string::npos);
}

}  // namespace
}  // namespace tw
