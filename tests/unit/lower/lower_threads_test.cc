// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/interpret.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

constexpr char kShared[] = R"(declare A: int32*
declare B: int32*
// attr [] thread_axis = "threadIdx.x"
for (t, 0, 4) {
  // attr [S] storage_scope = "shared"
  allocate S[int32 * 8]
  // attr [P] storage_scope = "local"
  allocate P[int32 * 1]
  P[0] = 0
  for (k, 0, 3) {
    // attr [] thread_axis = "threadIdx.x"
    for (s, 0, 8) {
      S[s] = A[((k*8) + s)]
    }
    for (i, 0, 2) {
      P[0] = (P[0] + S[((t*2) + i)])
    }
  }
  B[t] = P[0]
}
)";

// What threads share is computed once; what each has for itself has a place for each.
TEST(LowerThreads, ThreadsMeetWhereTheyShare) {
  EXPECT_EQ(run_pass(pass::lower_threads, kShared), R"(// attr [S] storage_scope = "global"
allocate S[int32 * 8]
// attr [P] storage_scope = "local"
allocate P[int32 * 4 * 1]
for (t, 0, 4) {
  P[t] = 0
}
for (k, 0, 3) {
  for (s, 0, 8) {
    S[s] = A[((k*8) + s)]
  }
  for (t_1, 0, 4) {
    for (i, 0, 2) {
      P[t_1] = (P[t_1] + S[((t_1*2) + i)])
    }
  }
}
for (t_2, 0, 4) {
  B[t_2] = P[t_2]
}
)");
}

TEST(LowerThreads, ComputesTheSame) {
  const auto result = [](const Stmt& body) {
    std::vector<Var> buffers;
    for (const Var& v : free_vars(body)) buffers.push_back(v);
    InterpreterBuffer a(int_type(32), 24), b(int_type(32), 4);
    for (int64_t i = 0; i < 24; ++i) a.set(i, {.type = int_type(32), .i = i * i});
    InterpreterScope scope;
    for (const Var& v : buffers) scope.buffers[v] = v.name() == "A" ? &a : &b;
    interpret(body, scope);
    std::vector<int64_t> values;
    for (int64_t i = 0; i < 4; ++i) values.push_back(b.at(i).i);
    return values;
  };
  const Kernel kernel{.body = parse_stmt(kShared)};
  EXPECT_EQ(result(kernel.body), result(run_pass(pass::lower_threads, kernel).body));
}

TEST(LowerThreads, BlocksRunOnTheThreadPool) {
  EXPECT_EQ(run_pass(pass::lower_threads, R"(declare A: int32*
// attr [] thread_axis = "blockIdx.y"
for (y, 0, 4) {
  // attr [] thread_axis = "blockIdx.x"
  for (x, 0, 4) {
    // attr [] thread_axis = "threadIdx.x"
    for (t, 0, 8) {
      A[((((y*4) + x)*8) + t)] = t
    }
  }
}
)"),
            R"(parallel (y, 0, 4) {
  for (x, 0, 4) {
    for (t, 0, 8) {
      A[((((y*4) + x)*8) + t)] = t
    }
  }
}
)");
}

// A thread that decides alone whether it fetches what all read has its own copy.
TEST(LowerThreads, WhatDependsOnTheThreadStaysInIt) {
  EXPECT_EQ(run_pass(pass::lower_threads, R"(declare A: int32*
declare B: int32*
// attr [] thread_axis = "threadIdx.x"
for (t, 0, 4) {
  // attr [S] storage_scope = "shared"
  allocate S[int32 * 8]
  if ((t < 3)) {
    for (s, 0, 8) {
      S[s] = A[s]
    }
    B[t] = S[t]
  }
}
)"),
            R"(for (t, 0, 4) {
  // attr [S] storage_scope = "global"
  allocate S[int32 * 8]
  if ((t < 3)) {
    for (s, 0, 8) {
      S[s] = A[s]
    }
    B[t] = S[t]
  }
}
)");
}

// Who writes is decided by each thread, whatever is written.
TEST(LowerThreads, WhatDependsOnAConditionOfTheThreadStaysInIt) {
  EXPECT_EQ(run_pass(pass::lower_threads, R"(declare A: int32*
declare B: int32*
// attr [] thread_axis = "threadIdx.x"
for (t, 0, 4) {
  // attr [S] storage_scope = "shared"
  allocate S[int32 * 8]
  if ((t < 3)) {
    S[0] = A[0]
  }
  B[t] = S[0]
}
)"),
            R"(for (t, 0, 4) {
  // attr [S] storage_scope = "global"
  allocate S[int32 * 8]
  if ((t < 3)) {
    S[0] = A[0]
  }
  B[t] = S[0]
}
)");
}

// Statements that all iterations repeat on memory around the loop run as often as before.
TEST(LowerThreads, SumsAreNotShared) {
  EXPECT_EQ(run_pass(pass::lower_threads, R"(declare A: int32*
declare B: int32*
// attr [] thread_axis = "threadIdx.x"
for (t, 0, 4) {
  // attr [S] storage_scope = "shared"
  allocate S[int32 * 8]
  for (s, 0, 8) {
    S[s] = A[s]
  }
  B[0] = (B[0] + S[0])
}
)"),
            R"(// attr [S] storage_scope = "global"
allocate S[int32 * 8]
for (s, 0, 8) {
  S[s] = A[s]
}
for (t, 0, 4) {
  B[0] = (B[0] + S[0])
}
)");
}

}  // namespace
}  // namespace tw
