// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/interpret.h"
#include "ir/substitute.h"
#include "tests/support/random_ir.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

std::string partitioned(std::string_view text, bool constant = false) {
  return run_pass(pass::loop_partition, text, {.partition_const_loop = constant});
}

TEST(LoopPartition, SymbolicTail) {
  EXPECT_EQ(partitioned(R"(declare A: float32*
declare n: int32
for (y, 0, floordiv((n + 7), 8)) {
  for (x, 0, 8) {
    if (likely((((y*8) + x) < n))) {
      A[((y*8) + x)] = 0.000000f
    }
  }
}
)"),
            R"(for (y, 0, min(max(floordiv(n, 8), 0), floordiv((n + 7), 8))) {
  for (x, 0, 8) {
    A[((y*8) + x)] = 0.000000f
  }
}
for (y_1, 0, max((floordiv((n + 7), 8) - max(floordiv(n, 8), 0)), 0)) {
  for (x_1, 0, 8) {
    if (likely(((((min(max(floordiv(n, 8), 0), floordiv((n + 7), 8)) + y_1)*8) + x_1) < n))) {
      A[(((min(max(floordiv(n, 8), 0), floordiv((n + 7), 8)) + y_1)*8) + x_1)] = 0.000000f
    }
  }
}
)");
}

TEST(LoopPartition, ConditionsGoInFrontOfLoopsThatTheyDoNotDependOn) {
  EXPECT_EQ(partitioned(R"(declare A: int32*
declare n: int32
for (y, 0, 4) {
  for (x, 0, 8) {
    for (k, 0, 4) {
      if ((likely((y < n)) && (likely((x < n)) && (A[k] < 3)))) {
        A[((y*8) + x)] = k
      }
    }
  }
}
)"),
            R"(for (y, 0, 4) {
  if (likely((y < n))) {
    for (x, 0, 8) {
      if (likely((x < n))) {
        for (k, 0, 4) {
          if ((A[k] < 3)) {
            A[((y*8) + x)] = k
          }
        }
      }
    }
  }
}
)");
}

// Copies side by side need a number that is known, which a cut at a symbolic place would take away.
TEST(LoopPartition, UnrolledLoopKeepsItsConstantExtent) {
  constexpr std::string_view kText = R"(declare A: float32*
for (y, 0, 7) {
  unrolled (x, 0, 2) {
    if (likely((((y*2) + x) < 13))) {
      A[((y*2) + x)] = 0.000000f
    }
  }
}
)";
  const std::string cut = partitioned(kText, true);
  EXPECT_EQ(cut.find("unrolled (x, 0, m"), std::string::npos) << cut;
  EXPECT_NE(cut.find("unrolled (x, 0, 2)"), std::string::npos) << cut;
}

constexpr std::string_view kConstant = R"(declare A: float32*
for (y, 0, 4) {
  for (x, 0, 8) {
    if (likely((((y*8) + x) < 29))) {
      A[((y*8) + x)] = 0.000000f
    }
  }
}
)";

TEST(LoopPartition, ConstantExtentOnlyWhenAsked) {
  EXPECT_EQ(partitioned(kConstant), R"(for (y, 0, 4) {
  for (x, 0, 8) {
    if (likely((((y*8) + x) < 29))) {
      A[((y*8) + x)] = 0.000000f
    }
  }
}
)");
  EXPECT_EQ(partitioned(kConstant, true), R"(for (y, 0, 3) {
  for (x, 0, 8) {
    A[((y*8) + x)] = 0.000000f
  }
}
for (x_1, 0, 5) {
  A[((3*8) + x_1)] = 0.000000f
}
)");
}

TEST(LoopPartition, PrologueAndEpilogue) {
  EXPECT_EQ(partitioned(R"(declare A: float32*
declare B: float32*
for (x, 0, 12) {
  A[x] = tvm_if_then_else((likely((2 <= x)) && likely((x < 10))), B[(x - 2)], 0.000000f)
}
)",
                        true),
            R"(for (x, 0, 2) {
  A[x] = 0.000000f
}
for (x_1, 0, 8) {
  A[(2 + x_1)] = B[((2 + x_1) - 2)]
}
for (x_2, 0, 2) {
  A[(10 + x_2)] = 0.000000f
}
)");
}

// Where extents are constants each part is known to be inside or outside: no condition is left.
TEST(LoopPartition, NoConditionIsLeftOfConstantExtents) {
  for (std::string_view condition :
       {"likely((x == 3))", "(likely((2 <= x)) && likely((x < 10)))", "likely((x == (y + 2)))",
        "(likely((x < 7)) && likely((x == 5)))",
        "(likely((1 <= y)) && likely((((y*12) + x) < 40)))",
        // Several rows are cut, each at a place of its own.
        "likely((((y*12) + x) < 29))", "likely((((y*5) + x) < 13))", "likely((7 <= ((y*5) + x)))",
        "(likely((3 <= (y + x))) && likely(((y + x) < 11)))",
        // Both sides in one, windows inside one row and rows that are beside all of them.
        "likely(((3 <= ((y*12) + x)) && (((y*12) + x) < 45)))",
        "likely(((14 <= ((y*12) + x)) && (((y*12) + x) < 17)))", "likely((((y*12) + x) == 29))",
        "(likely((((y*12) + x) < 45)) && likely(((3 <= ((y*12) + x)) && (((y*12) + x) < 41))))",
        "likely(((((y*12) + x) == 17) && (x < 7)))",
        // All but one, and one of several.
        "likely((x != 5))", "likely((((y*12) + x) != 17))", "likely(((y*12) != x))",
        "likely(((x == 0) || (y == 3)))", "likely(((((y*12) + x) < 5) || (40 < ((y*12) + x))))",
        "likely((((x != 3) && (y != 2)) || (x == 11)))"}) {
    const std::string text = "declare A: float32*\nfor (y, 0, 4) {\n  for (x, 0, 12) {\n    if (" +
                             std::string(condition) +
                             ") {\n      A[((y*12) + x)] = 1.000000f\n    }\n  }\n}\n";
    Kernel kernel{.body = parse_stmt(text)};
    const PassOptions options{.partition_const_loop = true};
    for (KernelPass pass : {pass::loop_partition, pass::simplify, pass::remove_no_op})
      kernel = run_pass(pass, std::move(kernel), options);
    const std::string result = to_string(kernel.body);
    EXPECT_EQ(result.find("if ("), std::string::npos) << condition << "\n" << result;
    EXPECT_NE(result.find("A["), std::string::npos) << condition;
  }
}

// The matrix of 100 rows of 60 in tiles of 7 by 8, which divide neither, and an element that is one
// thing where a condition of its position holds, and another elsewhere.
TEST(LoopPartition, NoConditionIsLeftOfTiles) {
  const auto values = [](const Stmt& body, const Stmt& free) {
    InterpreterScope scope;
    InterpreterBuffer a(int_type(32), 6000);
    scope.buffers[free_vars(free)[0]] = &a;
    interpret(body, scope);
    std::vector<int64_t> result;
    for (int64_t k = 0; k < a.size(); ++k) result.push_back(a.at(k).i);
    return result;
  };
  // Of several statements, and where no more copies may be made, loops still end where they have
  // to.
  for (const auto& [condition, statements] :
       {std::pair("{i} < 30", 1), std::pair("{i} < 30", 5), std::pair("3 <= {i}) && ({j} < 50", 1),
        std::pair("(3 <= {i}) && ({i} < 97)) && (2 <= {j}", 1), std::pair("{i} == 50", 1),
        std::pair("{i} != 7", 1), std::pair("{i} != 7) && ({j} != 59", 1),
        std::pair("{i} == 0) || ({j} == 59", 1), std::pair("{i} == {j}", 1),
        std::pair("{i} <= {j}", 1), std::pair("{i} == ({j} + 3)", 1),
        std::pair("({i} - {j}) <= 2) && (({j} - {i}) <= 2", 1)}) {
    const auto i = fmt::arg("i", "((a*7) + b)"), j = fmt::arg("j", "((c*8) + d)");
    const std::string test = fmt::format(fmt::runtime(condition), i, j);
    std::string stores;
    for (int k = 0; k < statements; ++k) {
      stores += fmt::format(
          "A[((((a*7) + b)*60) + ((c*8) + d))] = tvm_if_then_else(likely((({}))), {}, 2)\n", test,
          k);
    }
    const Stmt before = parse_stmt(
        "declare A: int32*\nfor (a, 0, 15) {\nfor (c, 0, 8) {\nfor (b, 0, 7) {\n"
        "if (likely((((a*7) + b) < 100))) {\nfor (d, 0, 8) {\n"
        "if (likely((((c*8) + d) < 60))) {\n" +
        stores + "}\n}\n}\n}\n}\n}\n");
    const PassOptions options{.partition_const_loop = true};
    Kernel kernel{.body = before};
    for (KernelPass pass : {pass::loop_partition, pass::simplify, pass::remove_no_op})
      kernel = run_pass(pass, std::move(kernel), options);
    const std::string result = to_string(kernel.body);
    EXPECT_EQ(result.find("if"), std::string::npos) << condition << "\n" << result;
    EXPECT_EQ(values(kernel.body, before), values(before, before)) << condition;
  }
}

// Tiles beside the diagonal keep their extents; only those on it are cut.
TEST(LoopPartition, TheDiagonalOfTiles) {
  EXPECT_EQ(partitioned(R"(declare A: int32*
for (a, 0, 4) {
  for (c, 0, 4) {
    for (b, 0, 8) {
      for (d, 0, 8) {
        if (likely((((a*8) + b) == ((c*8) + d)))) {
          A[((((a*8) + b)*32) + ((c*8) + d))] = 1
        }
      }
    }
  }
}
)",
                        true),
            R"(for (a, 0, 4) {
  for (b, 0, 8) {
    A[((((a*8) + b)*32) + ((a*8) + b))] = 1
  }
}
)");
  EXPECT_EQ(partitioned(R"(declare A: int32*
for (a, 0, 4) {
  for (c, 0, 4) {
    for (b, 0, 8) {
      for (d, 0, 8) {
        A[((((a*8) + b)*32) + ((c*8) + d))] = tvm_if_then_else(likely((((c*8) + d) == ((a*8) + b))), 1, 0)
      }
    }
  }
}
)",
                        true),
            R"(for (a, 0, 4) {
  for (c, 0, a) {
    for (b, 0, 8) {
      for (d, 0, 8) {
        A[((((a*8) + b)*32) + ((c*8) + d))] = 0
      }
    }
  }
  for (b_1, 0, 8) {
    for (d_1, 0, b_1) {
      A[((((a*8) + b_1)*32) + ((a*8) + d_1))] = 0
    }
    A[((((a*8) + b_1)*32) + ((a*8) + b_1))] = 1
    for (d_2, 0, (7 - b_1)) {
      A[((((a*8) + b_1)*32) + ((a*8) + ((b_1 + 1) + d_2)))] = 0
    }
  }
  for (c_1, 0, (3 - a)) {
    for (b_2, 0, 8) {
      for (d_3, 0, 8) {
        A[((((a*8) + b_2)*32) + ((((a + 1) + c_1)*8) + d_3))] = 0
      }
    }
  }
}
)");
}

TEST(LoopPartition, AllButOne) {
  EXPECT_EQ(partitioned(R"(declare A: float32*
declare B: float32*
for (x, 0, 12) {
  B[x] = tvm_if_then_else(likely((x != 5)), A[x], 0.000000f)
}
)",
                        true),
            R"(for (x, 0, 5) {
  B[x] = A[x]
}
B[(5 + 0)] = 0.000000f
for (x_1, 0, 6) {
  B[(5 + (1 + x_1))] = A[(5 + (1 + x_1))]
}
)");
}

// A vector of 100, split by 8, of which all but three elements at either end are read.
TEST(LoopPartition, BothEndsOfARowOfTiles) {
  EXPECT_EQ(partitioned(R"(declare A: float32*
declare B: float32*
for (y, 0, 13) {
  for (x, 0, 8) {
    if (likely((((y*8) + x) < 100))) {
      B[((y*8) + x)] = tvm_if_then_else(likely(((3 <= ((y*8) + x)) && (((y*8) + x) < 97))), A[((y*8) + x)], 0.000000f)
    }
  }
}
)",
                        true),
            R"(for (x, 0, 3) {
  B[((0*8) + x)] = 0.000000f
}
for (x_1, 0, 5) {
  B[((0*8) + (3 + x_1))] = A[((0*8) + (3 + x_1))]
}
for (y, 0, 11) {
  for (x_2, 0, 8) {
    B[(((1 + y)*8) + x_2)] = A[(((1 + y)*8) + x_2)]
  }
}
B[((12*8) + 0)] = A[((12*8) + 0)]
for (x_3, 0, 3) {
  B[((12*8) + (1 + x_3))] = 0.000000f
}
)");
}

// Conditions of all kinds, several at once: what is stored is what was stored before.
TEST(LoopPartition, WhatIsStoredStaysTheSame) {
  test::Random random(7);
  const auto values = [](const Stmt& body, const Stmt& free) {
    InterpreterScope scope;
    InterpreterBuffer a(int_type(32), 60);
    scope.buffers[free_vars(free)[0]] = &a;
    interpret(body, scope);
    std::vector<int64_t> result;
    for (int64_t k = 0; k < a.size(); ++k) result.push_back(a.written(k) ? a.at(k).i : -1);
    return result;
  };
  for (int round = 0; round < 300; ++round) {
    const int64_t rows = random.between(1, 5), row = random.between(1, 12);
    std::string condition;
    for (int64_t k = random.between(1, 4); k > 0; --k) {
      static const std::vector<std::string> tests = {"<", "<=", ">", ">=", "==", "!="};
      const std::string part = fmt::format("({} {} {})",
                                           random.chance(70)   ? fmt::format("((y*{}) + x)", row)
                                           : random.chance(50) ? "x"
                                                               : "y",
                                           random.pick(tests), random.between(-2, rows * row + 2));
      const bool marked = random.chance(80);
      if (condition.empty()) {
        condition = marked ? "likely(" + part + ")" : part;
      } else if (random.chance(30)) {
        condition = "likely((" + part + " || " + condition + "))";
      } else if (random.chance(50)) {
        condition = "(" + condition + " && likely(" + part + "))";
      } else {
        condition = "likely((" + part + " && " + condition + "))";
      }
    }
    const std::string text = fmt::format(
        "declare A: int32*\nfor (y, 0, {0}) {{\n  for (x, 0, {1}) {{\n    if ({2}) {{\n      "
        "A[((y*{1}) + x)] = (x - y)\n    }}\n  }}\n}}\n",
        rows, row, condition);
    const Stmt before = parse_stmt(text);
    const PassOptions options{.partition_const_loop = random.chance(80)};
    const Kernel after = run_pass(pass::loop_partition, Kernel{.body = before}, options);
    ASSERT_EQ(values(after.body, before), values(before, before)) << text << "\n"
                                                                  << to_string(after.body);
  }
}

// What lies beyond the place where a condition ends to hold is not written.
TEST(LoopPartition, ARowEndsWhereItsConditionDoes) {
  EXPECT_EQ(partitioned(R"(declare A: float32*
for (y, 2, 2) {
  for (x, 0, 12) {
    if (likely((((y*12) + x) < 29))) {
      A[((y*12) + x)] = 1.000000f
    }
  }
}
)",
                        true),
            R"(for (y, 2, 2) {
  for (x, 0, max((29 - (y*12)), 0)) {
    A[((y*12) + x)] = 1.000000f
  }
}
)");
}

TEST(LoopPartition, ParallelLoopsStayWhole) {
  EXPECT_EQ(partitioned(R"(declare A: float32*
parallel (y, 0, 4) {
  if (likely((y < 3))) {
    A[y] = 0.000000f
  }
}
)",
                        true),
            R"(parallel (y, 0, 4) {
  if (likely((y < 3))) {
    A[y] = 0.000000f
  }
}
)");
}

TEST(LoopPartition, ConditionsWithoutLikelyStay) {
  EXPECT_EQ(partitioned(R"(declare A: float32*
for (y, 0, 4) {
  if ((y < 3)) {
    A[y] = 0.000000f
  }
}
)",
                        true),
            R"(for (y, 0, 4) {
  if ((y < 3)) {
    A[y] = 0.000000f
  }
}
)");
}

// Where it stops to hold is what the loop itself writes.
TEST(LoopPartition, ConditionsThatTheLoopChangesStay) {
  const std::string text =
      "for (i, 0, 6) {\n  if (likely((t[0] < i))) {\n    t[0] = (t[0] + 3)\n  }\n}\n";
  EXPECT_EQ(run_pass(pass::loop_partition, "declare t: int32*\n" + text), text);
}

// A loop inside that is longer in each iteration of another, or of this one: where all of its
// iterations hold is decided by the longest.
TEST(LoopPartition, LoopsInsideThatAreLongerInEachIteration) {
  EXPECT_EQ(partitioned(R"(declare A: int32*
declare n: int32
for (y, 0, n) {
  for (i, 0, 5) {
    for (k, 0, ((i*2) + 1)) {
      if (likely(((y + k) < n))) {
        A[(y + k)] = i
      }
    }
  }
}
)"),
            R"(for (y, 0, min(max((n + -8), 0), n)) {
  for (i, 0, 5) {
    for (k, 0, ((i*2) + 1)) {
      A[(y + k)] = i
    }
  }
}
for (y_1, 0, max(min(n, 8), 0)) {
  for (i_1, 0, 5) {
    for (k_1, 0, min((max(min(n, 8), 0) - y_1), ((i_1*2) + 1))) {
      A[((min(max((n + -8), 0), n) + y_1) + k_1)] = i_1
    }
    for (k_2, 0, (max((((i_1*2) - max(min(n, 8), 0)) + y_1), -1) + 1)) {
      if (likely((((min(max((n + -8), 0), n) + y_1) + (min((max(min(n, 8), 0) - y_1), ((i_1*2) + 1)) + k_2)) < n))) {
        A[((min(max((n + -8), 0), n) + y_1) + (min((max(min(n, 8), 0) - y_1), ((i_1*2) + 1)) + k_2))] = i_1
      }
    }
  }
}
)");
  EXPECT_EQ(partitioned(R"(declare A: int32*
for (i, 0, 10) {
  for (k, 0, (floordiv(i, 4) + 1)) {
    for (j, 0, 4) {
      if (likely((((k*4) + j) < (i + 1)))) {
        A[((k*4) + j)] = i
      }
    }
  }
}
)",
                        true),
            R"(for (i, 0, 10) {
  for (k, 0, floordiv((i + 1), 4)) {
    for (j, 0, 4) {
      A[((k*4) + j)] = i
    }
  }
  for (k_1, 0, ((floordiv(i, 4) - floordiv((i + 1), 4)) + 1)) {
    for (j_1, 0, min(max(((i - (floordiv((i + 1), 4)*4)) + 1), 0), 4)) {
      A[(((floordiv((i + 1), 4) + k_1)*4) + j_1)] = i
    }
  }
}
)");
}

}  // namespace
}  // namespace tw
