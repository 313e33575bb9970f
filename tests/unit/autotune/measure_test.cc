// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/measure.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "autotune/log/replay.h"
#include "autotune/measure/worker_process.h"
#include "autotune/task/workloads.h"
#include "runtime/error.h"
#include "schedule/schedule.h"

namespace tw::autotune {
namespace {

// Faults are asked for through the environment that workers inherit.
class Measure : public testing::Test {
 protected:
  void TearDown() override { unsetenv("TILEWRIGHT_WORKER_FAULT"); }
  static void fault(const char* list) { setenv("TILEWRIGHT_WORKER_FAULT", list, 1); }

  static MeasureOptions options(int workers = 2) {
    MeasureOptions o;
    o.workers = workers;
    o.run_budget = 0.002;
    o.behind_error = 0;
    return o;
  }
};

Task gemm_task(const char* text = "gemm:m=16,n=24,k=20") {
  return make_task(parse_workload(text).program, Target::host(), 1, text);
}

// Candidate k splits the columns by k + 2.
std::vector<Candidate> candidates(const Task& task, int count) {
  std::vector<Candidate> batch;
  for (int k = 0; k < count; ++k) {
    const Schedule s = Schedule::create(task.program.outputs);
    const Stage stage = s[task.program.outputs[0]];
    const auto [outer, inner] = stage.split(stage.axis(1), k + 2);
    stage.reorder({outer, stage.reduce_axis(0), inner});
    batch.push_back({.trace = s.trace(), .origin = Origin::Script, .predicted = k * 0.5});
  }
  return batch;
}

TEST_F(Measure, EveryCandidateIsCompiledTimedAndVerified) {
  const Task task = gemm_task();
  LocalMeasurer measurer(options());
  size_t told = 0;
  const auto records =
      measurer.measure(task, candidates(task, 6), 0, [&](const Record&) { ++told; });
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(told, 6u);
  std::set<std::string> hashes;
  for (size_t k = 0; k < records.size(); ++k) {
    const Record& r = records[k];
    EXPECT_TRUE(r.ok()) << to_string(*r.error) << ": " << r.message;
    EXPECT_EQ(r.trace, to_text(candidates(task, 6)[k].trace));
    EXPECT_GE(r.seconds.size(), 3u);
    EXPECT_GT(r.median(), 0);
    EXPECT_GT(r.compile_seconds, 0);
    EXPECT_EQ(r.workload, task.workload);
    EXPECT_EQ(r.target, task.target_text);
    EXPECT_EQ(r.origin, Origin::Script);
    EXPECT_EQ(r.predicted, static_cast<double>(k) * 0.5);
    hashes.insert(r.ir_hash);
  }
  EXPECT_EQ(hashes.size(), 6u);
  EXPECT_GT(measurer.worker_memory(), 0);
  EXPECT_GT(measurer.timings().compile_cpu, 0);
  EXPECT_GT(measurer.timings().run, 0);
}

TEST_F(Measure, FailuresAreClassifiedAndTheRestGoesOn) {
  fault(
      "crash@0,hang@1,exit@2,wrong@3,unwritten@4,compile-crash@5,compile-hang@6,compile-exit@7,"
      "kill@9");
  const Task task = gemm_task();
  MeasureOptions o = options();
  o.run_timeout = o.compile_timeout = 2;  // what a busy machine takes for those that do not hang
  LocalMeasurer measurer(o);
  const auto records = measurer.measure(task, candidates(task, 12), 0, {});
  ASSERT_EQ(records.size(), 12u);
  const auto code = [&](size_t k) { return records[k].error.value_or(ErrorCode::Internal); };
  EXPECT_EQ(code(0), ErrorCode::RunCrashed);
  EXPECT_NE(records[0].message.find("SIGSEGV"), std::string::npos) << records[0].message;
  EXPECT_EQ(code(1), ErrorCode::RunTimeout);
  EXPECT_EQ(code(2), ErrorCode::RunCrashed);
  EXPECT_EQ(code(3), ErrorCode::WrongResult);
  EXPECT_NE(records[3].message.find("[15, 23] is "), std::string::npos) << records[3].message;
  EXPECT_EQ(code(4), ErrorCode::WrongResult);
  EXPECT_NE(records[4].message.find("nan"), std::string::npos) << records[4].message;
  EXPECT_EQ(code(5), ErrorCode::CompileFailed);
  EXPECT_EQ(code(6), ErrorCode::CompileTimeout);
  EXPECT_EQ(code(7), ErrorCode::WorkerLost);
  EXPECT_EQ(code(9), ErrorCode::WorkerLost);
  for (size_t k : {8u, 10u, 11u}) {
    EXPECT_TRUE(records[k].ok()) << k << ": " << records[k].message;
  }
}

TEST_F(Measure, WhoWritesToAnInputIsWrongAndHarmsNobodyElse) {
  fault("overwrite@1");
  const Task task = gemm_task();
  const auto records = LocalMeasurer(options(1)).measure(task, candidates(task, 3), 0, {});
  EXPECT_EQ(records[1].error, ErrorCode::WrongResult);
  EXPECT_EQ(records[1].message, "input '" + task.program.arguments[0].name() + "' was written to");
  for (size_t k : {0u, 2u}) EXPECT_TRUE(records[k].ok()) << k << ": " << records[k].message;
}

TEST_F(Measure, WhatADeadWorkerHeldIsCompiledAgain) {
  fault("crash@0,lost@3");
  const Task task = gemm_task();
  LocalMeasurer measurer(options(1));  // one worker holds the whole batch
  const auto records = measurer.measure(task, candidates(task, 5), 0, {});
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[0].error, ErrorCode::RunCrashed);
  EXPECT_EQ(records[3].error, ErrorCode::WorkerLost);
  for (size_t k : {1u, 2u, 4u}) EXPECT_TRUE(records[k].ok()) << records[k].message;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TW_NO_MEMORY_LIMIT  // sanitizers reserve terabytes
#endif
#endif
#ifdef TW_NO_MEMORY_LIMIT
constexpr bool kKeepsWhatIsFreed = true;  // for a while, to see whether it is used
#else
constexpr bool kKeepsWhatIsFreed = false;
#endif
#ifndef TW_NO_MEMORY_LIMIT
TEST_F(Measure, MemoryThatRunsOutIsAFailureOfTheCandidate) {
  fault("memory@0,compile-memory@1");
  const Task task = gemm_task();
  LocalMeasurer measurer(options());
  const auto records = measurer.measure(task, candidates(task, 3), 0, {});
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].error, ErrorCode::OutOfMemory);
  EXPECT_EQ(records[1].error, ErrorCode::OutOfMemory);
  EXPECT_TRUE(records[2].ok());
}
#endif

TEST_F(Measure, ATraceThatDoesNotApplyIsACompileFailure) {
  const Task task = gemm_task();
  std::vector<Candidate> batch = candidates(task, 2);
  for (auto& argument : batch[0].trace.steps[0].arguments) {
    if (std::holds_alternative<int64_t>(argument)) argument = int64_t{-3};
  }
  LocalMeasurer measurer(options());
  const auto records = measurer.measure(task, batch, 0, {});
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].error, ErrorCode::CompileFailed);
  EXPECT_NE(records[0].message.find("factor-not-positive"), std::string::npos)
      << records[0].message;
  EXPECT_TRUE(records[1].ok());
}

TEST_F(Measure, WorkersAreReplacedAfterSoManyCandidates) {
  const Task task = gemm_task();
  MeasureOptions o = options(1);
  o.recycle_after = 2;
  LocalMeasurer measurer(o);
  for (int round = 0; round < 3; ++round) {
    for (const Record& r : measurer.measure(task, candidates(task, 2), 0, {})) {
      EXPECT_TRUE(r.ok()) << r.message;
    }
  }
}

TEST_F(Measure, ColdConstantsArePackedArguments) {
  const te::Program program = parse_workload("gemm:m=16,n=24,k=20,w=1").program;
  const Task task =
      make_task(program, Target::host(), 1, "with weights", CacheState::ColdConstants);
  ASSERT_EQ(task.caches, CacheState::ColdConstants);
  const Schedule packing = Schedule::create(task.program.outputs);
  const te::Tensor c = task.program.outputs[0];
  const Stage pack = packing[packing.cache_read(task.program.arguments[1], "global", {c.op()})];
  pack.transform_layout(pack.axis(1), 16, {1, 0, 2});
  pack.precompute();
  std::vector<Candidate> batch = candidates(task, 2);
  batch.push_back({.trace = packing.trace()});
  fault("overwrite@1");
  const auto records = LocalMeasurer(options(1)).measure(task, batch, 0, {});
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[1].error, ErrorCode::WrongResult);
  for (size_t k : {0u, 2u}) {
    EXPECT_TRUE(records[k].ok()) << records[k].message;
    EXPECT_EQ(records[k].caches, CacheState::ColdConstants);
    const Schedule schedule = replay(task.program, records[k].trace);
    for (CacheState caches : {CacheState::Hot, CacheState::ColdConstants}) {
      const std::string hash =
          ir_hash(lower_candidate(task.program, schedule, Target::host(), caches).entry());
      EXPECT_EQ(hash == records[k].ir_hash, caches == CacheState::ColdConstants);
    }
  }
}

TEST_F(Measure, WithoutConstantsAllCachesAreHot) {
  const te::Program program = parse_workload("gemm:m=16,n=24,k=20").program;
  EXPECT_EQ(make_task(program, Target::host(), 1, "", CacheState::ColdConstants).caches,
            CacheState::Hot);
}

TEST_F(Measure, WhoIsBehindIsNotTimedToTheEnd) {
  const Task task = gemm_task();
  MeasureOptions o = options(1);
  o.behind_error = 0.01;
  o.run_budget = 1000;
  o.min_repeats = 5000;  // however well the median is known before
  LocalMeasurer measurer(o);
  // Nothing is as fast as this.
  const auto records = measurer.measure(task, candidates(task, 1), 1e-12, {});
  ASSERT_EQ(records.size(), 1u);
  EXPECT_TRUE(records[0].ok()) << records[0].message;
  // Samples of 50 µs, some 40 of which rule out a burst.
  EXPECT_LT(records[0].seconds.size(), 1000u);
}

// A call that takes much of the budget, and even with cold caches far too long, is not repeated.
TEST_F(Measure, WhoseFirstCallIsFarTooSlowIsCalledOnce) {
  const Task task = gemm_task("gemm:m=64,n=72,k=64");
  const std::vector<Candidate> batch = candidates(task, 1);
  MeasureOptions o = options(1);
  const auto known = LocalMeasurer(o).measure(task, batch, 0, {});
  ASSERT_TRUE(known.at(0).ok()) << known[0].message;
  o.behind_error = 0.01;
  o.run_budget = 4 * known[0].median();
  const auto records = LocalMeasurer(o).measure(task, batch, 1e-12, {});
  ASSERT_TRUE(records.at(0).ok()) << records[0].message;
  EXPECT_EQ(records[0].seconds.size(), 1u);
}

TEST_F(Measure, WhatIsFastestIsTimedToTheEnd) {
  const Task task = gemm_task();
  MeasureOptions o = options(1);
  o.behind_error = 0.01;
  o.relative_interval = 0;
  o.run_budget = 0.5;
  LocalMeasurer measurer(o);
  const auto records = measurer.measure(task, candidates(task, 1), 1, {});
  ASSERT_TRUE(records.at(0).ok()) << records[0].message;
  EXPECT_GE(records[0].seconds.size(), 10u);
}

TEST_F(Measure, StopReturnsWhatIsKnown) {
  fault("hang@2");
  const Task task = gemm_task();
  MeasureOptions o = options();
  o.run_timeout = 600;
  LocalMeasurer measurer(o);
  bool stop = false;
  std::vector<Record> seen;
  const auto records = measurer.measure(
      task, candidates(task, 5), 0,
      [&](const Record& r) {
        seen.push_back(r);
        // While the next one hangs.
        if (seen.size() == 2) stop = true;
      },
      [&] { return stop; });
  EXPECT_EQ(records.size(), 2u);
  unsetenv("TILEWRIGHT_WORKER_FAULT");
  stop = false;
  EXPECT_EQ(measurer.measure(task, candidates(task, 3), 0, {}, [&] { return stop; }).size(), 3u);
}

TEST_F(Measure, WhatTheCallerThrowsLeavesTheMeasurerUsable) {
  const Task task = gemm_task();
  LocalMeasurer measurer(options());
  EXPECT_THROW(measurer.measure(task, candidates(task, 4), 0,
                                [](const Record&) { throw std::runtime_error("disk full"); }),
               std::runtime_error);
  for (const Record& r : measurer.measure(task, candidates(task, 4), 0, {})) {
    EXPECT_TRUE(r.ok()) << r.message;
  }
}

TEST_F(Measure, OneMeasurerServesSeveralTasks) {
  LocalMeasurer measurer(options());
  for (const char* text : {"gemm:m=16,n=24,k=20", "dense:m=8,n=12,k=70", "gemm:m=16,n=24,k=20",
                           "gemm:m=9,n=8,k=7,dtype=int32", "gemm:m=8,n=8,k=300,dtype=float64"}) {
    const Task task = gemm_task(text);
    for (const Record& r : measurer.measure(task, candidates(task, 2), 0, {})) {
      EXPECT_TRUE(r.ok()) << text << ": " << r.message;
    }
  }
}

TEST_F(Measure, ParallelCandidatesRunOnTheThreadsOfTheTask) {
  const Task task = make_task(parse_workload("gemm:m=16,n=24,k=20").program, Target::host(), 2);
  std::vector<Candidate> batch = candidates(task, 3);
  for (Candidate& c : batch) {
    const Schedule s = Schedule::create(task.program.outputs);
    s.apply(c.trace);
    const Stage stage = s[task.program.outputs[0]];
    stage.parallel(stage.leaf_axes()[0]);
    c.trace = s.trace();
  }
  LocalMeasurer measurer(options());
  for (const Record& r : measurer.measure(task, batch, 0, {})) {
    EXPECT_TRUE(r.ok()) << r.message;
    EXPECT_EQ(r.threads, 2);
  }
}

TEST_F(Measure, AMissingWorkerProgramIsAnError) {
  MeasureOptions o = options();
  o.worker_path = "/nonexistent/tilewright-worker";
  const Task task = gemm_task();
  LocalMeasurer measurer(o);
  try {
    measurer.measure(task, candidates(task, 1), 0, {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::WorkerLost);
    EXPECT_EQ(e.info().where, o.worker_path);
  }
}

TEST_F(Measure, AProgramThatIsNoWorkerIsAnError) {
  MeasureOptions o = options();
  o.worker_path = "/bin/true";
  const Task task = gemm_task();
  LocalMeasurer measurer(o);
  try {
    measurer.measure(task, candidates(task, 1), 0, {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::WorkerLost);
  }
}

TEST_F(Measure, WorkersEndWithTheirMeasurer) {
  pid_t pid = 0;
  {
    WorkerProcess worker(worker_program(""));
    pid = worker.pid();
    EXPECT_EQ(kill(pid, 0), 0);
    EXPECT_NE(getpgid(pid), getpgrp());
  }
  EXPECT_NE(kill(pid, 0), 0);
}

// Processes of the worker program that `parent` started.
std::vector<pid_t> workers_of(pid_t parent) {
  std::vector<pid_t> workers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream stat(entry.path() / "stat");
    std::string pid, command, state;
    pid_t ppid = 0;
    stat >> pid >> command >> state >> ppid;
    if (ppid == parent && command == "(tilewright-work)") workers.push_back(std::stoi(pid));
  }
  return workers;
}

template <class F>
bool soon(F condition) {
  for (int i = 0; i < 6000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

// What a process holds open, and how many bytes of it are reference results.
struct Held {
  int descriptors = 0;
  int64_t reference_bytes = 0;
};
Held held_by(pid_t pid) {
  Held held;
  std::error_code gone;
  const std::filesystem::path folder = "/proc/" + std::to_string(pid) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++held.descriptors;
    if (std::filesystem::read_symlink(entry.path(), gone).string().find("tilewright-reference") !=
        std::string::npos) {
      held.reference_bytes += static_cast<int64_t>(std::filesystem::file_size(entry.path(), gone));
    }
  }
  return held;
}

int64_t resident_bytes_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST_F(Measure, ManyTasksNeedNoMoreThanAFew) {
  constexpr int64_t kMiB = 1 << 20;
  constexpr int kTasks = 14, kSettled = 6;
  MeasureOptions o = options(2);
  o.reference_bytes = 24 * kMiB;  // of three tasks, a result and a tolerance of 4 MiB each
  LocalMeasurer measurer(o);
  int descriptors = 0;
  int64_t ours = 0, theirs = 0;
  std::map<pid_t, int> of_workers;
  for (int k = 0; k < kTasks; ++k) {
    const std::string text = "elementwise:m=1024,n=" + std::to_string(1024 + k);
    const Task task = gemm_task(text.c_str());
    const Schedule s = Schedule::create(task.program.outputs);
    // One for each worker.
    for (const Record& r :
         measurer.measure(task, {{.trace = s.trace()}, {.trace = s.trace()}}, 0, {})) {
      ASSERT_TRUE(r.ok()) << r.message;
    }
    const Held held = held_by(getpid());
    EXPECT_GT(held.reference_bytes, 0) << k;
    EXPECT_LE(held.reference_bytes, o.reference_bytes) << k;
    if (k < kSettled) {
      descriptors = held.descriptors;
      ours = resident_bytes_of(getpid());
      theirs = measurer.worker_memory();
      for (const pid_t pid : workers_of(getpid())) of_workers[pid] = held_by(pid).descriptors;
      continue;
    }
    EXPECT_EQ(held.descriptors, descriptors) << k;
    if (!kKeepsWhatIsFreed) {
      EXPECT_LT(resident_bytes_of(getpid()), ours + 8 * kMiB) << k;
      EXPECT_LT(measurer.worker_memory(), theirs + 24 * kMiB) << k;
    }
    for (const pid_t pid : workers_of(getpid())) {
      EXPECT_EQ(held_by(pid).descriptors, of_workers.at(pid)) << k;
    }
  }
}

TEST_F(Measure, AReferenceThatWasGivenUpIsMadeAgain) {
  MeasureOptions o = options(1);
  o.reference_bytes = 1;  // that of one task at a time
  LocalMeasurer measurer(o);
  double spent = 0;
  for (const char* text : {"gemm:m=16,n=24,k=20", "dense:m=8,n=12,k=70", "gemm:m=16,n=24,k=20"}) {
    const Task task = gemm_task(text);
    for (const Record& r : measurer.measure(task, candidates(task, 2), 0, {})) {
      EXPECT_TRUE(r.ok()) << text << ": " << r.message;
    }
    EXPECT_GT(measurer.timings().reference, spent) << text;
    spent = measurer.timings().reference;
    const Task same = gemm_task(text);
    measurer.measure(same, candidates(same, 1), 0, {});
    EXPECT_EQ(measurer.timings().reference, spent) << text;
  }
}

TEST_F(Measure, AnIdleWorkerThatIsKilledIsReplaced) {
  const Task task = gemm_task();
  LocalMeasurer measurer(options(1));
  measurer.measure(task, candidates(task, 1), 0, {});
  const auto workers = workers_of(getpid());
  ASSERT_EQ(workers.size(), 1u);
  kill(workers[0], SIGKILL);
  const auto records = measurer.measure(task, candidates(task, 2), 0, {});
  ASSERT_EQ(records.size(), 2u);
  for (const Record& r : records) EXPECT_TRUE(r.ok()) << r.message;
}

TEST_F(Measure, WorkersDoNotOutliveAKilledParent) {
  fault("hang@0");
  const pid_t child = fork();
  if (child == 0) {
    try {
      const Task task = gemm_task();
      LocalMeasurer measurer(options(2));
      measurer.measure(task, candidates(task, 4), 0, {});
    } catch (...) {
    }
    _exit(0);
  }
  std::vector<pid_t> workers;
  ASSERT_TRUE(soon([&] { return (workers = workers_of(child)).size() == 2; }));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (pid_t worker : workers) {
    // Whoever inherits it need not have reaped it yet.
    EXPECT_TRUE(soon([&] {
      std::ifstream stat("/proc/" + std::to_string(worker) + "/stat");
      std::string pid, command, state;
      return !(stat >> pid >> command >> state) || state == "Z";
    }));
  }
}

}  // namespace
}  // namespace tw::autotune
