// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/workspace_size.h"
#include "tests/support/lower_check.h"
#include "tests/unit/lower/pass_text.h"

namespace tw {
namespace {

KernelModule split(std::string_view text) {
  const PassOptions options;
  const Target target;
  return pass::split_host_device(Kernel{.name = "f", .body = parse_stmt(text)}, {options, target});
}

std::vector<std::string> arguments_of(const Kernel& kernel) {
  std::vector<std::string> names;
  for (const KernelArgument& a : kernel.arguments) {
    names.push_back((a.is_output ? "out " : "") + a.name + ": " + to_string(a.dtype) +
                    (a.is_tensor ? "*" : ""));
  }
  return names;
}

constexpr char kBlocks[] = R"(declare n: int32
declare A: float32*
declare B: float32*
for (k, 0, n) {
  // attr [] pragma_store_nontemporal = 1
  // attr [] thread_axis = "blockIdx.x"
  for (b, 0, 16) {
    // attr [] thread_axis = "threadIdx.x"
    for (t, 0, 8) {
      if ((((b*8) + t) < n)) {
        B[((b*8) + t)] = A[(k + t)]
      }
    }
  }
}
)";

// Buffers come first, then the others, each in the order of use; the entry keeps the call.
TEST(SplitHostDevice, BlocksBecomeAKernel) {
  const KernelModule module = split(kBlocks);
  ASSERT_EQ(module.kernels.size(), 2u);
  EXPECT_EQ(to_string(module.entry().body), R"(for (k, 0, n) {
  // attr [] pragma_store_nontemporal = 1
  launch("f_kernel0", B, A, n, k, thread_extent("blockIdx.x", 16), thread_extent("threadIdx.x", 8))
}
)");
  const Kernel& device = module.kernels[1];
  EXPECT_EQ(device.name, "f_kernel0");
  EXPECT_EQ(device.role, KernelRole::Device);
  EXPECT_THAT(arguments_of(device),
              testing::ElementsAre("out B: float32*", "A: float32*", "n: int32", "k: int32"));
  EXPECT_EQ(to_string(device.body), R"(// attr [] pragma_store_nontemporal = 1
// attr [] thread_axis = "blockIdx.x"
for (b, 0, 16) {
  // attr [] thread_axis = "threadIdx.x"
  for (t, 0, 8) {
    if ((((b*8) + t) < n)) {
      B[((b*8) + t)] = A[(k + t)]
    }
  }
}
)");
}

TEST(SplitHostDevice, OutermostLoopsOfTheirOwn) {
  const KernelModule module = split(R"(declare A: int32*
// attr [T] storage_scope = "global"
allocate T[int32 * 4]
{
  // attr [] thread_axis = "threadIdx.x"
  for (t, 0, 4) {
    T[t] = t
  }
}
for (i, 0, 4) {
  A[i] = T[i]
}
// attr [] thread_axis = "threadIdx.y"
for (y, 0, 2) {
  {
    // attr [] thread_axis = "threadIdx.x"
    for (x, 0, (y + 2)) {
      A[((y*4) + x)] = T[x]
    }
  }
  // attr [] thread_axis = "threadIdx.x"
  for (z, 0, 2) {
    A[z] = 0
  }
}
)");
  ASSERT_EQ(module.kernels.size(), 3u);
  EXPECT_EQ(to_string(module.entry().body), R"(// attr [T] storage_scope = "global"
allocate T[int32 * 4]
launch("f_kernel0", T, thread_extent("threadIdx.x", 4))
for (i, 0, 4) {
  A[i] = T[i]
}
launch("f_kernel1", A, T, thread_extent("threadIdx.y", 2), thread_extent("threadIdx.x", 3))
)");
}

// Who launches cannot know it.
TEST(SplitHostDevice, AnExtentKnownInsideOnlyIsNoneOfTheLaunch) {
  const KernelModule module = split(R"(declare A: int32*
declare rows: int32*
// attr [] thread_axis = "blockIdx.x"
for (b, 0, 4) {
  // attr [] thread_axis = "threadIdx.x"
  for (t, 0, rows[b]) {
    A[((b*8) + t)] = t
  }
}
)");
  EXPECT_EQ(to_string(module.entry().body),
            "launch(\"f_kernel0\", rows, A, thread_extent(\"blockIdx.x\", 4))\n");
}

TEST(SplitHostDevice, WithoutThreadsNothingChanges) {
  const Kernel kernel{.name = "f", .body = parse_stmt(R"(declare A: int32*
parallel (i, 0, 4) {
  A[i] = 0
}
)")};
  const PassOptions options;
  const Target target;
  const KernelModule module = pass::split_host_device(kernel, {options, target});
  ASSERT_EQ(module.kernels.size(), 1u);
  EXPECT_TRUE(module.entry().body.same_as(kernel.body));
}

// Tile registers are those of one function.
TEST(SplitHostDevice, TilesStayWithTheirThreads) {
  EXPECT_EQ(split(R"(declare A: int32*
// attr [T] storage_scope = "amx.tile"
allocate T[int32 * 256]
// attr [] thread_axis = "threadIdx.x"
for (t, 0, 4) {
  A[t] = t
}
)")
                .kernels.size(),
            1u);
}

// Lanes launch nothing: the buffer would have an element for each.
TEST(SplitHostDevice, LanesKeepTheirThreads) {
  EXPECT_EQ(split(R"(declare A: int32*
vectorized (i, 0, 4) {
  // attr [P] storage_scope = "local"
  allocate P[int32 * 2]
  {
    // attr [] thread_axis = "threadIdx.x"
    for (t, 0, 2) {
      P[t] = (i + t)
    }
  }
  A[i] = (P[0] + P[1])
}
)")
                .kernels.size(),
            1u);
}

TEST(SplitHostDevice, ComputesTheSame) {
  const Stmt body = parse_stmt(kBlocks);
  const KernelModule module = pass::split_host_device(Kernel{.name = "f", .body = body}, {{}, {}});
  const auto result = [](const Stmt& s, InterpreterScope scope) {
    InterpreterBuffer a(float_type(32), 16), b(float_type(32), 128);
    for (int64_t i = 0; i < 16; ++i) a.set(i, {.type = float_type(32), .f = double(i) / 4});
    for (int64_t i = 0; i < 128; ++i) b.set(i, {.type = float_type(32), .f = 0});
    for (const Var& v : free_vars(s)) {
      if (v.dtype().is_handle()) {
        scope.buffers[v] = v.name() == "A" ? &a : &b;
      } else {
        scope.values[v] = {.type = v.dtype(), .i = 5};
      }
    }
    interpret(s, scope);
    std::vector<double> values;
    for (int64_t i = 0; i < 128; ++i) values.push_back(b.at(i).f);
    return values;
  };
  InterpreterScope scope;
  test::bind_devices(module, scope);
  EXPECT_EQ(result(module.entry().body, scope), result(body, {}));
  EXPECT_THROW(result(module.entry().body, {}), UserError);
}

TEST(SplitHostDevice, LaunchesAreReadAndPrinted) {
  EXPECT_EQ(test::round_trip(split(kBlocks)), "");
}

TEST(SplitHostDevice, ACallerTakesItsKernelsAlong) {
  KernelModule module = split(kBlocks);
  module.kernels.push_back(
      {.name = "other", .role = KernelRole::Device, .body = module.kernels[1].body});
  const KernelModule together = module.with_devices(module.entry());
  ASSERT_EQ(together.kernels.size(), 2u);
  EXPECT_EQ(together.kernels[1].name, "f_kernel0");
}

// What a launched kernel allocates is the caller's.
TEST(SplitHostDevice, WorkspaceOfWhatIsLaunched) {
  const KernelModule module = split(R"(declare A: int32*
// attr [T] storage_scope = "global"
allocate T[int32 * 1024]
// attr [] thread_axis = "threadIdx.x"
for (t, 0, 4) {
  // attr [S] storage_scope = "global"
  allocate S[int32 * 512]
  S[t] = t
  A[t] = (S[t] + T[t])
}
)");
  EXPECT_EQ(workspace_size(module.entry(), module.kernels),
            (WorkspaceSize{.call = 4096 + 2048, .thread = 0}));
  EXPECT_EQ(workspace_size(module.entry()), (WorkspaceSize{.call = 4096, .thread = 0}));
}

}  // namespace
}  // namespace tw
