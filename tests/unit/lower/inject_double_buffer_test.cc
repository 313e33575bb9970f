// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

TEST(InjectDoubleBuffer, RunsAnIterationAhead) {
  EXPECT_EQ(run_pass(pass::inject_double_buffer, R"(declare A: int32*
declare B: int32*
for (k, 0, 4) {
  // attr [0] double_buffer = 1
  // attr [S] storage_scope = "local"
  allocate S[int32 * 8]
  for (s, 0, 8) {
    S[s] = A[((k*8) + s)]
  }
  // attr [0] double_buffer = 1
  // attr [T] storage_scope = "local"
  allocate T[int32 * 1]
  T[0] = A[k]
  B[k] = (S[3] + T[0])
}
)"),
            R"(// attr [S] storage_scope = "local"
allocate S[int32 * 2 * 8]
// attr [T] storage_scope = "local"
allocate T[int32 * 2 * 1]
for (s, 0, 8) {
  S[s] = A[((0*8) + s)]
}
T[0] = A[0]
for (k, 0, 4) {
  if (likely(((k + 1) < 4))) {
    for (s_1, 0, 8) {
      S[((floormod((k + 1), 2)*8) + s_1)] = A[(((k + 1)*8) + s_1)]
    }
    T[floormod((k + 1), 2)] = A[(k + 1)]
  }
  B[k] = (S[((floormod(k, 2)*8) + 3)] + T[floormod(k, 2)])
}
)");
}

// What is read was written in this iteration, so that the next one's is not there yet.
TEST(InjectDoubleBuffer, NotWhatDependsOnTheIteration) {
  EXPECT_EQ(run_pass(pass::inject_double_buffer, R"(declare n: int32
declare A: int32*
declare B: int32*
for (k, 0, n) {
  // attr [S] storage_scope = "local"
  allocate S[int32 * 1]
  S[0] = A[k]
  // attr [0] double_buffer = 1
  // attr [T] storage_scope = "local"
  allocate T[int32 * 1]
  T[0] = (S[0]*2)
  B[k] = T[0]
}
)"),
            R"(for (k, 0, n) {
  // attr [S] storage_scope = "local"
  allocate S[int32 * 1]
  S[0] = A[k]
  // attr [T] storage_scope = "local"
  allocate T[int32 * 1]
  T[0] = (S[0]*2)
  B[k] = T[0]
}
)");
}

TEST(InjectDoubleBuffer, OfNoIteration) {
  EXPECT_EQ(run_pass(pass::inject_double_buffer, R"(declare n: int32
declare A: int32*
declare B: int32*
for (k, 1, n) {
  // attr [0] double_buffer = 1
  // attr [T] storage_scope = "local"
  allocate T[int32 * 1]
  T[0] = A[k]
  B[k] = T[0]
}
)"),
            R"(// attr [T] storage_scope = "local"
allocate T[int32 * 2 * 1]
if ((0 < n)) {
  T[0] = A[1]
}
for (k, 1, n) {
  if (likely((((k - 1) + 1) < n))) {
    T[floormod(((k - 1) + 1), 2)] = A[(k + 1)]
  }
  B[k] = T[floormod((k - 1), 2)]
}
)");
}

}  // namespace
}  // namespace tw
