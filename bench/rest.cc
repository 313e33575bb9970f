// SPDX-License-Identifier: Apache-2.0
// What a pause costs the parallel regions after it: bursts of regions after a rest against those
// that follow at once, and on which CPUs their threads ran.
#include <fmt/format.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "autotune/measure/peak.h"
#include "bench/sections.h"
#include "runtime/futex.h"
#include "runtime/machine.h"
#include "runtime/thread_pool.h"

namespace tw::bench {
namespace {

constexpr int kBurst = 30;                      // regions
constexpr std::chrono::milliseconds kRest(10);  // longer than any spin, the system's included
constexpr double kRegionSeconds = 200e-6;       // a small layer's

// A region of multiply-adds, the same on each thread.
class Region {
 public:
  Region(int threads, const autotune::FmaLoop& loop, int64_t rounds)
      : pool_({.num_threads = threads}),
        loop_(loop),
        rounds_(rounds),
        stays_(static_cast<size_t>(threads)) {}

  // Seconds that it took.
  double run() {
    const auto start = std::chrono::steady_clock::now();
    pool_.parallel_for(
        [](int32_t task, int32_t, void* self) -> int32_t {
          static_cast<Region*>(self)->run_task(static_cast<size_t>(task));
          return 0;
        },
        this);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    ++regions_;
    shared_ += share_a_cpu() ? 1 : 0;
    taken_over_ += stays_.back().thread == stays_.front().thread ? 1 : 0;
    return took.count();
  }

  // Parts of all regions so far.
  double shared() const { return static_cast<double>(shared_) / regions_; }
  double taken_over() const { return static_cast<double>(taken_over_) / regions_; }

 private:
  struct alignas(64) Stay {
    std::thread::id thread;
    int cpu = -1;  // when the task ended
  };

  void run_task(size_t task) {
    loop_.run(pool_, rounds_);  // inside a task, so on this thread alone
    stays_[task] = {std::this_thread::get_id(), sched_getcpu()};
  }

  // Whether two different threads ended on one CPU.
  bool share_a_cpu() const {
    for (const Stay& a : stays_) {
      for (const Stay& b : stays_) {
        if (a.thread != b.thread && a.cpu == b.cpu) return true;
      }
    }
    return false;
  }

  ThreadPool pool_;
  const autotune::FmaLoop& loop_;
  int64_t rounds_;
  std::vector<Stay> stays_;
  int regions_ = 0, shared_ = 0, taken_over_ = 0;
};

// A thread that sleeps until it is woken, and says when it was, on a CPU of its own: no pool of
// sleeping threads can be faster. Where the system may choose, it wakes a thread sooner on the CPU
// of who wakes it, which then waits.
class Sleeper {
 public:
  explicit Sleeper(int cpu) : cpu_(cpu), thread_([this] { sleep(); }) {}
  ~Sleeper() {
    ended_ = true;
    wake();
    thread_.join();
  }
  // Seconds from the call until the thread runs.
  double wake() {
    const Clock::time_point start = Clock::now();
    const uint32_t next = word_.load() + 1;
    word_ = next;
    futex_wake_all(word_);
    while (seen_.load() != next) cpu_relax();
    return std::chrono::duration<double>(woken_ - start).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  void sleep() {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(static_cast<size_t>(cpu_), &own);
    sched_setaffinity(0, sizeof own, &own);
    for (uint32_t last = 0; !ended_.load();) {
      while (word_.load() == last) futex_wait(word_, last);
      woken_ = Clock::now();
      seen_ = last = word_.load();
    }
  }

  int cpu_;
  std::atomic<uint32_t> word_{0}, seen_{0};
  std::atomic<bool> ended_{false};
  Clock::time_point woken_;  // written before seen_
  std::thread thread_;
};

// Rounds that take kRegionSeconds on one thread.
int64_t rounds_of_region(const autotune::FmaLoop& loop) {
  constexpr int64_t kRounds = 100'000;
  ThreadPool pool({.num_threads = 1});
  double best = 1;
  for (int i = 0; i < 50; ++i) {
    const auto start = std::chrono::steady_clock::now();
    loop.run(pool, kRounds);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return static_cast<int64_t>(kRegionSeconds / best * kRounds) + 1;
}

}  // namespace

void measure_rests(const Options& options, Results& results) {
  const autotune::FmaLoop loop(options.target());
  const int64_t rounds = rounds_of_region(loop);
  const int repetitions = options.flag("quick") ? 50 : 200;
  if (const std::vector<int>& cpus = host().affinity; cpus.size() > 1) {
    Measurement woken{.name = "rest/woken/2", .labels = {{"threads", 2}}};
    const int cpu = cpus.back();
    Sleeper sleeper(cpu);
    for (int i = 0; i < repetitions; ++i) {
      std::this_thread::sleep_for(kRest);
      const bool apart = sched_getcpu() != cpu;
      const double seconds = sleeper.wake();
      if (apart) woken.samples.push_back(seconds);
    }
    if (!woken.samples.empty()) results.add(woken);
  }
  for (const int threads : options.thread_counts()) {
    if (threads == 1) continue;
    Region region(threads, loop, rounds);
    const auto measurement = [&](const char* name) {
      return Measurement{.name = fmt::format("rest/{}/{}", name, threads),
                         .labels = {{"threads", threads}}};
    };
    Measurement first = measurement("first"), second = measurement("second");
    Measurement burst = measurement("burst"), steady = measurement("steady");
    const auto seconds_of_burst = [&](double before, int regions) {
      double sum = before;
      for (int i = 0; i < regions; ++i) sum += region.run();
      return sum / kBurst;
    };
    for (int i = 0; i < repetitions; ++i) {
      std::this_thread::sleep_for(kRest);
      first.samples.push_back(region.run());
      second.samples.push_back(region.run());
      burst.samples.push_back(
          seconds_of_burst(first.samples.back() + second.samples.back(), kBurst - 2));
      steady.samples.push_back(seconds_of_burst(0, kBurst));
    }
    results.fact(fmt::format("regions/{}", threads),
                 {{"shared", region.shared()}, {"taken over", region.taken_over()}});
    for (const Measurement& m : {first, second, burst, steady}) results.add(m);
  }
}

}  // namespace tw::bench
