// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/lower/llvm_support.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

constexpr const char* kDeclarations =
    "declare A: int8*\ndeclare P: int8*\ndeclare i: int32\ndeclare n: int32\n";

std::string interleaved(const std::string& text) {
  const Kernel kernel{.body = parse_stmt(kDeclarations + text)};
  return to_string(run_pass(pass::interleave_stores, kernel).body);
}

TEST(InterleaveStores, RowsBecomeGroups) {
  EXPECT_EQ(interleaved(R"(P[ramp((i*2), 2, 4)] = A[ramp(0, 1, 4)]
P[ramp(((i*2) + 1), 2, 4)] = A[ramp(n, 1, 4)]
)"),
            "P[ramp((i*2), 1, 8)] = shuffle([A[ramp(0, 1, 4)], A[ramp(n, 1, 4)]], "
            "[0, 4, 1, 5, 2, 6, 3, 7])\n");
}

// What is stored is whatever it is, masks of loads and constants included.
TEST(InterleaveStores, PaddingTakesPart) {
  EXPECT_EQ(interleaved(R"(for (k, 0, n) {
  P[ramp((k*8), 2, 4)] = (A[ramp(i, 1, 4)] if (ramp(0, 1, 4) < x4(n)))
  P[ramp(((k*8) + 1), 2, 4)] = x4((int8)0)
}
)"),
            R"(for (k, 0, n) {
  P[ramp((k*8), 1, 8)] = shuffle([(A[ramp(i, 1, 4)] if (ramp(0, 1, 4) < x4(n))), x4((int8)0)], [0, 4, 1, 5, 2, 6, 3, 7])
}
)");
}

TEST(InterleaveStores, OthersStay) {
  for (const char* text : {
           // One row of two; gaps left; out of order; lanes of other numbers; under a mask; what
           // the
           // first stores is read by the second.
           "P[ramp(i, 2, 4)] = A[ramp(0, 1, 4)]\n",
           "P[ramp(i, 3, 4)] = A[ramp(0, 1, 4)]\nP[ramp((i + 1), 3, 4)] = A[ramp(4, 1, 4)]\n",
           "P[ramp((i + 1), 2, 4)] = A[ramp(0, 1, 4)]\nP[ramp(i, 2, 4)] = A[ramp(4, 1, 4)]\n",
           "P[ramp(i, 2, 4)] = A[ramp(0, 1, 4)]\nP[ramp((i + 1), 2, 8)] = A[ramp(4, 1, 8)]\n",
           "P[ramp(i, 2, 4)] = A[ramp(0, 1, 4)]\nP[ramp((i + 1), 2, 4)] = A[ramp(4, 1, 4)] if "
           "(ramp(0, 1, 4) < x4(n))\n",
           "P[ramp(i, 2, 4)] = A[ramp(0, 1, 4)]\nP[ramp((i + 1), 2, 4)] = P[ramp(4, 1, 4)]\n",
       }) {
    EXPECT_EQ(interleaved(text), text);
  }
}

}  // namespace
}  // namespace tw
