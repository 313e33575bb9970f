// SPDX-License-Identifier: Apache-2.0
#include "ir/changes.h"

#include <gtest/gtest.h>

#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "ir/interpret.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/substitute.h"

namespace tw {
namespace {

// The condition of the first `if` of the text, and what it guards.
std::pair<Expr, Stmt> guarded(const std::string& text) {
  const Stmt s = parse_stmt("declare A: int32*\ndeclare B: int32*\ndeclare n: int32\n" + text);
  const IfThenElse* op = as<IfThenElse>(s);
  return {op->condition, op->then_case};
}

std::string lasts(const std::string& condition, const std::string& body) {
  const auto [c, s] = guarded("if (" + condition + ") {\n  " + body + "\n}\n");
  const Expr rest = lasting(c, s);
  return rest.defined() ? to_string(rest) : "";
}

TEST(Changes, AConditionOnMemoryLastsUntilItIsWritten) {
  EXPECT_EQ(lasts("(A[0] < 3)", "B[0] = 1"), "(A[0] < 3)");
  EXPECT_EQ(lasts("(A[0] < 3)", "A[5] = 1"), "");
  EXPECT_EQ(lasts("(n < 3)", "A[5] = 1"), "(n < 3)");
  EXPECT_EQ(lasts("((A[0] < 3) && (n < 4))", "A[5] = 1"), "(n < 4)");
  EXPECT_EQ(lasts("likely(((A[0] < 3) && (B[n] < 4)))", "A[5] = 1"), "(B[n] < 4)");
  EXPECT_EQ(lasts("((A[0] < 3) || (n < 4))", "A[5] = 1"), "");
  EXPECT_EQ(lasts("(A[0] < 3)", "for (i, 0, n) {\n A[i] = 1\n }"), "");
  EXPECT_EQ(lasts("(A[0] < 3)", "B[0] = call_extern<int32>(\"f\", 1)"), "");
}

// Both branches of what is asked twice are kept where the first branch changes what is asked.
TEST(Changes, SimplifyForgetsWhatIsWritten) {
  const std::string text =
      "declare A: int32*\n"
      "if ((A[0] < 3)) {\n"
      "  A[0] = 7\n"
      "  if ((A[0] < 3)) {\n"
      "    A[1] = 1\n"
      "  }\n"
      "}\n";
  const std::string same = to_string(parse_stmt(text));
  EXPECT_EQ(to_string(simplify(parse_stmt(text))), same);
  EXPECT_EQ(to_string(canonical_simplify(parse_stmt(text))), same);
  EXPECT_EQ(to_string(simplify(parse_stmt("declare A: int32*\ndeclare B: int32*\n"
                                          "if ((A[0] < 3)) {\n"
                                          "  if ((A[0] < 3)) {\n"
                                          "    B[1] = 1\n"
                                          "  }\n"
                                          "}\n"))),
            "if ((A[0] < 3)) {\n  B[1] = 1\n}\n");
}

TEST(Changes, ALoopWhoseEndIsWrittenKeepsItsConditions) {
  const std::string text =
      "declare A: int32*\n"
      "for (i, 0, A[0]) {\n"
      "  A[0] = 1\n"
      "  if ((i < A[0])) {\n"
      "    A[1] = i\n"
      "  }\n"
      "}\n";
  EXPECT_EQ(to_string(simplify(parse_stmt(text))), to_string(parse_stmt(text)));
}

TEST(Changes, BoundsThatChangeAreHeld) {
  const auto held = [](const std::string& text) {
    return to_string(hold_changing_bounds(parse_stmt("declare A: int32*\n" + text)));
  };
  EXPECT_EQ(held("for (i, A[0], 1) {\n  A[0] = i\n}\n"),
            "let i.first = A[0]\nfor (i, i.first, 1) {\n  A[0] = i\n}\n");
  const std::string plain = "for (i, 2, A[0]) {\n  A[0] = i\n}\n";
  EXPECT_EQ(held(plain), plain);
}

}  // namespace
}  // namespace tw
