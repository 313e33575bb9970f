// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

TEST(InjectVirtualThread, IsInterleaved) {
  EXPECT_EQ(run_pass(pass::inject_virtual_thread, R"(declare A: int32*
declare B: int32*
// attr [] thread_axis = "vthread"
for (v, 0, 2) {
  // attr [P] storage_scope = "local"
  allocate P[int32 * 3]
  // attr [S] storage_scope = "shared"
  allocate S[int32 * 8]
  for (i, 0, 3) {
    P[i] = 0
  }
  for (k, 0, 4) {
    for (s, 0, 8) {
      S[s] = A[((k*8) + s)]
    }
    for (i, 0, 3) {
      if (likely((((v*3) + i) < 5))) {
        P[i] = (P[i] + S[((v*3) + i)])
      }
    }
  }
  for (i, 0, 3) {
    let x = (v*3)
    B[(x + i)] = P[i]
  }
}
)"),
            R"(// attr [P] storage_scope = "local"
allocate P[int32 * 2 * 3]
// attr [S] storage_scope = "shared"
allocate S[int32 * 8]
for (i, 0, 3) {
  unrolled (v, 0, 2) {
    P[((v*3) + i)] = 0
  }
}
for (k, 0, 4) {
  for (s, 0, 8) {
    S[s] = A[((k*8) + s)]
  }
  for (i, 0, 3) {
    unrolled (v_1, 0, 2) {
      if (likely((((v_1*3) + i) < 5))) {
        P[((v_1*3) + i)] = (P[((v_1*3) + i)] + S[((v_1*3) + i)])
      }
    }
  }
}
for (i, 0, 3) {
  unrolled (v_2, 0, 2) {
    B[((v_2*3) + i)] = P[((v_2*3) + i)]
  }
}
)");
}

}  // namespace
}  // namespace tw
