// SPDX-License-Identifier: Apache-2.0
// Compiles and times candidates in worker processes. A candidate that crashes, hangs, runs out of
// memory or computes something wrong is a classified failure; the worker is replaced.
//
// Compile in parallel, time alone: a batch is compiled by all workers at once, then, with every
// worker idle, candidates are timed one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autotune/task/record.h"
#include "autotune/task/task.h"

namespace tw::autotune {

// How often `stop` is looked at while candidates are under way, seconds.
inline constexpr double kTick = 0.05;

struct MeasureOptions {
  int workers = 0;              // 0: one per core
  double compile_timeout = 10;  // seconds
  double run_timeout = 10;      // seconds, of one candidate's timing as a whole
  double run_budget = 0.05;     // seconds spent timing one candidate (the measuring budget)
  int min_repeats = 3;
  double relative_interval = 0.03;  // stop early when the median is known this well
  // A candidate whose first timings show that its median is above that of the best so far, with at
  // most this probability of an error, is timed no further (behind.h); 0: all are timed to the end.
  double behind_error = 0.05;
  // Of a race (race.h): the probability that its winner is not the fastest but for a tie.
  double race_error = 0.05;
  int recycle_after = 200;  // candidates a worker handles before it is replaced
  bool verify = true;
  // Reference results of so many bytes stay in memory; those of tasks that were not measured lately
  // are made again. All convolutions of ResNet-50 together need 39 MB.
  int64_t reference_bytes = 128 << 20;
  uint64_t seed = 0;        // of the input data
  std::string worker_path;  // empty: beside this library, or TILEWRIGHT_WORKER
};

// Time the batch spent, for reports: what tuner throughput is made of.
struct MeasureTimings {
  double compile_wall = 0;  // wall seconds of parallel compile phases
  double compile_cpu = 0;   // sum over candidates
  double run = 0;           // wall seconds of timing phases
  double reference = 0;     // seconds spent on the reference result
  double race = 0;          // wall seconds of races, compiling included
};

class AsyncMeasurer;

struct RaceOutcome {
  std::optional<size_t> winner;              // which contender; nobody when stopped or all failed
  bool settled = false;                      // or it leads, but others may be faster
  std::vector<std::vector<double>> seconds;  // of each contender: one a round that it was in
};

// What times candidates: the processes of this machine, or whatever stands in for them.
class Measurer {
 public:
  virtual ~Measurer();

  // Records in the order of the candidates (id, run and elapsed are left to the caller).
  // `best_seconds` is the fastest known so far, 0 when nothing is. `done` is called as each becomes
  // known. `stop` is asked many times a second: once it says so the candidates in flight are given
  // up, and the records so far returned.
  virtual std::vector<Record> measure(const Task& task, const std::vector<Candidate>& batch,
                                      double best_seconds,
                                      const std::function<void(const Record&)>& done,
                                      const std::function<bool()>& stop = {}) = 0;
  // Times schedules of one task, which were verified before, in turns until it is known who is the
  // fastest (race.h), or `seconds` are spent on visits. The first one is the incumbent: it wins
  // unless another one seems to be by more than a tie faster. Nobody wins where a measurer does not
  // race.
  virtual RaceOutcome race(const Task& task, const std::vector<std::string>& traces, double seconds,
                           const std::function<bool()>& stop = {});
  virtual const MeasureTimings& timings() const = 0;
  // Of the machines that it measures on, as machine_kind says it; "" where that is not known yet.
  virtual std::string kind() const;
  // Itself, where it takes candidates while others are under way.
  virtual AsyncMeasurer* asynchronous() { return nullptr; }
};

// Worker processes of this machine.
class LocalMeasurer : public Measurer {
 public:
  explicit LocalMeasurer(const MeasureOptions& options);
  ~LocalMeasurer() override;
  std::vector<Record> measure(const Task& task, const std::vector<Candidate>& batch,
                              double best_seconds, const std::function<void(const Record&)>& done,
                              const std::function<bool()>& stop = {}) override;
  RaceOutcome race(const Task& task, const std::vector<std::string>& traces, double seconds,
                   const std::function<bool()>& stop = {}) override;
  const MeasureTimings& timings() const override;
  // Resident memory of all workers now, bytes.
  int64_t worker_memory() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tw::autotune
