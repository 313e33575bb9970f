// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/lower/pass_results.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

constexpr const char* kDeclarations =
    "declare A: float32*\ndeclare O: float32*\ndeclare i: int32\ndeclare n: int32\n";

std::string shared(const std::string& text,
                   const Target& target = Target::parse("llvm -mcpu=x86-64")) {
  const Kernel kernel{.body = parse_stmt(kDeclarations + text)};
  return to_string(run_pass(pass::share_strided_loads, kernel, {}, target).body);
}

// Vectors of 256 bits, and masks.
Target masked() {
  Target target = Target::parse("llvm -mcpu=x86-64-v4");
  target.vector_bits = 256;
  return target;
}

TEST(ShareStridedLoads, NeighboursShareWhatLiesBetween) {
  EXPECT_EQ(shared(R"(O[ramp(0, 1, 4)] = A[ramp(i, 2, 4)]
O[ramp(4, 1, 4)] = A[ramp((i + 1), 2, 4)]
)"),
            R"(O[ramp(0, 1, 4)] = shuffle([A[ramp(i, 1, 4)], A[ramp((i + 4), 1, 4)]], [0, 2, 4, 6])
O[ramp(4, 1, 4)] = shuffle([A[ramp(i, 1, 4)], A[ramp((i + 4), 1, 4)]], [1, 3, 5, 7])
)");
}

TEST(ShareStridedLoads, ANarrowVectorIsOneWideLoad) {
  EXPECT_EQ(shared("O[ramp(0, 1, 4)] = A[ramp((i + 3), 2, 4)]\n", masked()),
            "O[ramp(0, 1, 4)] = shuffle([(A[ramp((i + 3), 1, 8)] if (ramp(0, 1, 8) < x8(7)))], "
            "[0, 2, 4, 6])\n");
}

TEST(ShareStridedLoads, LanesThatAreOffStayOff) {
  EXPECT_EQ(shared("O[ramp(0, 1, 4)] = (A[ramp(i, 2, 4)] if (ramp(0, 1, 4) < x4(n)))\n", masked()),
            "O[ramp(0, 1, 4)] = shuffle([(A[ramp(i, 1, 8)] if shuffle([(ramp(0, 1, 4) < x4(n)), "
            "x4((bool)0)], [0, 4, 1, 4, 2, 4, 3, 4]))], [0, 2, 4, 6])\n");
}

// The columns of a row of seven, of which the first lies in the padding.
TEST(ShareStridedLoads, KnownLanesAreTakenFromTheNeighboursLoads) {
  const std::string loads =
      "[A[ramp((i + 1), 1, 4)], (A[ramp((i + 5), 1, 4)] if (ramp(0, 1, 4) < x4(2)))]";
  const std::string odd = "shuffle(" + loads + ", [1, 3, 5, 7])";
  EXPECT_EQ(shared(R"(O[ramp(0, 1, 4)] = (A[ramp(i, 2, 4)] if (x4(1) <= ramp(0, 2, 4)))
O[ramp(4, 1, 4)] = (A[ramp((i + 1), 2, 4)] if (ramp(0, 1, 4) < x4(3)))
O[ramp(8, 1, 4)] = (A[ramp((i + 2), 2, 4)] if (ramp(0, 1, 4) < x4(3)))
)",
                   masked()),
            "O[ramp(0, 1, 4)] = shuffle([" + odd +
                ", x4(0.000000f)], [4, 0, 1, 2])\nO[ramp(4, 1, 4)] = shuffle(" + loads +
                ", [0, 2, 4, 6])\nO[ramp(8, 1, 4)] = " + odd + "\n");
}

TEST(ShareStridedLoads, DotProductsStay) {
  test::expect_dot_products_stay(pass::share_strided_loads);
}

TEST(ShareStridedLoads, OthersStay) {
  for (const char* text : {
           // Alone; two strides apart; other masks; a loop between; written between; conditional.
           "O[ramp(0, 1, 4)] = A[ramp(i, 2, 4)]\n",
           "O[ramp(0, 1, 4)] = A[ramp(i, 2, 4)]\nO[ramp(4, 1, 4)] = A[ramp((i + 2), 2, 4)]\n",
           "O[ramp(0, 1, 4)] = A[ramp(i, 2, 4)]\nO[ramp(4, 1, 4)] = (A[ramp((i + 1), 2, 4)] if "
           "(ramp(0, 1, 4) < x4(n)))\n",
           "O[ramp(0, 1, 4)] = A[ramp(i, 2, 4)]\nfor (k, 0, n) {\n  O[ramp(4, 1, 4)] = A[ramp((i + "
           "1), 2, 4)]\n}\n",
           "A[ramp(0, 1, 4)] = A[ramp(i, 2, 4)]\nO[ramp(4, 1, 4)] = A[ramp((i + 1), 2, 4)]\n",
           "O[ramp(0, 1, 4)] = A[ramp(i, 2, 4)]\nO[ramp(4, 1, 4)] = tvm_if_then_else((n < 3), "
           "A[ramp((i + 1), 2, 4)], x4(0.000000f))\n",
       }) {
    EXPECT_EQ(shared(text), text);
  }
}

// Lanes of `type` that lie `stride` apart, of which the first are on, compute what they did: each
// phase twice, from the first lane on, and with that one off, one stride earlier.
template <typename T>
void results_stay(DType type, int stride, int lanes, int on) {
  const int64_t elements = (on - 1) * stride + stride;
  std::string text;
  for (int k = 0; k < 2 * stride; ++k) {
    const int phase = k / 2, skipped = k % 2;
    text += fmt::format(
        "O[ramp({0}, 1, {1})] = (A[ramp({2}, {3}, {1})] if ((ramp(0, 1, {1}) < x{1}({4})) && "
        "(x{1}({5}) <= ramp(0, 1, {1}))))\n",
        k * lanes, lanes, phase - skipped * stride, stride, on, skipped);
  }
  test::expect_same_results<T>(pass::share_strided_loads, text, type, 2 * stride * lanes, elements);
}

// Every stride, with masks and without, at the very edge of its array.
TEST(ShareStridedLoads, ResultsStay) {
  for (const int stride : {2, 3, 4}) {
    for (const int lanes : {4, 8, 16}) {
      for (const int on : {lanes, lanes - 3}) {
        results_stay<float>(float_type(32), stride, lanes, on);
        results_stay<uint8_t>(uint_type(8), stride, lanes, on);
        results_stay<uint16_t>(float_type(16), stride, lanes, on);
        results_stay<int16_t>(int_type(16), stride, lanes, on);
      }
    }
  }
}

}  // namespace
}  // namespace tw
