// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/lower/pass_results.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

constexpr const char* kDeclarations =
    "declare A: float32*\ndeclare O: float32*\ndeclare P: int32*\ndeclare i: int32\n"
    "declare n: int32\n";

std::string shuffled(const std::string& text,
                     const Target& target = Target::parse("llvm -mcpu=x86-64-v4")) {
  const Kernel kernel{.body = parse_stmt(kDeclarations + text)};
  return to_string(run_pass(pass::shuffle_gathers, kernel, {}, target).body);
}

TEST(ShuffleGathers, RepeatedElementsAreOneLoad) {
  EXPECT_EQ(shuffled("O[ramp(0, 1, 8)] = A[(x8(i) + floordiv(ramp(0, 1, 8), x8(2)))]\n"),
            "O[ramp(0, 1, 8)] = shuffle([A[ramp(i, 1, 4)]], [0, 0, 1, 1, 2, 2, 3, 3])\n");
}

// Five elements, of which one load would take eight, the last of them beyond what is read.
TEST(ShuffleGathers, TwoLoadsOverlap) {
  EXPECT_EQ(
      shuffled("O[ramp(0, 1, 8)] = A[(x8((i + 8)) + floordiv(ramp(1, 1, 8), x8(2)))]\n"),
      "O[ramp(0, 1, 8)] = shuffle([A[ramp((i + 8), 1, 4)], A[ramp((i + 9), 1, 4)]], [0, 1, 1, 2, "
      "2, 3, 3, 7])\n");
}

TEST(ShuffleGathers, OneElementIsBroadcast) {
  EXPECT_EQ(shuffled("O[ramp(0, 1, 4)] = A[(x4(i) + floordiv(ramp(0, 1, 4), x4(4)))]\n"),
            "O[ramp(0, 1, 4)] = x4(A[i])\n");
}

// Of the lanes that are on, the last reads element 1.
TEST(ShuffleGathers, WhatIsKnownToBeOffIsNotRead) {
  EXPECT_EQ(shuffled("O[ramp(0, 1, 8)] = (A[floordiv(ramp(0, 1, 8), x8(2))] if (ramp(0, 1, 8) < "
                     "x8(3)))\n"),
            "O[ramp(0, 1, 8)] = select((ramp(0, 1, 8) < x8(3)), shuffle([A[ramp(0, 1, 2)]], [0, 0, "
            "1, 0, 0, 0, 0, 0]), x8(0.000000f))\n");
}

TEST(ShuffleGathers, WhatMayBeOffIsMasked) {
  EXPECT_EQ(
      shuffled(
          "O[ramp(0, 1, 4)] = (A[floordiv(ramp(0, 1, 4), x4(2))] if (ramp(0, 1, 4) < x4(n)))\n"),
      "O[ramp(0, 1, 4)] = select((ramp(0, 1, 4) < x4(n)), shuffle([(A[ramp(0, 1, 2)] if "
      "(shuffle([(ramp(0, 1, 4) < x4(n)), x4((bool)0)], [0, 2]) || shuffle([(ramp(0, 1, 4) < "
      "x4(n)), x4((bool)0)], [1, 3])))], [0, 0, 1, 1]), x4(0.000000f))\n");
}

TEST(ShuffleGathers, ARowThatBeginsAnewIsTwoLoads) {
  EXPECT_EQ(shuffled("O[ramp(0, 1, 4)] = A[(x4(i) + floormod(ramp(n, 1, 4), x4(6)))]\n"),
            "O[ramp(0, 1, 4)] = select((ramp(0, 1, 4) < x4((6 - floormod(n, 6)))), (A[ramp((i + "
            "floormod(n, 6)), 1, 4)] if (ramp(0, 1, 4) < x4((6 - floormod(n, 6))))), (A[ramp(((i + "
            "floormod(n, 6)) + -6), 1, 4)] if (x4((6 - floormod(n, 6))) <= ramp(0, 1, 4))))\n");
}

TEST(ShuffleGathers, IterationsKnowWhereTheirRowBeginsAnew) {
  EXPECT_EQ(
      shuffled("for (k, 0, 2) {\n  O[ramp((k*4), 1, 4)] = A[(x4(i) + floormod(ramp((k*4), 1, "
               "4), x4(6)))]\n}\n"),
      "O[ramp(0, 1, 4)] = A[ramp(i, 1, 4)]\n"
      "O[ramp(4, 1, 4)] = shuffle([A[ramp(i, 1, 4)], A[ramp((i + 2), 1, 4)]], [6, 7, 0, 1])\n");
}

TEST(ShuffleGathers, OthersStay) {
  for (const char* text : {
           // Side by side, a stride apart, far apart; by positions in memory or of unknown
           // distance; that begin anew more than once; where lanes are conditional.
           "O[ramp(0, 1, 4)] = A[ramp(i, 1, 4)]\n",
           "O[ramp(0, 1, 4)] = A[ramp(i, 3, 4)]\n",
           "O[ramp(0, 1, 4)] = A[(floordiv(ramp(0, 1, 4), x4(2))*x4(40))]\n",
           "O[ramp(0, 1, 4)] = A[P[ramp(0, 1, 4)]]\n",
           "O[ramp(0, 1, 4)] = A[floordiv(ramp(n, 1, 4), x4(2))]\n",
           "O[ramp(0, 1, 4)] = A[floormod(ramp(n, 1, 4), x4(3))]\n",
           "O[ramp(0, 1, 4)] = tvm_if_then_else((ramp(0, 1, 4) < x4(n)), A[floordiv(ramp(0, 1, 4), "
           "x4(2))], x4(0.000000f))\n",
       }) {
    EXPECT_EQ(shuffled(text), text);
  }
}

TEST(ShuffleGathers, WithoutMasksNothingIsMasked) {
  for (const char* text : {
           "O[ramp(0, 1, 4)] = A[floormod(ramp(n, 1, 4), x4(6))]\n",
           "O[ramp(0, 1, 4)] = (A[floordiv(ramp(0, 1, 4), x4(2))] if (ramp(0, 1, 4) < x4(n)))\n",
       }) {
    EXPECT_EQ(shuffled(text, Target::parse("llvm -mcpu=x86-64")), text);
  }
}

TEST(ShuffleGathers, DotProductsStay) { test::expect_dot_products_stay(pass::shuffle_gathers); }

// Of an array of `elements`, beyond which nothing may be read, lanes are what they were.
template <typename T>
void results_stay(DType type, int lanes, int64_t elements, const std::string& index,
                  const std::string& mask, int iterations = 3) {
  const std::string text =
      fmt::format("for (j, 0, {3}) {{\n  O[ramp((j*{0}), 1, {0})] = (A[{1}] if {2})\n}}\n", lanes,
                  index, mask, iterations);
  test::expect_same_results<T>(pass::shuffle_gathers, text, type, iterations * lanes, elements);
}

template <typename T>
void all_results_stay(DType type, const std::vector<int>& widths) {
  for (const int lanes : widths) {
    const auto x = [&](int64_t value) { return fmt::format("x{}({})", lanes, value); };
    const std::string all = fmt::format("(ramp((j*{0}), 1, {0}) < {1})", lanes, x(3 * lanes)),
                      known = fmt::format("(ramp(1, 1, {}) < {})", lanes, x(lanes)),
                      some = fmt::format("(ramp((j*{0}), 1, {0}) < {1})", lanes, x(2 * lanes + 2));
    for (const std::string& mask : {all, known, some}) {
      // Of a last vector that is cut, the array ends with what is still on.
      const int64_t on = mask == some ? 2 * lanes + 2 : 3 * lanes;
      for (const int64_t scale : {1, 2, 3, 4, 64}) {
        const int64_t off = 5 % scale;
        results_stay<T>(type, lanes, 2 * lanes + (lanes - 1 + off) / scale + 1,
                        fmt::format("({} + floordiv(ramp({}, 1, {}), {}))",
                                    fmt::format("x{}((j*{}))", lanes, lanes), off, lanes, x(scale)),
                        mask == some ? all : mask);
        // Each vector begins where the one before ended.
        if (lanes % scale != 0) continue;
        results_stay<T>(type, lanes, (on - 1) / scale + 1,
                        fmt::format("(x{}((j*{})) + floordiv(ramp(0, 1, {}), {}))", lanes,
                                    lanes / scale, lanes, x(scale)),
                        mask);
      }
      for (const int64_t period : {lanes, lanes + 1, lanes + 3, 2 * lanes - 1, 2 * lanes}) {
        // More iterations than are unrolled, and fewer.
        for (const int iterations : {9, 3}) {
          results_stay<T>(type, lanes, period,
                          fmt::format("floormod(ramp((j*{0}), 1, {0}), {1})", lanes, x(period)),
                          mask, iterations);
        }
        results_stay<T>(type, lanes, period,
                        fmt::format("floormod(ramp({}, 1, {}), {})", period - 2, lanes, x(period)),
                        mask);
      }
      results_stay<T>(type, lanes, 3, fmt::format("floormod(ramp(0, 1, {}), {})", lanes, x(3)),
                      mask);
    }
  }
}

TEST(ShuffleGathers, ResultsStay) {
  all_results_stay<float>(float_type(32), {4, 16});
  all_results_stay<double>(float_type(64), {8});
  all_results_stay<uint8_t>(uint_type(8), {32});
  all_results_stay<uint16_t>(float_type(16), {16});
  all_results_stay<uint16_t>(bfloat_type(16), {8});
}

}  // namespace
}  // namespace tw
