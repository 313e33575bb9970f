// SPDX-License-Identifier: Apache-2.0
// Scratch memory of kernels. Each thread keeps the blocks that it freed and gives them out again,
// so that a kernel's second call asks the system for nothing and finds its pages mapped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/api.h"
#include "runtime/thread_pool.h"

namespace tw {

// At least `bytes` bytes, uninitialised, aligned to `alignment` (a power of two) and to 64. Null
// when there is no memory or an argument makes no sense.
TW_API void* workspace_alloc(int64_t bytes, int64_t alignment = 64);
// Any thread may free; the block then belongs to that thread's pool. Null is allowed.
TW_API void workspace_free(void* block);
// Gives what this thread's pool keeps back to the system.
TW_API void workspace_trim();
// Bytes that this thread's pool keeps.
TW_API size_t workspace_kept_bytes();

// Memory that a thread lends to the kernels it calls, in place of the pools. One call needs
// `call_bytes` of it outside parallel regions, and inside of them `thread_bytes` for each of
// `num_threads` threads; what does not fit comes from the pools after all. Meanwhile blocks are
// freed on the thread that took them, the last one first, as compiled code does.
struct Workspace {
  static constexpr int32_t kMaxThreads = 1024;
  void* memory = nullptr;  // aligned to 64
  int64_t call_bytes = 0, thread_bytes = 0;
  int32_t num_threads = 0;

  int64_t bytes() const { return call_part() + num_threads * thread_part(); }
  int64_t call_part() const { return (call_bytes + 63) / 64 * 64; }
  int64_t thread_part() const { return (thread_bytes + 63) / 64 * 64; }
};
// For this thread, until the next one; null: none. Not inside a kernel. Throws BadArgument when it
// makes no sense.
TW_API void lend_workspace(const Workspace* workspace);

// The same for as long as this lives; then what was lent before is lent again, blocks that were
// taken of it included.
class TW_API WorkspaceLoan {
 public:
  explicit WorkspaceLoan(const Workspace& workspace);
  ~WorkspaceLoan();
  WorkspaceLoan(const WorkspaceLoan&) = delete;
  WorkspaceLoan& operator=(const WorkspaceLoan&) = delete;

 private:
  Workspace lent_;
  char *begin_, *top_, *end_;
};

// The tasks of a parallel region, each with its part of what the launching thread has lent: body()
// and closure() are for ThreadPool::parallel_for in place of the given ones, and are those where
// nothing is lent. Lives as long as the region.
class TW_API TaskWorkspaces {
 public:
  TaskWorkspaces(TaskBody body, void* closure);
  TaskBody body() const { return lent_.memory != nullptr ? &run : body_; }
  void* closure() { return lent_.memory != nullptr ? this : closure_; }

 private:
  static int32_t run(int32_t task_id, int32_t num_tasks, void* self);
  int32_t take_part();
  void give_back(int32_t part);

  TaskBody body_;
  void* closure_;
  Workspace lent_;
  // A bit a part that no task has, for regions of more tasks than parts.
  std::atomic<uint64_t> free_[Workspace::kMaxThreads / 64];
};

}  // namespace tw
