// SPDX-License-Identifier: Apache-2.0
#include "autotune/tuner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "autotune/task/workloads.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace tw::autotune {
namespace {

class TunerTest : public testing::Test {
 protected:
  void TearDown() override { unsetenv("TILEWRIGHT_WORKER_FAULT"); }
  static void fault(const char* list) { setenv("TILEWRIGHT_WORKER_FAULT", list, 1); }

  static std::vector<Task> gemms(int count) {
    std::vector<Task> tasks;
    for (int i = 0; i < count; ++i) {
      const std::string text = "gemm:m=16,n=16,k=" + std::to_string(8 + 8 * i);
      tasks.push_back(make_task(parse_workload(text).program, Target::host(), 1, text));
    }
    return tasks;
  }
  static TunerOptions options(int trials) {
    TunerOptions o;
    o.trials = trials;
    o.measure.workers = 2;
    o.measure.run_budget = 0.002;
    return o;
  }
  TunerReport run(const std::vector<Task>& tasks, const TunerOptions& o) {
    Log log(folder_.file("log.db"), Log::Mode::Write);
    return tune(tasks, log, o);
  }
  std::vector<Record> records() const {
    return Log(folder_.file("log.db"), Log::Mode::Read).records();
  }
  const tw::test::TemporaryFolder folder_;
};

TEST_F(TunerTest, EveryTaskStartsWithThePriorsSchedule) {
  const TunerReport report = run(gemms(2), options(6));
  ASSERT_EQ(report.tasks.size(), 2u);
  EXPECT_EQ(report.tasks[0].trials + report.tasks[1].trials, 6);
  for (const TaskSummary& task : report.tasks) {
    EXPECT_GT(task.untuned_seconds, 0);
    EXPECT_GT(task.best_seconds, 0);
    EXPECT_LE(task.best_seconds, task.untuned_seconds);
  }
  EXPECT_FALSE(report.stopped);
  const auto made = records();
  ASSERT_EQ(made.size(), 6u);
  EXPECT_EQ(made[0].origin, Origin::Prior);
  EXPECT_EQ(made[1].origin, Origin::Prior);
  EXPECT_NE(made[0].workload, made[1].workload);
}

TEST_F(TunerTest, FewerTrialsThanTasksAreAllThereIs) {
  const TunerReport report = run(gemms(3), options(2));
  EXPECT_EQ(records().size(), 2u);
  EXPECT_EQ(report.tasks[2].trials, 0);
}

TEST_F(TunerTest, APriorThatFailedIsNotTriedAgainOnResuming) {
  fault("crash@0");
  EXPECT_EQ(run(gemms(1), options(1)).tasks[0].failures.at("run-crashed"), 1);
  unsetenv("TILEWRIGHT_WORKER_FAULT");
  TunerOptions more = options(3);
  more.resume = true;
  EXPECT_EQ(run(gemms(1), more).tasks[0].trials, 3);
  const auto made = records();
  ASSERT_EQ(made.size(), 3u);
  EXPECT_NE(made[1].origin, Origin::Prior);
  EXPECT_NE(made[2].origin, Origin::Prior);
}

TEST_F(TunerTest, TheTimeLimitDoesNotWaitForACandidate) {
  fault("hang@0");
  TunerOptions o = options(4);
  o.time_limit = 0.2;
  o.measure.run_timeout = 1e6;
  const TunerReport report = run(gemms(1), o);
  EXPECT_TRUE(report.stopped);
  EXPECT_TRUE(records().empty());
}

TEST_F(TunerTest, TurnsShareTheTrialsOut) {
  TunerOptions o = options(30);
  o.batch = 4;
  o.task_policy = TaskPolicy::Turns;
  for (const TaskSummary& task : run(gemms(3), o).tasks) EXPECT_NEAR(task.trials, 10, 4);
}

TEST_F(TunerTest, AKernelThatRunsOftenGetsMoreTrials) {
  TunerOptions o = options(40);
  o.batch = 4;
  o.task_weights = {1, 1e6};
  const TunerReport report = run(gemms(2), o);
  EXPECT_EQ(report.tasks[0].trials + report.tasks[1].trials, 40);
  EXPECT_LT(report.tasks[0].trials, 10);
}

TEST_F(TunerTest, WeightsAreOneForEachTask) {
  for (const std::vector<double>& weights :
       {std::vector<double>{1}, {1, 0}, {1, -2}, {1, INFINITY}}) {
    TunerOptions o = options(4);
    o.task_weights = weights;
    test::expect_error(ErrorCode::BadArgument, [&] { run(gemms(2), o); });
  }
}

TEST_F(TunerTest, NoTrialsAreNoRun) {
  test::expect_error(ErrorCode::BadTrials, [&] { run(gemms(1), options(0)); });
}

}  // namespace
}  // namespace tw::autotune
