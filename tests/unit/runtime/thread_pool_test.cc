// SPDX-License-Identifier: Apache-2.0
#include "runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/error.h"
#include "runtime/last_error.h"

namespace tw {
namespace {

// Runs a C++ callable as the tasks of a region.
template <class F>
int32_t run(ThreadPool& pool, F body, ParallelOptions options = {}) {
  return pool.parallel_for(
      [](int32_t id, int32_t n, void* closure) -> int32_t {
        return (*static_cast<F*>(closure))(id, n);
      },
      &body, options);
}

// A region with a task for each thread that ends when each thread has begun its own, so that
// nobody takes over another's.
template <class F>
void run_on_each_thread(ThreadPool& pool, F body) {
  std::atomic<int> begun{0};
  run(pool, [&](int32_t id, int32_t n) {
    ++begun;
    while (begun < n) std::this_thread::yield();
    body(id);
    return 0;
  });
}

TEST(ThreadSanitizerThreadPool, EachTaskRunsOnce) {
  ThreadPool pool({.num_threads = 4});
  for (Chunking chunking : {Chunking::Static, Chunking::Dynamic}) {
    for (int32_t n : {1, 2, 3, 4, 5, 7, 64, 1000}) {
      std::vector<int> hits(static_cast<size_t>(n), 0);  // unshared elements: a race would show
      const int32_t code = run(pool,
                               [&](int32_t id, int32_t count) {
                                 EXPECT_EQ(count, n);
                                 ++hits[static_cast<size_t>(id)];
                                 return 0;
                               },
                               {.num_tasks = n, .chunking = chunking});
      EXPECT_EQ(code, 0);
      EXPECT_EQ(hits, std::vector<int>(static_cast<size_t>(n), 1));
    }
  }
}

// Where the count of messages outgrows the receipts of the workers, a region still ends after its
// last task: with workers that are new, that took part in the last region, and that did not.
TEST(ThreadSanitizerThreadPool, TheCountOfMessagesMayWrap) {
  for (const uint64_t near : {uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{3} << 32}) {
    for (uint64_t before = 1; before <= 4; ++before) {
      for (const double spin : {0.0, 50.0}) {
        ThreadPool pool(
            {.num_threads = 4, .spin_microseconds = spin, .messages_sent = near - before});
        for (const int32_t tasks : {4, 2, 4, 4, 3, 4}) {
          std::atomic<int> done{0};
          run(pool,
              [&](int32_t id, int32_t) {
                if (id != 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
                ++done;
                return 0;
              },
              {.num_tasks = tasks});
          EXPECT_EQ(done, tasks) << near << " - " << before;
        }
      }
    }
  }
}

TEST(ThreadSanitizerThreadPool, ZeroTasksMeansOnePerThread) {
  ThreadPool pool({.num_threads = 3});
  std::vector<std::thread::id> threads(3);
  run_on_each_thread(
      pool, [&](int32_t id) { threads[static_cast<size_t>(id)] = std::this_thread::get_id(); });
  EXPECT_EQ(std::set(threads.begin(), threads.end()).size(), 3u);
  EXPECT_EQ(threads[0], std::this_thread::get_id());  // the caller takes part
}

// Each thread has its own run of tasks, the same in each region: three threads and ten tasks.
TEST(ThreadSanitizerThreadPool, StaticChunksStayOnTheirThread) {
  ThreadPool pool({.num_threads = 3});
  std::vector<std::thread::id> first(10), second(10);
  for (auto* ids : {&first, &second}) {
    std::atomic<int> begun{0};
    run(pool,
        [&](int32_t id, int32_t) {
          if (id == 0 || id == 3 || id == 6) ++begun;
          while (begun < 3) std::this_thread::yield();
          (*ids)[static_cast<size_t>(id)] = std::this_thread::get_id();
          return 0;
        },
        {.num_tasks = 10});
  }
  EXPECT_EQ(first, second);
  EXPECT_EQ(first[0], std::this_thread::get_id());
  EXPECT_EQ(first[3], first[5]);
  EXPECT_EQ(first[6], first[9]);
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 3u);
}

// Waking a thread takes longer than an empty task, so that the caller finds shares that nobody has
// begun; each task still runs once, and those who come too late do no harm later.
TEST(ThreadSanitizerThreadPool, TheCallerTakesOverWhatNobodyHasBegun) {
  ThreadPool pool({.num_threads = 4, .spin_microseconds = 0});
  const auto caller = std::this_thread::get_id();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (const Chunking chunking : {Chunking::Static, Chunking::Dynamic}) {
    bool took_over = false;
    for (int i = 0; i < 200 || (!took_over && std::chrono::steady_clock::now() < end); ++i) {
      std::vector<int> hits(9, 0);
      std::vector<std::thread::id> by(9);
      run(pool,
          [&](int32_t id, int32_t) {
            ++hits[static_cast<size_t>(id)];
            by[static_cast<size_t>(id)] = std::this_thread::get_id();
            return 0;
          },
          {.num_tasks = 9, .chunking = chunking});
      ASSERT_EQ(hits, std::vector<int>(9, 1));
      took_over = took_over || by[8] == caller;
      if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20 * (i % 7)));
    }
    EXPECT_TRUE(took_over);
  }
}

TEST(ThreadSanitizerThreadPool, ManyRegionsFromManyThreads) {
  ThreadPool pool({.num_threads = 4});
  std::atomic<int64_t> total{0};
  std::vector<std::thread> users;
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([&, user] {
      for (int i = 0; i < 500; ++i) {
        std::vector<int64_t> parts(7, 0);
        const auto chunking = i % 2 == 0 ? Chunking::Static : Chunking::Dynamic;
        run(pool,
            [&](int32_t id, int32_t) {
              parts[static_cast<size_t>(id)] = user + 1;
              return 0;
            },
            {.num_tasks = 7, .chunking = chunking});
        total += std::accumulate(parts.begin(), parts.end(), int64_t{0});
      }
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(total, 500 * 7 * (1 + 2 + 3 + 4));
}

TEST(ThreadSanitizerThreadPool, SleepersWakeUp) {
  ThreadPool pool({.num_threads = 4, .spin_microseconds = 0});
  for (int i = 0; i < 300; ++i) {
    std::vector<int> hits(4, 0);
    run(pool, [&](int32_t id, int32_t) { return hits[static_cast<size_t>(id)]++; });
    EXPECT_EQ(hits, std::vector<int>(4, 1));
    if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

TEST(ThreadSanitizerThreadPool, ParkAndFewerTasksThanThreads) {
  ThreadPool pool({.num_threads = 4, .spin_microseconds = 1e6});
  for (int i = 0; i < 200; ++i) {
    const int32_t n = 1 + i % 6;
    std::atomic<int> hits{0};
    run(pool,
        [&](int32_t, int32_t) {
          ++hits;
          return 0;
        },
        {.num_tasks = n});
    EXPECT_EQ(hits, n);
    if (i % 4 == 0) pool.park();
  }
}

// Also a worker that is only just waking up, for a region that was over before it began.
TEST(ThreadSanitizerThreadPool, ParkedWorkersSleep) {
  ThreadPool pool({.num_threads = 2, .spin_microseconds = 1e6});
  std::atomic<int> worker{0};
  run_on_each_thread(pool, [&](int32_t id) {
    if (id == 1) worker = gettid();
  });
  const std::string path = "/proc/self/task/" + std::to_string(worker) + "/stat";
  const auto asleep = [&] {
    std::string text;
    std::getline(std::ifstream(path), text);
    return text.at(text.rfind(')') + 2) == 'S';
  };
  for (int i = 0; i < 200; ++i) {
    pool.park();
    // From saying so to sleeping it is a system call.
    for (int tries = 0; tries < 10'000 && !asleep(); ++tries) std::this_thread::yield();
    ASSERT_TRUE(asleep());
    run(pool, [](int32_t, int32_t) { return 0; });
  }
}

TEST(ThreadSanitizerThreadPool, NestedRegionsRunSerially) {
  ThreadPool pool({.num_threads = 4});
  std::vector<int> hits(4 * 5, 0);
  run(pool, [&](int32_t outer, int32_t) {
    EXPECT_TRUE(ThreadPool::in_task());
    const auto here = std::this_thread::get_id();
    run(pool, [&](int32_t, int32_t n) {
      EXPECT_EQ(n, 1);
      return 0;
    });
    return run(pool,
               [&](int32_t inner, int32_t n) {
                 EXPECT_EQ(n, 5);
                 EXPECT_EQ(std::this_thread::get_id(), here);
                 ++hits[static_cast<size_t>(outer * 5 + inner)];
                 return 0;
               },
               {.num_tasks = 5});
  });
  EXPECT_FALSE(ThreadPool::in_task());
  EXPECT_EQ(hits, std::vector<int>(20, 1));
}

TEST(ThreadSanitizerThreadPool, NumberOfThreadsChangesWhileOthersRun) {
  ThreadPool pool({.num_threads = 2});
  std::atomic<bool> stop{false};
  std::thread changer([&] {
    for (int i = 0; i < 60; ++i) pool.set_num_threads(1 + i % 5);
    stop = true;
  });
  int regions = 0;
  while (!stop || regions < 10) {
    std::atomic<int> hits{0};
    run(pool, [&](int32_t, int32_t n) { return ++hits, n == 0; });
    EXPECT_GE(hits, 1);
    EXPECT_LE(hits, 5);
    ++regions;
  }
  changer.join();
  EXPECT_EQ(pool.num_threads(), 5);
}

TEST(ThreadSanitizerThreadPool, FirstFailureWins) {
  ThreadPool pool({.num_threads = 4});
  for (Chunking chunking : {Chunking::Static, Chunking::Dynamic}) {
    const int32_t code = run(pool,
                             [&](int32_t id, int32_t) {
                               if (id != 5) return 0;
                               last_error().assign(ErrorCode::OutOfMemory, "task five");
                               return 42;
                             },
                             {.num_tasks = 16, .chunking = chunking});
    EXPECT_EQ(code, 42);
    EXPECT_EQ(last_error().code, ErrorCode::OutOfMemory);
    EXPECT_STREQ(last_error().message, "task five");
    // The next region starts clean.
    EXPECT_EQ(run(pool, [](int32_t, int32_t) { return 0; }), 0);
    EXPECT_FALSE(last_error().present);
  }
  EXPECT_EQ(run(pool, [](int32_t id, int32_t) { return id == 3 ? 7 : 0; }), 7);
  EXPECT_STREQ(last_error().message, "task 3 of 4 returned 7");
}

TEST(ThreadSanitizerThreadPool, ExceptionsReachTheCaller) {
  ThreadPool pool({.num_threads = 4});
  for (int32_t thrower : {0, 3}) {
    EXPECT_THROW(run(pool,
                     [&](int32_t id, int32_t) -> int32_t {
                       if (id == thrower) throw std::out_of_range("here");
                       return 0;
                     }),
                 std::out_of_range);
  }
  EXPECT_EQ(run(pool, [](int32_t, int32_t) { return 0; }), 0);
}

TEST(ThreadSanitizerThreadPool, GlobalPoolFromManyThreads) {
  std::vector<std::thread> users;
  std::atomic<int> hits{0};
  for (int user = 0; user < 8; ++user) {
    users.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        parallel_for({.num_tasks = 3}, [&](int32_t, int32_t) { ++hits; });
      }
    });
  }
  for (std::thread& user : users) user.join();
  EXPECT_EQ(hits, 8 * 50 * 3);
}

TEST(ThreadPool, RefusesNonsense) {
  ThreadPool pool({.num_threads = 2});
  for (int n : {0, -1, ThreadPool::kMaxThreads + 1}) {
    try {
      pool.set_num_threads(n);
      ADD_FAILURE() << n;
    } catch (const UserError& e) {
      EXPECT_EQ(e.code(), ErrorCode::BadArgument);
    }
  }
  EXPECT_THROW(run(pool, [](int32_t, int32_t) { return 0; }, {.num_tasks = -1}), UserError);
  EXPECT_THROW(pool.set_spin_microseconds(-1), UserError);
  EXPECT_THROW(run(pool,
                   [&](int32_t, int32_t) {
                     pool.set_num_threads(3);
                     return 0;
                   }),
               UserError);
}

TEST(ThreadPool, OptionsFromEnvironment) {
  setenv("TILEWRIGHT_NUM_THREADS", "3", 1);
  setenv("TILEWRIGHT_SPIN_US", "12.5", 1);
  setenv("TILEWRIGHT_PIN", "1", 1);
  ThreadPoolOptions options = thread_pool_options_from_environment();
  EXPECT_EQ(options.num_threads, 3);
  EXPECT_EQ(options.spin_microseconds, 12.5);
  EXPECT_TRUE(options.pin);
  testing::internal::CaptureStderr();
  for (const char* bad : {"0", "-2", "four", "3x", "99999999999"}) {
    setenv("TILEWRIGHT_NUM_THREADS", bad, 1);
    EXPECT_EQ(thread_pool_options_from_environment().num_threads, 0) << bad;
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("TILEWRIGHT_NUM_THREADS is '-2'"),
            std::string::npos);
  unsetenv("TILEWRIGHT_NUM_THREADS");
  unsetenv("TILEWRIGHT_SPIN_US");
  unsetenv("TILEWRIGHT_PIN");
  EXPECT_GE(default_num_threads(), 1);
}

// One variable for all libraries: ours wins, and what OpenMP refuses is none of our business.
TEST(ThreadPool, ReadsOpenMpsVariable) {
  const std::pair<const char*, int> cases[] = {{"3", 3}, {"5,2", 5}, {"0", 0},          {"many", 0},
                                               {"", 0},  {"2x", 0},  {"99999999999", 0}};
  unsetenv("TILEWRIGHT_NUM_THREADS");
  for (const auto& [text, expected] : cases) {
    setenv("OMP_NUM_THREADS", text, 1);
    EXPECT_EQ(thread_pool_options_from_environment().num_threads, expected) << text;
  }
  setenv("OMP_NUM_THREADS", "3", 1);
  setenv("TILEWRIGHT_NUM_THREADS", "2", 1);
  EXPECT_EQ(thread_pool_options_from_environment().num_threads, 2);
  unsetenv("OMP_NUM_THREADS");
  unsetenv("TILEWRIGHT_NUM_THREADS");
}

std::vector<int> affinity() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

void set_affinity(pid_t thread, const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<size_t>(cpu), &set);
  ASSERT_EQ(sched_setaffinity(thread, sizeof set, &set), 0);
}

// On how many CPUs each worker of the pool may run.
std::vector<int> cpus_of_workers(ThreadPool& pool) {
  std::vector<int> cpus(static_cast<size_t>(pool.num_threads()));
  run_on_each_thread(pool, [&](int32_t id) {
    cpus[static_cast<size_t>(id)] = static_cast<int>(affinity().size());
  });
  cpus.erase(cpus.begin());  // the caller
  return cpus;
}

TEST(ThreadPool, PinnedWorkersStay) {
  const auto all = static_cast<int>(affinity().size());
  ThreadPool pool({.num_threads = 3, .pin = true});
  run(pool, [](int32_t, int32_t) { return 0; });  // starts the workers, which are then placed
  EXPECT_EQ(cpus_of_workers(pool), (std::vector<int>{1, 1}));
  pool.set_pinned(false);
  EXPECT_FALSE(pool.pinned());
  EXPECT_EQ(cpus_of_workers(pool), (std::vector<int>{all, all}));
  pool.set_pinned(true);
  EXPECT_EQ(cpus_of_workers(pool), (std::vector<int>{1, 1}));
}

// Workers are told where to wake up; that ends when they are awake, and leaves what else restricts
// them: here the caller on one CPU, and workers that sleep or spin.
TEST(ThreadPool, WorkersMayRunWhereTheyMightBefore) {
  const std::vector<int> all = affinity();
  std::thread([&] {
    for (const double spin : {0.0, 50.0, 1e6}) {
      const auto count = static_cast<int>(all.size());
      ThreadPool pool({.num_threads = count + 1, .spin_microseconds = spin});
      run(pool, [](int32_t, int32_t) { return 0; });
      set_affinity(0, {all.front()});
      for (int i = 0; i < 30; ++i) {
        if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
        EXPECT_EQ(cpus_of_workers(pool), std::vector<int>(all.size(), count));
      }
      set_affinity(0, all);
    }
  }).join();
}

// A worker that wakes up is not behind the caller. The system may move it at any time, so most of
// the time is enough.
TEST(ThreadPool, WokenWorkersHaveTheirOwnCpu) {
  const std::vector<int> all = affinity();
  if (all.size() < 2) GTEST_SKIP() << "one CPU";
  std::thread([&] {
    ThreadPool pool({.num_threads = 2});
    int apart = 0;
    constexpr int kRegions = 100;
    for (int i = 0; i < kRegions; ++i) {
      // Where the worker ran last, so that it has to move.
      int cpus[2];
      run_on_each_thread(pool, [&](int32_t id) { cpus[id] = sched_getcpu(); });
      pool.park();
      set_affinity(0, {cpus[1]});
      run_on_each_thread(pool, [&](int32_t id) { cpus[id] = sched_getcpu(); });
      apart += cpus[0] != cpus[1] ? 1 : 0;
      set_affinity(0, all);
    }
    EXPECT_GT(apart, kRegions / 2);
  }).join();
}

// What somebody else changes while workers sleep stays, and they run where they may.
TEST(ThreadPool, AffinityThatOthersChangeStays) {
  const std::vector<int> all = affinity();
  std::thread([&] {
    ThreadPool pool({.num_threads = 2, .spin_microseconds = 0});
    std::atomic<pid_t> worker{0};
    run_on_each_thread(pool, [&](int32_t id) {
      if (id == 1) worker = gettid();
    });
    for (const int cpu : {all.front(), all.back()}) {
      pool.park();
      set_affinity(worker, {cpu});
      for (int i = 0; i < 5; ++i) {
        std::vector<int> its;
        run_on_each_thread(pool, [&](int32_t id) {
          if (id == 1) its = affinity();
        });
        EXPECT_EQ(its, std::vector<int>{cpu});
        pool.park();
      }
      set_affinity(worker, all);
    }
    EXPECT_EQ(cpus_of_workers(pool), std::vector<int>{static_cast<int>(all.size())});
  }).join();
}

// A process may end while workers spin, or in the middle of a region, from any thread. A deadlock
// would end the process by SIGALRM.
TEST(ThreadPoolDeathTest, ProcessEndsAtAnyMoment) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        alarm(60);
        parallel_for({.num_tasks = 4}, [](int32_t, int32_t) {});
        exit(5);
      },
      testing::ExitedWithCode(5), "");
  EXPECT_EXIT(
      {
        alarm(60);
        ThreadPool::global().set_num_threads(4);
        parallel_for({}, [](int32_t id, int32_t) {
          if (id == 2) exit(6);
        });
      },
      testing::ExitedWithCode(6), "");
}

#if defined(__SANITIZE_THREAD__)
#define TW_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TW_THREAD_SANITIZER 1
#endif
#endif

#ifndef TW_THREAD_SANITIZER  // which does not support threads in a forked child
// A forked child has no workers of its parent's; it starts its own.
TEST(ThreadPool, ForkedChildHasItsOwnPool) {
  parallel_for({.num_tasks = 4}, [](int32_t, int32_t) {});
  const int threads = ThreadPool::global().num_threads();
  ThreadPool::global().set_num_threads(3);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    std::atomic<int> hits{0};
    parallel_for({}, [&](int32_t, int32_t) { ++hits; });
    _exit(hits);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  ThreadPool::global().set_num_threads(threads);
}
#endif

}  // namespace
}  // namespace tw
