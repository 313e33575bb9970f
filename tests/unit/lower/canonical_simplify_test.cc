// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

TEST(CanonicalSimplifyPass, QuotientAndRemainderMeet) {
  EXPECT_EQ(run_pass(pass::canonical_simplify, R"(declare A: float32*
declare B: float32*
for (f, 0, 12) {
  A[((floordiv(f, 3)*3) + floormod(f, 3))] = B[((f + 2) - 2)]
}
)"),
            R"(for (f, 0, 12) {
  A[f] = B[f]
}
)");
}

}  // namespace
}  // namespace tw
