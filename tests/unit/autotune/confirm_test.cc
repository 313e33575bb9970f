// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/confirm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "autotune/measure/race.h"
#include "autotune/task/workloads.h"
#include "schedule/schedule.h"
#include "tests/support/temporary_folder.h"

namespace tw::autotune {
namespace {

// A log with planted times, whose candidates are raced as workers are told to misbehave. Races
// count candidates from 0: the prior's first, then the fastest of the log.
class Confirm : public testing::Test {
 protected:
  void SetUp() override {
    log_.emplace(folder_.file("log.db"), Log::Mode::Write);
    log_->add_task(task_);
    append(1.00e-3, 2);
    append(1.01e-3, 3);
    append(1.02e-3, 4);
    append(1.40e-3, 5, Origin::Prior);
  }
  void TearDown() override { unsetenv("TILEWRIGHT_WORKER_FAULT"); }
  static void fault(const char* list) { setenv("TILEWRIGHT_WORKER_FAULT", list, 1); }

  void append(double seconds, int factor, Origin origin = Origin::Search) {
    const Schedule s = Schedule::create(task_.program.outputs);
    const Stage stage = s[task_.program.outputs[0]];
    stage.split(stage.axis(1), factor);
    Record r;
    r.workload = task_.workload;
    r.target = task_.target_text;
    r.trace = to_text(s.trace());
    r.seconds = std::vector<double>(8, seconds);
    r.ir_hash = std::to_string(factor);
    r.origin = origin;
    log_->append(r);
  }
  std::optional<Confirmation> confirm(const std::function<bool()>& stop = {}) {
    MeasureOptions o;
    o.workers = 1;
    o.run_timeout = 1;
    LocalMeasurer measurer(o);
    return confirm_best(measurer, task_, *log_, "", stop);
  }
  int64_t best() const { return log_->best(task_.workload, task_.target_text, 1)->id; }

  const Task task_ = make_task(parse_workload("gemm:m=16,n=24,k=20").program, Target::host(), 1);
  const tw::test::TemporaryFolder folder_;
  std::optional<Log> log_;
};

TEST_F(Confirm, ThePriorsScheduleWinsWhereTheRaceSaysSo) {
  fault("slow@1,slow@2,slow@3");
  const auto found = confirm();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->winner.id, 4);
  EXPECT_TRUE(found->settled);
  EXPECT_EQ(found->prior_seconds, found->seconds);
  EXPECT_EQ(best(), 4);
  EXPECT_EQ(log_->records()[3].race_seconds, found->seconds);
}

TEST_F(Confirm, TheWinnerIsWhoIsFastestInTheRace) {
  fault("slow@0,slow@1,slow@3");
  EXPECT_EQ(confirm()->winner.id, 2);
  EXPECT_EQ(best(), 2);
}

TEST_F(Confirm, ADeadWorkerStopsNoRace) {
  // The one that it dies with takes part again, as candidate 6.
  fault("kill@2,slow@4,slow@5,slow@7");
  EXPECT_EQ(confirm()->winner.id, 2);
}

TEST_F(Confirm, WhoCrashesTwiceIsOut) {
  fault("crash@2,crash@6,slow@8,slow@9");
  const auto found = confirm();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->winner.id, 3);
  EXPECT_EQ(best(), 3);
}

// After the first round two are left, and the second one is of what is compiled for it. They are
// equally fast, so that one round after the other of the same would now and then end otherwise.
TEST_F(Confirm, RoundsOfAShortKernelAreOfItCompiledAnew) {
  for (int again = 0; again < 4; ++again) {
    fault("slow@0,slow@3,slow@5");
    EXPECT_EQ(confirm()->winner.id, 1);
    fault("slow@0,slow@3,slow@4");
    EXPECT_EQ(confirm()->winner.id, 2);
  }
}

TEST_F(Confirm, WhoHangsOrNoLongerCompilesIsOut) {
  fault("hang@2,compile-crash@5,compile-crash@7,slow@8");
  const auto found = confirm();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->winner.id, 3);
}

TEST_F(Confirm, WithNobodyLeftTheLogSaysWhatItSaid) {
  fault("hang@0,hang@4,hang@7,hang@9");
  EXPECT_FALSE(confirm());
  EXPECT_EQ(best(), 1);
}

TEST_F(Confirm, AStoppedRaceLeavesNoTrace) {
  fault("hang@3");
  int asked = 0;
  EXPECT_FALSE(confirm([&] { return ++asked > 20; }));
  for (const Record& r : log_->records()) EXPECT_EQ(r.race_seconds, 0);
  EXPECT_EQ(best(), 1);
}

// Sees what it is asked for.
class IdleMeasurer : public Measurer {
 public:
  double seconds = 0;
  size_t contenders = 0;

  std::vector<Record> measure(const Task&, const std::vector<Candidate>&, double,
                              const std::function<void(const Record&)>&,
                              const std::function<bool()>&) override {
    return {};
  }
  RaceOutcome race(const Task&, const std::vector<std::string>& traces, double most,
                   const std::function<bool()>&) override {
    seconds = most;
    contenders = traces.size();
    return {};
  }
  const MeasureTimings& timings() const override { return timings_; }

 private:
  MeasureTimings timings_;
};

TEST_F(Confirm, RacesOfMoreTrialsTakeLonger) {
  for (int k = 0; k < 96; ++k) append(9e-3, 6 + k);  // 100 trials, these no contenders
  IdleMeasurer measurer;
  EXPECT_FALSE(confirm_best(measurer, task_, *log_, ""));
  EXPECT_EQ(measurer.contenders, 4u);
  EXPECT_DOUBLE_EQ(measurer.seconds, 0.15);
  EXPECT_DOUBLE_EQ(race_seconds(2), 0.1);
  EXPECT_DOUBLE_EQ(race_seconds(100'000), 0.3);
}

TEST_F(Confirm, HoweverShortTheTimeARaceHasSomeRounds) {
  const std::vector<Record> records = log_->records();
  LocalMeasurer measurer({.workers = 1});
  const RaceOutcome outcome = measurer.race(task_, {records[0].trace, records[1].trace}, 1e-9, {});
  EXPECT_TRUE(outcome.settled || outcome.seconds[0].size() >= 12u);
}

TEST_F(Confirm, OneAloneIsNotRaced) {
  const Task other = make_task(parse_workload("gemm:m=16,n=24,k=24").program, Target::host(), 1);
  LocalMeasurer measurer({.workers = 1});
  EXPECT_FALSE(confirm_best(measurer, other, *log_, ""));
}

}  // namespace
}  // namespace tw::autotune
