// SPDX-License-Identifier: Apache-2.0
// Device kernels as functions of the module.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/support/temporary_folder.h"
#include "tests/unit/lower/llvm_support.h"

namespace tw {
namespace {

// What the threads write is read around them; numbers of several types go along.
Kernel program() {
  return test::make_kernel(R"(for (k, 0, 3) {
  let wide = (int64(k)*(int64)4)
  let odd = ((k % 2) == 1)
  O[(k*2)] = A[0]
  {
    // attr [] thread_axis = "blockIdx.x"
    for (b, 0, 2) {
      // attr [] thread_axis = "threadIdx.x"
      for (t, 0, 4) {
        // attr [S] storage_scope = "global"
        allocate S[int32 * 1024]
        S[t] = (int32(wide) + t)
        A[((b*4) + t)] = (select(odd, 100, 10) + S[t])
      }
    }
  }
  O[((k*2) + 1)] = A[0]
}
)",
                           {{"A", int_type(32), {8}, true}, {"O", int_type(32), {6}, true}}, "f");
}

void expect_right(const Function& f) {
  NDArray a = NDArray::zeros({8}, int_type(32)), o = NDArray::zeros({6}, int_type(32));
  a.data_as<int32_t>()[0] = 7;
  f(a, o);
  EXPECT_THAT(std::vector<int32_t>(o.data_as<int32_t>(), o.data_as<int32_t>() + 6),
              testing::ElementsAre(7, 10, 10, 104, 104, 18));
  EXPECT_EQ(a.data_as<int32_t>()[7], 21);
}

TEST(LlvmLaunch, CallsTheDeviceKernel) {
  const KernelModule module = run_passes(program(), Target::host(), {.verify = true});
  ASSERT_EQ(module.kernels.size(), 2u);
  const auto compiled = compile(module, Target::host());
  EXPECT_THAT(compiled->function_names(), testing::ElementsAre("f"));
  expect_right(compiled->get_function("f"));
  expect_right(compiled->get_function("f").unchecked());
  EXPECT_THAT(compiled->source("ll"), testing::HasSubstr("call i32 @f_kernel0.device"));
}

// Wherever in the module device kernels stand.
TEST(LlvmLaunch, DevicesStandAnywhere) {
  KernelModule module = run_passes(program(), Target::host(), {});
  std::ranges::reverse(module.kernels);
  Kernel other = program();
  other.name = "g";
  for (Kernel& k : run_passes(other, Target::host(), {}).kernels) module.kernels.push_back(k);
  const auto compiled = compile(module, Target::host());
  EXPECT_THAT(compiled->function_names(), testing::ElementsAre("f", "g"));
  expect_right(compiled->get_function("f"));
  expect_right(compiled->get_function("g"));
}

TEST(LlvmLaunch, LibrariesContainThem) {
  const test::TemporaryFolder folder;
  const auto compiled = compile(run_passes(program(), Target::host(), {}), Target::host());
  compiled->export_library(folder.file("f.so"));
  const auto loaded = load_library(folder.file("f.so"));
  EXPECT_THAT(loaded->function_names(), testing::ElementsAre("f"));
  expect_right(loaded->get_function("f"));
  compiled->export_library(folder.file("f.h"));
  std::ifstream in(folder.path() / "f.h");
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(in), {}),
              testing::Not(testing::HasSubstr("kernel0")));
}

TEST(LlvmLaunch, AMissingKernelIsRefused) {
  const KernelModule module = run_passes(program(), Target::host(), {});
  EXPECT_THROW(compile(module.entry(), Target::host()), Error);
}

}  // namespace
}  // namespace tw
