// SPDX-License-Identifier: Apache-2.0
#include "runtime/thread_pool.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/error.h"
#include "runtime/futex.h"
#include "runtime/last_error.h"
#include "runtime/log.h"
#include "runtime/machine.h"
#include "runtime/thread_placement.h"

namespace tw {
namespace {

thread_local bool t_in_task = false;

// What the caller tells the workers in one 64-bit word: a count that goes up with each message,
// how many threads take part in the region, and whether the workers shall go to sleep. A worker
// that does not take part reads nothing but this word, so the caller need not wait for it.
using Signal = uint64_t;
constexpr Signal kParkBit = 1 << 15;
constexpr Signal kThreadsMask = kParkBit - 1;
constexpr int kCountShift = 16;

int threads_of(Signal signal) { return static_cast<int>(signal & kThreadsMask); }
// The region's name in a share: as much of the count as a futex holds. Another region has the same
// after 2³² messages, and which of two is later shows only within 2³¹, so that none may lie for
// long.
uint32_t region_of(Signal signal) { return static_cast<uint32_t>(signal >> kCountShift); }
constexpr Signal kRenewalPeriod = Signal(1) << 30;  // in messages

// Spins until done() or until `nanoseconds` have passed; returns done(). The clock is looked at
// every 32 rounds, some microseconds.
template <class Done>
bool spin_until(int64_t nanoseconds, Done done) {
  std::chrono::steady_clock::time_point end{};
  while (nanoseconds > 0) {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      cpu_relax();
    }
    const auto now = std::chrono::steady_clock::now();
    if (end == std::chrono::steady_clock::time_point{}) {
      end = now + std::chrono::nanoseconds(nanoseconds);
    } else if (now >= end) {
      break;
    }
  }
  return done();
}

}  // namespace

struct ThreadPool::State {
  // What there is of one worker. Its share of a region belongs to who writes the region's name into
  // `taken` first: the worker, or the caller when it has nothing else to do. So a worker that wakes
  // up late delays nobody.
  struct alignas(64) Slot {
    std::atomic<uint32_t> taken{0};
    std::atomic<uint32_t> receipt{0};  // the last region whose share is done
    std::atomic<uint32_t> asleep{0};   // 1 while it sleeps or is about to
    std::atomic<int> cpu{-1};          // where it ran last
    std::atomic<pid_t> thread_id{0};
    // The caller's, while it places the worker: where it may run, and where it shall wake up; -1:
    // wherever the system likes.
    cpu_set_t allowed;
    int home = -1;
    std::thread thread;

    // Whether the share of this region is now the calling thread's: nobody has it yet, and no later
    // region has begun.
    bool take(uint32_t region) {
      uint32_t last = taken.load(std::memory_order_acquire);
      return static_cast<int32_t>(region - last) > 0 && taken.compare_exchange_strong(last, region);
    }
    void note_cpu() {
      const int now = sched_getcpu();
      if (now != cpu.load(std::memory_order_relaxed)) cpu.store(now, std::memory_order_relaxed);
    }
  };

  // What workers read when a region begins, in one cache line: the signal is stored last, the rest
  // is plain memory: the caller writes it before that, those who take part read it until the join.
  struct alignas(64) {
    std::atomic<Signal> signal{0};
    TaskBody body = nullptr;
    void* closure = nullptr;
    int32_t num_tasks = 0;
    int32_t threads = 0;
    Chunking chunking = Chunking::Static;
  } call;

  // Rarely written, read at each region.
  struct alignas(64) {
    std::atomic<bool> caller_asleep{false};
    std::atomic<bool> failed{false};
    std::atomic<int> quit_from{kMaxThreads};  // workers from this one on shall end
    std::atomic<int64_t> spin_nanoseconds{0};
    std::atomic<int> num_threads{1};
  } control;

  struct alignas(64) {
    std::atomic<int32_t> next{0};
  } dynamic;

  // Written by the first task that fails, read by the caller after the join.
  int32_t failure = 0;
  LastError failure_error;
  std::exception_ptr failure_exception;

  std::mutex region;  // held by the thread that is inside a region or changes the pool
  std::vector<std::unique_ptr<Slot>> slots;  // worker i is slots[i - 1]
  std::atomic<bool> pin;                     // changes under `region`
  std::atomic<int64_t> asked_spin_nanoseconds{0};
  const std::vector<int>& cores = cores_of_cpus();

  State(bool pin_, uint64_t messages_sent) : pin(pin_) {
    call.signal = messages_sent << kCountShift;
  }

  void update_spin() {
    // With more threads than CPUs, who spins holds the CPU that the awaited thread needs.
    const bool crowded = control.num_threads > default_num_threads();
    control.spin_nanoseconds = crowded ? 0 : asked_spin_nanoseconds.load();
  }

  // --- messages to the workers; the caller holds `region`

  // first … last - 1 are the workers that must see the signal even when they sleep.
  void send(int threads, Signal bits, int first, int last) {
    const Signal before = call.signal.load(std::memory_order_relaxed);
    const Signal count = (before >> kCountShift) + 1;
    if (count % kRenewalPeriod == 0) {  // nobody is at work, so nobody writes a receipt
      for (const auto& slot : slots) {
        slot->taken.store(region_of(before));
        slot->receipt.store(region_of(before));
      }
    }
    // Sequentially consistent against await(): either the worker sees this signal before it sleeps,
    // or we see that it is asleep.
    call.signal.store(count << kCountShift | bits | static_cast<Signal>(threads));
    wake_and_place(first, last);
  }

  // Wakes those that sleep. They, and those that wait behind us on our CPU, get a CPU that no other
  // of them has, if there is one: for the moment in which the system puts them somewhere they are
  // allowed nothing else.
  void wake_and_place(int first, int last) {
    const int here = sched_getcpu();
    const auto in_place = [&](const Slot& slot) {
      return slot.asleep.load() == 0 && slot.cpu.load(std::memory_order_relaxed) != here;
    };
    const auto each = [&](auto visit) {
      for (int id = first; id < last; ++id) visit(*slots[static_cast<size_t>(id - 1)]);
    };
    bool all_in_place = true;
    each([&](const Slot& slot) { all_in_place = all_in_place && in_place(slot); });
    if (all_in_place) return;

    CpuClaims claims(cores);
    claims.take(here);
    each([&](Slot& slot) {
      slot.home = kInPlace;
      if (in_place(slot)) claims.take(slot.cpu.load(std::memory_order_relaxed));
    });
    each([&](Slot& slot) {
      if (in_place(slot)) return;
      slot.home = choose_home(slot, claims);
      if (slot.home >= 0) claims.take(slot.home);
    });
    each([&](Slot& slot) {
      if (slot.home >= 0) restrict(slot, claims);
      if (slot.asleep.load() != 0 && slot.asleep.exchange(0) != 0) futex_wake_all(slot.asleep);
    });
    each([&](const Slot& slot) {
      if (slot.home >= 0) restore_affinity(slot.thread_id, slot.allowed);
    });
  }
  static constexpr int kAnywhere = -1, kInPlace = -2;

  static int choose_home(Slot& slot, const CpuClaims& claims) {
    const pid_t thread = slot.thread_id.load(std::memory_order_relaxed);
    if (thread == 0 || sched_getaffinity(thread, sizeof slot.allowed, &slot.allowed) != 0) {
      return kAnywhere;
    }
    return claims.choose(slot.allowed, slot.cpu.load(std::memory_order_relaxed));
  }

  static void restrict(Slot& slot, const CpuClaims& claims) {
    const int last = slot.cpu.load(std::memory_order_relaxed);
    const cpu_set_t room = room_of(slot.home, last, slot.allowed, claims);
    if (CPU_EQUAL(&room, &slot.allowed) ||
        sched_setaffinity(slot.thread_id, sizeof room, &room) != 0) {
      slot.home = kAnywhere;
    } else {
      slot.cpu.store(slot.home, std::memory_order_relaxed);
    }
  }

  // The caller's work after its own share: those that nobody has begun.
  void take_over(int threads) {
    const uint32_t region = region_of(call.signal.load(std::memory_order_relaxed));
    for (int id = 1; id < threads; ++id) {
      Slot& slot = *slots[static_cast<size_t>(id - 1)];
      if (!slot.take(region)) continue;
      run_share(id);
      slot.receipt.store(region, std::memory_order_relaxed);
    }
  }

  void join(int threads) {
    const uint32_t region = region_of(call.signal.load(std::memory_order_relaxed));
    const int64_t spin = control.spin_nanoseconds.load(std::memory_order_relaxed);
    for (int id = 1; id < threads; ++id) {
      Slot& slot = *slots[static_cast<size_t>(id - 1)];
      const auto done = [&] { return slot.receipt.load(std::memory_order_acquire) == region; };
      if (done()) continue;
      // Who spins on the CPU that the worker needs only delays it.
      const bool apart = slot.cpu.load(std::memory_order_relaxed) != sched_getcpu();
      if (apart && spin_until(spin, done)) continue;
      control.caller_asleep.store(true);
      for (uint32_t seen; (seen = slot.receipt.load()) != region;) futex_wait(slot.receipt, seen);
      control.caller_asleep.store(false);
    }
  }

  // --- a worker's side

  // Waits for a signal that concerns worker `id` and returns it.
  Signal await(int id, Slot& slot, Signal seen) {
    bool park = false;
    const auto concerned = [&](std::memory_order order = std::memory_order_acquire) {
      const Signal now = call.signal.load(order);
      if (now == seen) return false;
      seen = now;
      if (id < threads_of(now) || id >= control.quit_from.load(std::memory_order_relaxed)) {
        return true;
      }
      park = (now & kParkBit) != 0;
      return park;
    };
    slot.note_cpu();
    const int64_t spin = control.spin_nanoseconds.load(std::memory_order_relaxed);
    if (spin_until(spin, concerned) && !park) return seen;
    const auto called = [&] {
      park = false;
      return concerned(std::memory_order_seq_cst) && !park;
    };
    while (!called()) {
      slot.asleep.store(1);
      if (called()) break;
      while (slot.asleep.load() == 1) futex_wait(slot.asleep, 1);
    }
    slot.asleep.store(0);
    slot.note_cpu();
    return seen;
  }

  void work(int id, Slot& slot, Signal seen) {
    t_in_task = true;
    slot.thread_id = gettid();
    for (;;) {
      seen = await(id, slot, seen);
      if (id >= control.quit_from.load(std::memory_order_relaxed)) return;
      if (!slot.take(region_of(seen))) continue;  // too late: the caller has done it
      run_share(id);
      // Sequentially consistent against the caller, which says that it sleeps and looks again.
      slot.receipt.store(region_of(seen));
      if (control.caller_asleep.load()) futex_wake_all(slot.receipt);
    }
  }

  // --- tasks

  void fail(int32_t code, std::exception_ptr exception) {
    if (control.failed.exchange(true)) return;
    failure = code;
    failure_error = last_error();
    failure_exception = std::move(exception);
  }

  // Whether to go on.
  bool run_task(int32_t task) {
    if (control.failed.load(std::memory_order_relaxed)) return false;
    try {
      const int32_t code = call.body(task, call.num_tasks, call.closure);
      if (code == 0) return true;
      LastError& error = last_error();
      if (!error.present) {
        error.assign(ErrorCode::Internal,
                     fmt::format("task {} of {} returned {}", task, call.num_tasks, code));
      }
      fail(code, nullptr);
    } catch (...) {
      fail(-1, std::current_exception());
    }
    return false;
  }

  void run_share(int id) {
    last_error().present = false;
    if (call.chunking == Chunking::Dynamic) {
      for (;;) {
        const int32_t task = dynamic.next.fetch_add(1, std::memory_order_relaxed);
        if (task >= call.num_tasks || !run_task(task)) return;
      }
    }
    const int64_t n = call.num_tasks;
    const auto end = static_cast<int32_t>(n * (id + 1) / call.threads);
    for (auto task = static_cast<int32_t>(n * id / call.threads); task < end; ++task) {
      if (!run_task(task)) return;
    }
  }

  // Gives the first failure to the calling thread.
  int32_t take_failure() {
    control.failed.store(false, std::memory_order_relaxed);
    if (auto exception = std::exchange(failure_exception, nullptr)) {
      std::rethrow_exception(exception);
    }
    last_error() = failure_error;
    return failure;
  }

  // --- the workers' life; the caller holds `region`

  // Starts the workers that are missing. Fewer than asked for when the system refuses.
  void start_workers() {
    const int wanted = control.num_threads.load(std::memory_order_relaxed);
    if (static_cast<int>(slots.size()) + 1 == wanted) return;
    // Interrupts are for the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const Signal seen = call.signal.load(std::memory_order_relaxed);
    while (static_cast<int>(slots.size()) + 1 < wanted) {
      const int id = static_cast<int>(slots.size()) + 1;
      try {
        auto slot = std::make_unique<Slot>();
        slot->taken = slot->receipt = region_of(seen);  // of no region to come
        Slot& its = *slot;
        slots.reserve(slots.size() + 1);
        its.thread = std::thread([this, id, &its, seen] { work(id, its, seen); });
        slots.push_back(std::move(slot));
      } catch (const std::exception& e) {
        log_warning(
            fmt::format("only {} of {} threads could be started: {}", id, wanted, e.what()));
        control.num_threads = id;
        break;
      }
      const std::string name = fmt::format("tilewright-{}", id);
      pthread_setname_np(slots.back()->thread.native_handle(), name.c_str());
      if (pin) place_worker(id);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  // Puts a worker on its CPU, or lets it run on all.
  void place_worker(int id) {
    const std::vector<int>& cpus = host().affinity;
    if (cpus.empty()) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (pin) {
      CPU_SET(static_cast<size_t>(cpus[static_cast<size_t>(id) % cpus.size()]), &set);
    } else {
      for (int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &set);
    }
    Slot& slot = *slots[static_cast<size_t>(id - 1)];
    pthread_setaffinity_np(slot.thread.native_handle(), sizeof set, &set);
  }

  // Ends the workers beyond `threads`.
  void stop_workers(int threads) {
    const int have = static_cast<int>(slots.size()) + 1;
    if (have <= threads) return;
    control.quit_from = threads;
    send(0, 0, threads, have);
    for (int id = threads; id < have; ++id) slots[static_cast<size_t>(id - 1)]->thread.join();
    slots.resize(static_cast<size_t>(threads - 1));
    control.quit_from = kMaxThreads;
  }
};

namespace {

int32_t run_serially(TaskBody body, void* closure, int32_t num_tasks) {
  last_error().present = false;
  for (int32_t task = 0; task < num_tasks; ++task) {
    const int32_t code = body(task, num_tasks, closure);
    if (code == 0) continue;
    if (!last_error().present) {
      last_error().assign(ErrorCode::Internal,
                          fmt::format("task {} of {} returned {}", task, num_tasks, code));
    }
    return code;
  }
  return 0;
}

}  // namespace

ThreadPool::ThreadPool(ThreadPoolOptions options)
    : state_(new State(options.pin, options.messages_sent)) {
  const int n = options.num_threads == 0 ? default_num_threads() : options.num_threads;
  set_num_threads(n);
  set_spin_microseconds(options.spin_microseconds);
}

ThreadPool::~ThreadPool() {
  const std::lock_guard lock(state_->region);
  state_->stop_workers(1);
}

int32_t ThreadPool::parallel_for(TaskBody body, void* closure, ParallelOptions options) {
  State& s = *state_;
  int32_t num_tasks = options.num_tasks;
  if (num_tasks < 0) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("{} parallel tasks", num_tasks),
           .legal = "a positive number, or 0 for one for each thread"});
  }
  if (t_in_task || num_tasks == 1 || s.control.num_threads.load(std::memory_order_relaxed) == 1) {
    return run_serially(body, closure, std::max(num_tasks, 1));
  }
  const std::lock_guard lock(s.region);
  s.start_workers();
  const int have = s.control.num_threads.load(std::memory_order_relaxed);
  if (num_tasks == 0) num_tasks = have;
  const int threads = std::min(have, num_tasks);
  s.call.body = body;
  s.call.closure = closure;
  s.call.num_tasks = num_tasks;
  s.call.threads = threads;
  s.call.chunking = options.chunking;
  if (options.chunking == Chunking::Dynamic) s.dynamic.next.store(0, std::memory_order_relaxed);
  s.send(threads, 0, 1, threads);
  t_in_task = true;
  s.run_share(0);
  s.take_over(threads);
  t_in_task = false;
  s.join(threads);
  return s.control.failed.load(std::memory_order_relaxed) ? s.take_failure() : 0;
}

int ThreadPool::num_threads() const { return state_->control.num_threads; }

void ThreadPool::set_num_threads(int n) {
  if (n < 1 || n > kMaxThreads || t_in_task) {
    raise({.code = ErrorCode::BadArgument,
           .what = t_in_task ? "the number of threads cannot change inside a parallel task"
                             : fmt::format("{} threads", n),
           .legal = fmt::format("1 to {}, outside parallel tasks", kMaxThreads)});
  }
  State& s = *state_;
  const std::lock_guard lock(s.region);
  s.stop_workers(n);
  s.control.num_threads = n;  // missing workers start with the next region
  s.update_spin();
}

double ThreadPool::spin_microseconds() const {
  return static_cast<double>(state_->asked_spin_nanoseconds.load()) * 1e-3;
}

void ThreadPool::set_spin_microseconds(double microseconds) {
  if (!(microseconds >= 0 && microseconds <= 1e9)) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("spinning for {} microseconds", microseconds),
           .legal = "0 to 1e9"});
  }
  state_->asked_spin_nanoseconds = static_cast<int64_t>(microseconds * 1e3);
  state_->update_spin();
}

bool ThreadPool::pinned() const { return state_->pin; }

void ThreadPool::set_pinned(bool pin) {
  State& s = *state_;
  const std::lock_guard lock(s.region);
  if (s.pin.exchange(pin) == pin) return;
  for (size_t id = 1; id <= s.slots.size(); ++id) s.place_worker(static_cast<int>(id));
}

void ThreadPool::park() {
  if (t_in_task) return;
  State& s = *state_;
  const std::lock_guard lock(s.region);
  s.send(0, kParkBit, 1, 1);
  // One that came too late for the last region may still be about to wake up.
  for (const auto& slot : s.slots) {
    while (slot->asleep.load() == 0) std::this_thread::yield();
  }
}

bool ThreadPool::in_task() { return t_in_task; }

namespace {

std::atomic<ThreadPool*> g_pool{nullptr};
// In a forked child: the parent's pool, whose settings the child's takes over. Its workers do not
// exist here and its mutex may be held by nobody, so nothing else of it is touched.
std::atomic<ThreadPool*> g_pool_before_fork{nullptr};

// Code that workers run must stay mapped even when who loaded this library unloads it.
void keep_library_loaded() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&keep_library_loaded), &info) != 0 && info.dli_fname) {
    dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

ThreadPool& make_global() {
  ThreadPoolOptions options = thread_pool_options_from_environment();
  if (const ThreadPool* old = g_pool_before_fork.load()) {
    options = {old->num_threads(), old->spin_microseconds(), old->pinned()};
  }
  auto fresh = std::make_unique<ThreadPool>(options);  // starts no thread yet
  ThreadPool* none = nullptr;
  if (!g_pool.compare_exchange_strong(none, fresh.get())) return *none;
  static std::once_flag once;
  std::call_once(once, [] {
    keep_library_loaded();
    pthread_atfork(nullptr, nullptr, [] {
      if (ThreadPool* pool = g_pool.exchange(nullptr)) g_pool_before_fork.store(pool);
    });
  });
  return *fresh.release();
}

}  // namespace

ThreadPool& ThreadPool::global() {
  ThreadPool* pool = g_pool.load(std::memory_order_acquire);
  return pool != nullptr ? *pool : make_global();
}

}  // namespace tw
