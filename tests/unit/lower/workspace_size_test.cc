// SPDX-License-Identifier: Apache-2.0
#include "lower/workspace_size.h"

#include <gtest/gtest.h>

#include "ir/parse.h"

namespace tw {
namespace {

WorkspaceSize size_of(const char* text) { return workspace_size({.body = parse_stmt(text)}); }

TEST(WorkspaceSize, WhatIsLiveAtATime) {
  // A and B together, then A and C; each rounded up to 64 bytes.
  const WorkspaceSize size = size_of(R"(allocate A[float32 * 20]
for (i, 0, 4) {
  allocate B[float32 * 100]
  B[i] = A[i]
}
for (i, 0, 4) {
  allocate C[int8 * 65]
  // attr [D] storage_scope = "local"
  allocate D[float32 * 1000]
  C[i] = (int8)0
}
)");
  EXPECT_EQ(size.call, 128 + 448);
  EXPECT_EQ(size.thread, 0);
}

TEST(WorkspaceSize, TasksTakeTheirOwn) {
  const WorkspaceSize size = size_of(R"(declare n: int32
allocate A[float32 * 32]
// attr [p] parallel_launch = n
allocate B[float32 * 64]
B[0] = A[0]
)");
  EXPECT_EQ(size.call, 128);
  EXPECT_EQ(size.thread, 256);
}

TEST(WorkspaceSize, WhatDependsOnTheCallIsNotKnown) {
  const WorkspaceSize size = size_of(R"(declare n: int32
allocate A[float32 * n]
// attr [p] parallel_launch = 4
allocate B[float32 * 64]
B[0] = A[0]
)");
  EXPECT_FALSE(size.call.has_value());
  EXPECT_EQ(size.thread, 256);
}

}  // namespace
}  // namespace tw
