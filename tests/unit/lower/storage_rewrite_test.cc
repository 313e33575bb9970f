// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

std::string rewritten(std::string_view text) { return run_pass(pass::storage_rewrite, text); }

TEST(StorageRewrite, MovesOutOfSerialLoops) {
  EXPECT_EQ(rewritten(R"(declare C: float32*
for (y, 0, 4) {
  // attr [A] storage_scope = "local"
  allocate A[float32 * 8]
  for (x, 0, 8) {
    A[x] = 1.000000f
  }
  for (x, 0, 8) {
    C[((y*8) + x)] = A[x]
  }
}
)"),
            R"(// attr [A] storage_scope = "local"
allocate A[float32 * 8]
for (y, 0, 4) {
  for (x, 0, 8) {
    A[x] = 1.000000f
  }
  for (x, 0, 8) {
    C[((y*8) + x)] = A[x]
  }
}
)");
}

TEST(StorageRewrite, StaysInsideParallelLoops) {
  EXPECT_EQ(rewritten(R"(declare C: float32*
parallel (y, 0, 4) {
  for (z, 0, 2) {
    // attr [A] storage_scope = "global"
    allocate A[float32 * 8]
    A[0] = 1.000000f
    C[((y*2) + z)] = A[0]
  }
}
)"),
            R"(parallel (y, 0, 4) {
  // attr [A] storage_scope = "global"
  allocate A[float32 * 8]
  for (z, 0, 2) {
    A[0] = 1.000000f
    C[((y*2) + z)] = A[0]
  }
}
)");
}

TEST(StorageRewrite, ExtentsKnownOnlyInsideALoopStay) {
  EXPECT_EQ(rewritten(R"(declare C: float32*
declare n: int32
for (y, 0, 4) {
  // attr [A] storage_scope = "global"
  allocate A[float32 * y]
  A[0] = 1.000000f
  // attr [B] storage_scope = "global"
  allocate B[float32 * n]
  B[0] = A[0]
  C[y] = B[0]
}
)"),
            R"(// attr [B] storage_scope = "global"
allocate B[float32 * n]
for (y, 0, 4) {
  // attr [A] storage_scope = "global"
  allocate A[float32 * y]
  A[0] = 1.000000f
  B[0] = A[0]
  C[y] = B[0]
}
)");
}

constexpr std::string_view kChain = R"(declare X: float32*
declare Y: float32*
// attr [A] storage_scope = "global"
allocate A[float32 * 16]
for (i, 0, 16) {
  A[i] = X[i]
}
// attr [B] storage_scope = "global"
allocate B[float32 * 8]
for (i, 0, 8) {
  B[i] = (A[(i*2)] + A[((i*2) + 1)])
}
// attr [C] storage_scope = "global"
allocate C[float32 * 12]
for (i, 0, 12) {
  C[i] = B[floordiv(i, 2)]
}
for (i, 0, 12) {
  Y[i] = C[(11 - i)]
}
)";

TEST(StorageRewrite, SharesAfterTheLastUse) {
  EXPECT_EQ(rewritten(kChain), R"(// attr [A] storage_scope = "global"
allocate A[float32 * 16]
// attr [B] storage_scope = "global"
allocate B[float32 * 8]
for (i, 0, 16) {
  A[i] = X[i]
}
for (i, 0, 8) {
  B[i] = (A[(i*2)] + A[((i*2) + 1)])
}
for (i, 0, 12) {
  A[i] = B[floordiv(i, 2)]
}
for (i, 0, 12) {
  Y[i] = A[(11 - i)]
}
)");
}

TEST(StorageRewrite, ElementwiseHappensInPlace) {
  EXPECT_EQ(rewritten(R"(declare X: float32*
declare Y: float32*
// attr [A] storage_scope = "global"
allocate A[float32 * 4 * 4]
for (i, 0, 16) {
  A[i] = X[i]
}
// attr [B] storage_scope = "global"
allocate B[float32 * 4 * 4]
for (i, 0, 4) {
  for (j, 0, 4) {
    B[((i*4) + j)] = (A[((i*4) + j)]*2.000000f)
  }
}
for (i, 0, 16) {
  Y[i] = B[i]
}
)"),
            R"(// attr [A] storage_scope = "global"
allocate A[float32 * 4 * 4]
for (i, 0, 16) {
  A[i] = X[i]
}
for (i, 0, 4) {
  for (j, 0, 4) {
    A[((i*4) + j)] = (A[((i*4) + j)]*2.000000f)
  }
}
for (i, 0, 16) {
  Y[i] = A[i]
}
)");
}

TEST(StorageRewrite, NotInPlaceWhenElementsAreReadTwice) {
  // Element i of A is read again after it would have been replaced.
  EXPECT_EQ(rewritten(R"(declare X: float32*
declare Y: float32*
// attr [A] storage_scope = "global"
allocate A[float32 * 4]
for (i, 0, 4) {
  A[i] = X[i]
}
// attr [B] storage_scope = "global"
allocate B[float32 * 4]
for (k, 0, 2) {
  for (i, 0, 4) {
    B[i] = (A[i]*2.000000f)
  }
}
// attr [C] storage_scope = "global"
allocate C[float32 * 4]
for (i, 0, 4) {
  C[i] = B[(3 - i)]
}
for (i, 0, 4) {
  Y[i] = C[i]
}
)"),
            R"(// attr [A] storage_scope = "global"
allocate A[float32 * 4]
// attr [B] storage_scope = "global"
allocate B[float32 * 4]
for (i, 0, 4) {
  A[i] = X[i]
}
for (k, 0, 2) {
  for (i, 0, 4) {
    B[i] = (A[i]*2.000000f)
  }
}
for (i, 0, 4) {
  A[i] = B[(3 - i)]
}
for (i, 0, 4) {
  Y[i] = A[i]
}
)");
}

TEST(StorageRewrite, BuffersFromOutsideLiveThroughALoop) {
  // B is free again only after the loop that reads A.
  EXPECT_EQ(rewritten(R"(declare X: float32*
declare Y: float32*
// attr [A] storage_scope = "global"
allocate A[float32 * 4]
A[0] = X[0]
for (t, 0, 3) {
  Y[t] = A[0]
  // attr [B] storage_scope = "global"
  allocate B[float32 * 4]
  B[0] = X[t]
  Y[(t + 3)] = B[0]
}
)"),
            R"(// attr [A] storage_scope = "global"
allocate A[float32 * 4]
// attr [B] storage_scope = "global"
allocate B[float32 * 4]
A[0] = X[0]
for (t, 0, 3) {
  Y[t] = A[0]
  B[0] = X[t]
  Y[(t + 3)] = B[0]
}
)");
}

TEST(StorageRewrite, LocalBuffersKeepTheirOwnMemory) {
  EXPECT_EQ(rewritten(R"(declare Y: float32*
// attr [A] storage_scope = "local"
allocate A[float32 * 4]
A[0] = 1.000000f
Y[0] = A[0]
// attr [B] storage_scope = "local"
allocate B[float32 * 4]
B[0] = 2.000000f
Y[1] = B[0]
)"),
            R"(// attr [A] storage_scope = "local"
allocate A[float32 * 4]
// attr [B] storage_scope = "local"
allocate B[float32 * 4]
A[0] = 1.000000f
Y[0] = A[0]
B[0] = 2.000000f
Y[1] = B[0]
)");
}

}  // namespace
}  // namespace tw
