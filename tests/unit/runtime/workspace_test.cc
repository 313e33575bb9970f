// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace tw {
namespace {

TEST(Workspace, AlignedAndReused) {
  workspace_trim();
  for (int64_t alignment : {1, 16, 64, 128, 4096}) {
    void* a = workspace_alloc(1000, alignment);
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % static_cast<uintptr_t>(alignment), 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % 64, 0u);
    std::memset(a, 1, 1000);
    workspace_free(a);
  }
  void* a = workspace_alloc(5000);
  workspace_free(a);
  EXPECT_EQ(workspace_alloc(4000), a);  // the block that was just freed
  void* b = workspace_alloc(5000);
  EXPECT_NE(a, b);
  workspace_free(a);
  workspace_free(b);
  workspace_trim();
  EXPECT_EQ(workspace_kept_bytes(), 0u);
}

TEST(Workspace, KeepsABoundedAmount) {
  workspace_trim();
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(workspace_alloc(1 << 20));
  for (void* block : blocks) workspace_free(block);
  EXPECT_LE(workspace_kept_bytes(), size_t(16) << 20);
  void* large = workspace_alloc(int64_t(300) << 20);
  workspace_free(large);
  EXPECT_LE(workspace_kept_bytes(), size_t(256) << 20);
  workspace_trim();
  // Few blocks may be much memory too.
  blocks.clear();
  for (int i = 0; i < 6; ++i) blocks.push_back(workspace_alloc(int64_t(64) << 20));
  for (void* block : blocks) workspace_free(block);
  EXPECT_EQ(workspace_kept_bytes(), size_t(256) << 20);
  workspace_trim();
}

TEST(Workspace, Nonsense) {
  EXPECT_EQ(workspace_alloc(-1), nullptr);
  EXPECT_EQ(workspace_alloc(8, 48), nullptr);
  workspace_free(nullptr);
  void* none = workspace_alloc(0);
  EXPECT_NE(none, nullptr);
  workspace_free(none);
}

TEST(ThreadSanitizerWorkspace, BlocksMoveBetweenThreads) {
  std::vector<void*> blocks(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < blocks.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 100; ++k) workspace_free(workspace_alloc(64 * (k + 1)));
      blocks[i] = workspace_alloc(100);
    });
  }
  for (std::thread& t : threads) t.join();
  for (void* block : blocks) workspace_free(block);  // on another thread than it came from
  workspace_trim();
}

}  // namespace
}  // namespace tw
