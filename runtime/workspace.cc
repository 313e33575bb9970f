// SPDX-License-Identifier: Apache-2.0
#include "runtime/workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "runtime/error.h"

namespace tw {
namespace {

// Stands in the line before the block. `start` is what std::free wants.
struct Header {
  void* start;
  size_t capacity;
  size_t alignment;
};
constexpr size_t kLine = 64;
static_assert(sizeof(Header) <= kLine);

// Beyond these a freed block goes back to the system: a thread keeps what a kernel and its
// neighbours use, not what one large call once needed.
constexpr size_t kMaxBlocks = 16;
constexpr size_t kMaxKept = size_t(256) << 20;

Header& header_of(void* block) {
  return *reinterpret_cast<Header*>(static_cast<char*>(block) - kLine);
}

// Trivial, so that a kernel called while the thread's other locals are torn down still finds it.
struct Pool {
  void* blocks[kMaxBlocks];  // oldest first
  size_t count;
  size_t kept;
  bool ended;  // the thread ends: keep nothing more
};
thread_local Pool t_pool;

void release(void* block) { std::free(header_of(block).start); }

void* take_out(Pool& pool, size_t i) {
  void* block = pool.blocks[i];
  pool.kept -= header_of(block).capacity;
  std::copy(pool.blocks + i + 1, pool.blocks + pool.count, pool.blocks + i);
  --pool.count;
  return block;
}

// Empties the pool when the thread ends.
struct AtThreadEnd {
  bool armed = false;
  ~AtThreadEnd() {
    workspace_trim();
    t_pool.ended = true;
  }
};
thread_local AtThreadEnd t_at_thread_end;

// Lent memory that this thread's blocks come from now: those taken lie below `top`.
struct Arena {
  char* begin;
  char* top;
  char* end;
};
thread_local Arena t_arena;
thread_local Workspace t_lent;  // to the regions that this thread launches

size_t align_up(size_t n, size_t alignment) { return (n + alignment - 1) & ~(alignment - 1); }

Arena arena_of(void* begin, int64_t bytes) {
  auto* first = static_cast<char*>(begin);
  return {first, first, first + bytes};
}

// Null where it does not fit.
void* take_from(Arena& arena, size_t bytes, size_t alignment) {
  if (arena.begin == nullptr) return nullptr;
  const auto top = reinterpret_cast<uintptr_t>(arena.top);
  const size_t skipped = align_up(top, alignment) - top;
  const auto left = static_cast<size_t>(arena.end - arena.top);
  if (skipped > left || bytes > left - skipped) return nullptr;
  char* block = arena.top + skipped;
  arena.top = block + std::min(align_up(bytes, kLine), left - skipped);
  return block;
}

}  // namespace

void* workspace_alloc(int64_t bytes, int64_t alignment) {
  if (bytes < 0 || alignment < 0 || (alignment & (alignment - 1)) != 0) return nullptr;
  const size_t aligned = std::max(static_cast<size_t>(alignment), kLine);
  const size_t wanted = std::max<size_t>(static_cast<size_t>(bytes), 1);
  if (void* lent = take_from(t_arena, wanted, aligned)) return lent;
  Pool& pool = t_pool;
  // The last freed that fits is the likeliest to be in cache. A block much larger than asked for
  // stays for whom it was made.
  for (size_t i = pool.count; i-- > 0;) {
    const Header& header = header_of(pool.blocks[i]);
    if (header.capacity >= wanted && header.alignment >= aligned &&
        header.capacity <= std::max<size_t>(4 * wanted, size_t(64) << 10)) {
      return take_out(pool, i);
    }
  }
  const size_t capacity = (wanted + kLine - 1) / kLine * kLine;
  if (capacity > SIZE_MAX / 2 || aligned > SIZE_MAX / 4) return nullptr;
  // The block begins `aligned` into the allocation; the line before it holds the header.
  void* start = std::aligned_alloc(aligned, (capacity + 2 * aligned - 1) / aligned * aligned);
  if (start == nullptr) return nullptr;
  void* block = static_cast<char*>(start) + aligned;
  header_of(block) = {start, capacity, aligned};
  return block;
}

void workspace_free(void* block) {
  if (block == nullptr) return;
  if (block >= t_arena.begin && block < t_arena.end) {
    t_arena.top = static_cast<char*>(block);
    return;
  }
  Pool& pool = t_pool;
  const size_t capacity = header_of(block).capacity;
  if (pool.ended || capacity > kMaxKept) return release(block);
  t_at_thread_end.armed = true;  // touching it makes its destructor run
  while (pool.count == kMaxBlocks || pool.kept + capacity > kMaxKept) release(take_out(pool, 0));
  pool.blocks[pool.count++] = block;
  pool.kept += capacity;
}

void workspace_trim() {
  Pool& pool = t_pool;
  while (pool.count > 0) release(take_out(pool, pool.count - 1));
}

size_t workspace_kept_bytes() { return t_pool.kept; }

void lend_workspace(const Workspace* workspace) {
  if (workspace == nullptr) {
    t_lent = {};
    t_arena = {};
    return;
  }
  const Workspace& w = *workspace;
  constexpr int64_t kMost = int64_t{1} << 46;
  if (w.memory == nullptr || reinterpret_cast<uintptr_t>(w.memory) % kLine != 0 ||
      w.call_bytes < 0 || w.thread_bytes < 0 || w.call_bytes > kMost || w.thread_bytes > kMost ||
      w.num_threads < 0 || w.num_threads > Workspace::kMaxThreads) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("a workspace at {} of {} bytes and {} for each of {} threads",
                               w.memory, w.call_bytes, w.thread_bytes, w.num_threads),
           .legal = fmt::format("memory aligned to {}, sizes of at least 0, and up to {} threads",
                                kLine, Workspace::kMaxThreads)});
  }
  t_lent = w;
  t_arena = arena_of(w.memory, w.call_part());
}

WorkspaceLoan::WorkspaceLoan(const Workspace& workspace)
    : lent_(t_lent), begin_(t_arena.begin), top_(t_arena.top), end_(t_arena.end) {
  lend_workspace(&workspace);
}

WorkspaceLoan::~WorkspaceLoan() {
  t_lent = lent_;
  t_arena = {begin_, top_, end_};
}

TaskWorkspaces::TaskWorkspaces(TaskBody body, void* closure)
    : body_(body), closure_(closure), lent_(t_lent) {
  if (lent_.thread_bytes == 0 || lent_.num_threads == 0) lent_ = {};
  if (lent_.memory == nullptr) return;
  for (int32_t word = 0; word < Workspace::kMaxThreads / 64; ++word) {
    const int32_t parts = std::clamp(lent_.num_threads - 64 * word, 0, 64);
    free_[word].store(parts == 64 ? ~uint64_t{0} : (uint64_t{1} << parts) - 1,
                      std::memory_order_relaxed);
  }
}

int32_t TaskWorkspaces::take_part() {
  for (int32_t word = 0; 64 * word < lent_.num_threads; ++word) {
    uint64_t left = free_[word].load(std::memory_order_relaxed);
    while (left != 0) {
      if (free_[word].compare_exchange_weak(left, left & (left - 1), std::memory_order_acquire))
        return 64 * word + std::countr_zero(left);
    }
  }
  return -1;
}

void TaskWorkspaces::give_back(int32_t part) {
  if (part >= 0) free_[part / 64].fetch_or(uint64_t{1} << (part % 64), std::memory_order_release);
}

int32_t TaskWorkspaces::run(int32_t task_id, int32_t num_tasks, void* closure) {
  auto& self = *static_cast<TaskWorkspaces*>(closure);
  // With a part for each task no two ask for the same.
  const bool taken = num_tasks > self.lent_.num_threads;
  const int32_t part = taken ? self.take_part() : task_id;
  // What the thread lends itself, and its own blocks, are nothing to the task.
  struct Outer {
    Arena arena = std::exchange(t_arena, Arena());
    Workspace lent = std::exchange(t_lent, Workspace());
    ~Outer() {
      t_arena = arena;
      t_lent = lent;
    }
  };
  int32_t status = 0;
  {
    const Outer outer;
    if (part >= 0) {
      char* memory = static_cast<char*>(self.lent_.memory) + self.lent_.call_part();
      t_arena = arena_of(memory + part * self.lent_.thread_part(), self.lent_.thread_part());
    }
    status = self.body_(task_id, num_tasks, self.closure_);
  }
  if (taken) self.give_back(part);
  return status;
}

}  // namespace tw
