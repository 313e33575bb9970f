// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

TEST(SimplifyPass, FoldsUnderRangesAndConditions) {
  EXPECT_EQ(run_pass(pass::simplify, R"(declare A: float32*
declare B: float32*
for (y, 0, 4) {
  for (x, 0, 8) {
    if (likely((((y*8) + x) < 32))) {
      A[((y*8) + (x + 0))] = B[floormod(x, 8)]
    }
  }
}
)"),
            R"(for (y, 0, 4) {
  for (x, 0, 8) {
    A[((y*8) + x)] = B[x]
  }
}
)");
}

}  // namespace
}  // namespace tw
