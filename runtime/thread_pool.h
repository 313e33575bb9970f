// SPDX-License-Identifier: Apache-2.0
// Fork and join over persistent worker threads. The calling thread takes part: a pool of n threads
// has n - 1 workers. Workers that have nothing to do spin for a bounded time, so that the next
// region starts within a microsecond, and then sleep. They wake up on CPUs of their own
// (thread_placement.h), and what none of them has begun when the caller is done, it does itself.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "runtime/api.h"

namespace tw {

// Returns 0, or anything else for failure (the message in last_error()). C++ bodies may throw.
using TaskBody = int32_t (*)(int32_t task_id, int32_t num_tasks, void* closure);

// How more tasks than threads are dealt out. Static: thread t gets the t-th run of consecutive
// tasks, the same on each call, so that caches stay warm; the calling thread takes over runs that
// are not begun when it has done its own. Dynamic: each thread takes the next task when it is done
// with its last, for tasks of unequal cost. Tasks must not wait for each other.
enum class Chunking : uint8_t { Static, Dynamic };

struct ParallelOptions {
  int32_t num_tasks = 0;  // 0: one for each thread
  Chunking chunking = Chunking::Static;
};

struct ThreadPoolOptions {
  int num_threads = 0;            // the caller included; 0: default_num_threads()
  double spin_microseconds = 50;  // how long workers and the joining caller spin before they sleep
  bool pin = false;               // worker i on the i-th CPU of the affinity mask, the caller free
  uint64_t messages_sent = 0;     // where the count of messages to the workers starts; for tests
};
// TILEWRIGHT_NUM_THREADS, or else OMP_NUM_THREADS, so that one variable sets all libraries;
// TILEWRIGHT_SPIN_US, TILEWRIGHT_PIN=1. A value of ours that makes no sense is logged and ignored.
TW_API ThreadPoolOptions thread_pool_options_from_environment();
// The CPUs that this process may use: its affinity mask, bounded by the cgroup's quota.
TW_API int default_num_threads();

class TW_API ThreadPool {
 public:
  static constexpr int kMaxThreads = 4096;

  explicit ThreadPool(ThreadPoolOptions options = {});
  ~ThreadPool();  // joins the workers
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // The pool that compiled kernels use. Never destroyed, so that a process can end at any moment;
  // a forked child gets a fresh one.
  static ThreadPool& global();

  // Runs body(i, num_tasks, closure) for each i and waits for all. Returns 0, or what the first
  // task to fail returned, its message in this thread's last_error(); an exception of a task is
  // rethrown here. Tasks that have not begun when one fails are skipped.
  //
  // Inside a task, a further parallel region runs serially on its thread (num_tasks 0 means 1).
  // When another thread is inside a region of this pool, waits for it to end. Allocates nothing.
  int32_t parallel_for(TaskBody body, void* closure, ParallelOptions options = {});

  int num_threads() const;
  // Takes effect before the next region; waits for a running one. Throws BadArgument when n is
  // not in 1 … kMaxThreads, or inside a task.
  void set_num_threads(int n);
  double spin_microseconds() const;
  void set_spin_microseconds(double microseconds);
  bool pinned() const;
  // Takes effect at once; unpinned workers may run on every CPU of the process again.
  void set_pinned(bool pin);

  // Puts all workers to sleep now and returns when they are; the next region wakes those it needs.
  // For when something else is to have the cores. Does nothing inside a task.
  void park();

  // Whether this thread runs a task, of any pool.
  static bool in_task();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// body(task_id, num_tasks) for each task on the global pool; exceptions arrive here.
template <class Body>
void parallel_for(ParallelOptions options, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  ThreadPool::global().parallel_for(
      [](int32_t task_id, int32_t num_tasks, void* closure) -> int32_t {
        (*static_cast<Plain*>(closure))(task_id, num_tasks);
        return 0;
      },
      const_cast<std::remove_const_t<Plain>*>(&body), options);
}

}  // namespace tw
