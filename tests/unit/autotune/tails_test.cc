// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "autotune/space/analysis.h"

namespace tw::autotune {
namespace {

// Facts by the names that the text gives.
class Facts {
 public:
  explicit Facts(const std::string& te) {
    facts_ = analyze(te::parse_program("te 1\n" + te));
    for (size_t op = 0; op < facts_.size(); ++op) numbers_[facts_[op].op.name()] = op;
  }
  std::string tail(const std::string& name) const { return names(of(name).tail); }
  // Behind the tail, and which axis of theirs each of the operation's own is.
  std::string permuted(const std::string& name) const {
    std::string text = names(of(name).permuted_tail);
    for (const auto& axis : of(name).permutation) text += axis ? ' ' + std::to_string(*axis) : " -";
    return text;
  }
  std::string company(const std::string& name) const { return names(of(name).company); }
  std::string way(const std::string& name) const { return names(of(name).way); }
  std::string order() const { return names(tiling_order(facts_)); }

 private:
  const OperationFacts& of(const std::string& name) const { return facts_.at(numbers_.at(name)); }
  std::string names(const std::vector<size_t>& ops) const {
    std::string text;
    for (size_t op : ops) text += (text.empty() ? "" : " ") + facts_[op].op.name();
    return text;
  }
  std::vector<OperationFacts> facts_;
  std::map<std::string, size_t> numbers_;
};

std::string product(const std::string& name, int depth) {
  const std::string k = std::to_string(depth);
  return name + "a = placeholder(int32, [8, " + k + "])\n" + name + "b = placeholder(int32, [" + k +
         ", 16])\n" + name + " = compute([i: 8, j: 16], reduce [k: " + k + "], sum((" + name +
         "a(i, k)*" + name + "b(k, j))))\n";
}
std::string pointwise(const std::string& name, const std::string& value) {
  return name + " = compute([i: 8, j: 16], " + value + ")\n";
}

// An extern's outputs have shapes of their own, and what is read of it is not of the first one's
// rank.
TEST(Tails, OutputsOfSeveralRanksAreRead) {
  const Facts facts(
      "A = placeholder(int32, [4])\n"
      "E = extern(inputs=[A], outputs=[int32: [4, 3], int32: [4], int32: []], memory=[a, e, f, g], "
      "body=\"e[0] = a[0]\\nf[0] = a[1]\\ng[0] = a[2]\\n\")\n"
      "D = compute([i: 4], ((E.v1(i) + E.v2()) + E.v0(i, 2)))\n"
      "arguments A D\noutputs D\n");
  EXPECT_EQ(facts.tail("E"), "");
  EXPECT_EQ(facts.permuted("E"), "");
  EXPECT_EQ(facts.order(), "");
}

TEST(Tails, OneHasAllBehindIt) {
  const Facts f(product("P", 4) + pointwise("r", "max(P(i, j), 0)") +
                pointwise("s", "(r(i, j) + 1)") + "arguments Pa Pb s\noutputs s\n");
  EXPECT_EQ(f.tail("P"), "r s");
  EXPECT_EQ(f.company("P"), "");
}

TEST(Tails, MostArithmeticOwnsWhatFollows) {
  for (const bool swapped : {false, true}) {
    const Facts f(product("P", swapped ? 9 : 4) + product("Q", swapped ? 4 : 9) +
                  pointwise("r", "max(P(i, j), 0)") + pointwise("s", "(r(i, j) + Q(i, j))") +
                  pointwise("t", "(s(i, j)*2)") + "arguments Pa Pb Qa Qb t\noutputs t\n");
    EXPECT_EQ(f.tail("P"), swapped ? "r s t" : "r");
    EXPECT_EQ(f.tail("Q"), swapped ? "" : "s t");
    EXPECT_EQ(f.company("P"), swapped ? "Q" : "");
    EXPECT_EQ(f.company("Q"), swapped ? "" : "P");
    EXPECT_EQ(f.order(), swapped ? "P Q" : "Q P");
  }
}

// What is read by several is in the tail where these meet again before anything is stored.
TEST(Tails, DiamondsAreOfTheTail) {
  const std::string head = product("P", 4) + pointwise("a", "(P(i, j) + 1)") +
                           pointwise("b", "max(a(i, j), 0)") + pointwise("c", "(a(i, j)*b(i, j))");
  EXPECT_EQ(Facts(head + "arguments Pa Pb c\noutputs c\n").tail("P"), "a b c");
  EXPECT_EQ(Facts(head + "arguments Pa Pb b c\noutputs b c\n").tail("P"), "a");
  const Facts apart(head + "S = compute([i: 8], reduce [k: 16], sum(c(i, k)))\n" +
                    pointwise("d", "(c(i, j) - S(i))") + "arguments Pa Pb d\noutputs d\n");
  EXPECT_EQ(apart.tail("P"), "a b c");
}

// Two ways lead from P to the meeting place, on one of which Q's tail begins.
TEST(Tails, WaysOfOthersAreNotTaken) {
  const std::string diamond =
      pointwise("a", "max(P(i, j), 0)") + pointwise("b", "(P(i, j) + Q(i, j))") +
      pointwise("c", "(a(i, j)*b(i, j))") + "arguments Pa Pb Qa Qb c\noutputs c\n";
  const Facts large(product("P", 4) + product("Q", 9) + diamond);
  EXPECT_EQ(large.tail("Q"), "b c");
  EXPECT_EQ(large.tail("P"), "");
  EXPECT_EQ(large.company("Q"), "P");
  EXPECT_EQ(large.way("P"), "a b");
  const Facts small(product("P", 9) + product("Q", 4) + diamond);
  EXPECT_EQ(small.tail("P"), "a b c");
  EXPECT_EQ(small.company("P"), "Q");
}

// Each of these reads the one before twice: what is stored has at most eight copies of the first.
TEST(Tails, EndWhereExpressionsWouldGrow) {
  std::string text = product("P", 4) + pointwise("y0", "(P(i, j) + 1)");
  for (int k = 1; k <= 6; ++k) {
    const std::string before = "y" + std::to_string(k - 1) + "(i, j)";
    text += pointwise("y" + std::to_string(k), "(" + before + "*" + before + ")");
  }
  EXPECT_EQ(Facts(text + "arguments Pa Pb y6\noutputs y6\n").tail("P"), "y0 y1 y2 y3");
}

TEST(Tails, OtherPositionsAndShapesEndThem) {
  const Facts moved(product("P", 4) +
                    "t = compute([i: 16, j: 8], P(j, i))\narguments Pa Pb t\noutputs t\n");
  EXPECT_EQ(moved.tail("P"), "");
  const Facts part(product("P", 4) +
                   "t = compute([i: 8, j: 15], P(i, j))\narguments Pa Pb t\noutputs t\n");
  EXPECT_EQ(part.tail("P"), "");
}

TEST(Tails, WhatReadsTheirEndInAnotherOrderFollows) {
  const std::string p = product("P", 4) + pointwise("r", "max(P(i, j), 0)");
  const std::string turned = "t = compute([i: 16, one: 1, j: 8], (r(j, i)*r(j, i)))\n";
  const Facts f(p + turned +
                "u = compute([i: 16, one: 1, j: 8], (t(i, one, j)*t(i, one, j)))\n"
                "arguments Pa Pb u\noutputs u\n");
  EXPECT_EQ(f.tail("P"), "r");
  EXPECT_EQ(f.permuted("P"), "t u 2 0");
  EXPECT_EQ(Facts(p + turned + "arguments Pa Pb t r\noutputs t r\n").permuted("P"), "");
}

TEST(Tails, OneOfSeveralPositionsIsNoPermutation) {
  const auto permuted = [](const std::string& shape, const std::string& value) {
    return Facts(product("P", 4) + "t = compute([" + shape + "], " + value +
                 ")\narguments Pa Pb t\noutputs t\n")
        .permuted("P");
  };
  EXPECT_EQ(permuted("i: 16, j: 8", "P(j, i)"), "t 1 0");
  EXPECT_EQ(permuted("i: 16, j: 7", "P(j, i)"), "");
  EXPECT_EQ(permuted("i: 16, j: 8, k: 2", "P(j, i)"), "");
  EXPECT_EQ(permuted("i: 8, j: 8", "P(i, j)"), "");
  EXPECT_EQ(permuted("i: 8, j: 16, k: 1", "(P(i, j) + P(i, (15 - j)))"), "");
  EXPECT_EQ(permuted("i: 8, j: 16, k: 1", "P(i, j)"), "t 0 1");
}

// What stands behind is written eight times into an expression at most.
TEST(Tails, PermutedOnesEndWhereExpressionsGrow) {
  std::string text = product("P", 4) + "y0 = compute([j: 16, i: 8], (P(i, j)*P(i, j)))\n";
  for (int k = 1; k <= 4; ++k) {
    const std::string before = "y" + std::to_string(k - 1) + "(j, i)";
    text +=
        "y" + std::to_string(k) + " = compute([j: 16, i: 8], (" + before + "*" + before + "))\n";
  }
  EXPECT_EQ(Facts(text + "arguments Pa Pb y4\noutputs y4\n").permuted("P"), "y0 y1 y2 1 0");
}

// Sums of one tile lie alike, so that what follows two of them keeps their order.
TEST(Tails, CompanyKeepsItsOrder) {
  const Facts f(product("P", 4) + product("Q", 9) + pointwise("s", "(P(i, j) + Q(i, j))") +
                "t = compute([i: 16, j: 8], s(j, i))\narguments Pa Pb Qa Qb t\noutputs t\n");
  EXPECT_EQ(f.tail("Q"), "s");
  EXPECT_EQ(f.company("Q"), "P");
  EXPECT_EQ(f.permuted("Q"), "");
}

}  // namespace
}  // namespace tw::autotune
