// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

std::string removed(std::string_view text) { return run_pass(pass::remove_no_op, text); }

TEST(RemoveNoOp, EmptyAndSingleLoops) {
  EXPECT_EQ(removed(R"(declare A: float32*
for (i, 0, 0) {
  A[i] = 1.000000f
}
for (j, 3, 1) {
  A[(j*2)] = 1.000000f
}
)"),
            "A[6] = 1.000000f\n");
}

TEST(RemoveNoOp, DecidedConditions) {
  EXPECT_EQ(removed(R"(declare A: float32*
for (i, 0, 1) {
  if ((i < 1)) {
    A[0] = 1.000000f
  } else {
    A[1] = 1.000000f
  }
  if ((1 < i)) {
    A[2] = 1.000000f
  }
  if ((2 < i)) {
    A[3] = 1.000000f
  } else {
    A[4] = 1.000000f
  }
}
)"),
            "A[0] = 1.000000f\nA[4] = 1.000000f\n");
}

TEST(RemoveNoOp, WhatRemainsOfABranchKeepsItsCondition) {
  EXPECT_EQ(removed(R"(declare A: float32*
declare n: int32
if ((n < 4)) {
  0
} else {
  A[0] = 1.000000f
}
if ((n < 5)) {
  A[1] = 1.000000f
} else {
  0
}
)"),
            "if (!(n < 4)) {\n  A[0] = 1.000000f\n}\nif ((n < 5)) {\n  A[1] = 1.000000f\n}\n");
}

TEST(RemoveNoOp, UnusedLetsAndBuffers) {
  EXPECT_EQ(removed(R"(declare A: float32*
declare n: int32
let t = (n*2)
// attr [B] storage_scope = "global"
allocate B[float32 * 8]
A[0] = 1.000000f
for (i, 0, 8) {
  0
}
)"),
            "A[0] = 1.000000f\n");
}

TEST(RemoveNoOp, NothingIsLeft) {
  EXPECT_EQ(removed("declare n: int32\nfor (i, 0, n) {\n  for (j, 0, n) {\n    i\n  }\n}\n"),
            "0\n");
}

}  // namespace
}  // namespace tw
