// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/error.h"
#include "runtime/ndarray.h"

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

// Memory for `threads` threads, and what is lent of it.
struct Lent {
  std::vector<char> memory;
  Workspace workspace;
  Lent(int64_t call, int64_t thread, int32_t threads) {
    workspace = {.call_bytes = call, .thread_bytes = thread, .num_threads = threads};
    memory.resize(static_cast<size_t>(workspace.bytes()) + 64);
    const auto begin = reinterpret_cast<uintptr_t>(memory.data());
    workspace.memory = memory.data() + ((begin + 63) / 64 * 64 - begin);
    lend_workspace(&workspace);
  }
  ~Lent() { lend_workspace(nullptr); }
  // The offset of a block in what is lent; negative: it is elsewhere.
  int64_t offset(void* block) const {
    const int64_t at = static_cast<char*>(block) - static_cast<char*>(workspace.memory);
    return at >= 0 && at < workspace.bytes() ? at : -1;
  }
};

TEST(Workspace, LentMemoryIsTakenFirst) {
  workspace_trim();
  void* beyond = nullptr;
  {
    const Lent lent(1000, 0, 1);
    void* a = workspace_alloc(100);
    void* b = workspace_alloc(300);
    EXPECT_EQ(lent.offset(a), 0);
    EXPECT_EQ(lent.offset(b), 128);
    beyond = workspace_alloc(600);  // does not fit: 576 bytes are left
    EXPECT_LT(lent.offset(beyond), 0);
    void* rest = workspace_alloc(576);
    EXPECT_EQ(lent.offset(rest), 448);
    workspace_free(rest);
    workspace_free(b);
    EXPECT_EQ(workspace_alloc(64), b);
    void* aligned = workspace_alloc(64, 256);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned) % 256, 0u);
    EXPECT_GT(lent.offset(aligned), 0);
    EXPECT_EQ(workspace_kept_bytes(), 0u);
  }
  workspace_free(beyond);
  EXPECT_GT(workspace_kept_bytes(), 0u);
  workspace_trim();
}

TEST(Workspace, NonsenseIsNotLent) {
  alignas(64) char memory[128];
  for (const Workspace& w :
       {Workspace{nullptr, 64, 0, 1}, Workspace{memory + 8, 64, 0, 1}, Workspace{memory, -1, 0, 1},
        Workspace{memory, 0, -1, 1}, Workspace{memory, 64, 0, Workspace::kMaxThreads + 1}}) {
    EXPECT_THROW(lend_workspace(&w), UserError);
  }
}

// Each task sees memory of its own, in its part, whatever the number of tasks, and whether they are
// dealt out beforehand; a region inside a task gets nothing of others' parts.
TEST(ThreadSanitizerWorkspace, TasksGetPartsOfTheirOwn) {
  ThreadPool pool({.num_threads = 3});
  for (const Chunking chunking : {Chunking::Static, Chunking::Dynamic}) {
    for (const int32_t tasks : {1, 3, 40}) {
      const Lent lent(64, 1 << 12, 3);
      struct Seen {
        const Lent& lent;
        std::atomic<int> wrong{0};
      } seen{lent};
      const TaskBody body = [](int32_t task, int32_t, void* closure) -> int32_t {
        auto& s = *static_cast<Seen*>(closure);
        auto* first = static_cast<int32_t*>(workspace_alloc(1 << 11));
        auto* second = static_cast<int32_t*>(workspace_alloc(1 << 11));
        for (int i = 0; i < 512; ++i) first[i] = second[i] = task;
        for (int i = 0; i < 512; ++i) s.wrong += first[i] != task || second[i] != task;
        s.wrong += s.lent.offset(first) < 64 || s.lent.offset(second) < 64;
        const TaskBody inner = [](int32_t, int32_t, void* outer) -> int32_t {
          void* block = workspace_alloc(64);
          static_cast<Seen*>(outer)->wrong += static_cast<Seen*>(outer)->lent.offset(block) >= 0;
          workspace_free(block);
          return 0;
        };
        TaskWorkspaces nested(inner, closure);
        nested.body()(0, 1, nested.closure());
        workspace_free(second);
        workspace_free(first);
        return 0;
      };
      TaskWorkspaces regions(body, &seen);
      EXPECT_EQ(pool.parallel_for(regions.body(), regions.closure(),
                                  {.num_tasks = tasks, .chunking = chunking}),
                0);
      EXPECT_EQ(seen.wrong, 0) << tasks;
      void* after = workspace_alloc(64);
      EXPECT_EQ(lent.offset(after), 0);  // the thread's own again
      workspace_free(after);
    }
  }
  workspace_trim();
}

TEST(Workspace, ALoanGivesBackWhatWasLentBefore) {
  const Lent outer(256, 0, 1);
  void* const mine = workspace_alloc(64);
  {
    const NDArray memory = NDArray::empty({128}, uint_type(8));
    const WorkspaceLoan loan({.memory = memory.data(), .call_bytes = 128, .num_threads = 1});
    void* const block = workspace_alloc(64);
    EXPECT_EQ(block, memory.data());
    workspace_free(block);
  }
  void* const next = workspace_alloc(64);
  EXPECT_EQ(next, static_cast<char*>(mine) + 64);
  workspace_free(next);
  workspace_free(mine);
}

}  // namespace
}  // namespace tw
