// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/async_measurer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>
#include <stdexcept>

#include "autotune/task/workloads.h"
#include "autotune/tuner.h"
#include "tests/support/temporary_folder.h"

namespace tw::autotune {
namespace {

// Machines elsewhere, made up: answers come in any order, and times are those of the prior.
class MadeExecutor : public AsyncMeasurer {
 public:
  explicit MadeExecutor(int capacity, uint64_t seed = 1) : capacity_(capacity), rng_(seed) {}

  int capacity() override { return capacity_; }
  std::string kind() const override { return kind_; }
  void submit(int64_t ticket, const Task& task, const Candidate& candidate, double) override {
    EXPECT_TRUE(tickets_.insert(ticket).second);
    EXPECT_TRUE(traces_.insert(task.workload + to_text(candidate.trace)).second);
    Record r;
    r.seconds = {prior_seconds(task, candidate.trace)};
    r.host = "host-" + std::to_string(ticket % 3);
    r.kind = ticket % 5 == 0 ? stranger_ : kind_;
    if (r.kind != kind_) r.seconds = {1e-12};
    under_way_.push_back({ticket, r});
  }
  std::vector<Answer> wait(double) override {
    if (++waits_ == failing_wait_) throw std::runtime_error("the cluster is gone");
    under_way_at_waits_.push_back(under_way_.size());
    std::ranges::shuffle(under_way_, rng_);
    const size_t count = under_way_.empty() ? 0 : 1 + rng_() % under_way_.size() / 2;
    std::vector<Answer> answers(under_way_.end() - static_cast<ptrdiff_t>(count), under_way_.end());
    under_way_.resize(under_way_.size() - count);
    return answers;
  }
  void cancel() override { under_way_.clear(); }

  std::string kind_ = "made; x", stranger_ = "made; x";
  int failing_wait_ = -1, waits_ = 0;
  std::vector<size_t> under_way_at_waits_;

 private:
  int capacity_;
  std::mt19937_64 rng_;
  std::set<int64_t> tickets_;
  std::set<std::string> traces_;
  std::vector<Answer> under_way_;
};

class AsyncTuner : public testing::Test {
 protected:
  void SetUp() override {
    options_.measurer = executor_;
    options_.batch = 8;
    options_.policy = search_policy("random");
    options_.model = cost_model("prior");
  }

  static std::vector<Task> tasks(int count) {
    std::vector<Task> tasks;
    for (int i = 0; i < count; ++i) {
      const std::string text = "gemm:m=16,n=48,k=" + std::to_string(16 + 8 * i);
      tasks.push_back(make_task(parse_workload(text).program, Target::host(), 1, text));
    }
    return tasks;
  }
  TunerReport run(int trials, int tasks_of_run = 2,
                  const std::function<void(const TunerEvent&)>& on_event = {}) {
    options_.trials = trials;
    Log log(folder_.file("log.db"), Log::Mode::Write);
    return tune(tasks(tasks_of_run), log, options_, on_event);
  }
  std::vector<Record> records() const {
    return Log(folder_.file("log.db"), Log::Mode::Read).records();
  }

  const tw::test::TemporaryFolder folder_;
  std::shared_ptr<MadeExecutor> executor_ = std::make_shared<MadeExecutor>(12);
  TunerOptions options_;
};

TEST_F(AsyncTuner, EveryTrialIsKeptOnceAndTheMachinesStayBusy) {
  const TunerReport report = run(60);
  EXPECT_FALSE(report.stopped);
  EXPECT_EQ(records().size(), 60u);
  EXPECT_EQ(report.tasks[0].trials + report.tasks[1].trials, 60);
  // Whenever the tuner waits, as many are under way as the executor takes, but for the last.
  size_t short_of = 0, left = 60;
  for (const size_t under_way : executor_->under_way_at_waits_) {
    EXPECT_LE(under_way, 12u);
    short_of += under_way < 12;
    left = under_way;
  }
  EXPECT_LE(left, 12u);
  EXPECT_LT(short_of, 12u);
  for (const Record& r : records()) {
    EXPECT_EQ(r.kind, "made; x");
    EXPECT_EQ(r.host.substr(0, 5), "host-");
    EXPECT_FALSE(r.trace.empty());
  }
}

TEST_F(AsyncTuner, TrialsOfMachinesOfAnotherKindAreKeptButNotCompared) {
  executor_->stranger_ = "another; x";
  const TunerReport report = run(40, 1);
  EXPECT_EQ(records().size(), 40u);
  EXPECT_EQ(report.tasks[0].trials, 40);
  EXPECT_GT(report.tasks[0].best_seconds, 1e-9);
  options_.resume = true;
  executor_ = std::make_shared<MadeExecutor>(12, 2);
  options_.measurer = executor_;
  EXPECT_GT(run(41, 1).tasks[0].best_seconds, 1e-9);
}

TEST_F(AsyncTuner, AnErrorLosesNoTrialThatIsKnown) {
  int events = 0;
  EXPECT_THROW(run(60, 1,
                   [&](const TunerEvent& e) {
                     if (e.record != nullptr && ++events == 5) throw std::runtime_error("no more");
                   }),
               std::runtime_error);
  const size_t known = records().size();
  EXPECT_GT(known, 5u);  // those that were answered with the fifth
  std::set<std::string> traces;
  for (const Record& r : records()) EXPECT_TRUE(traces.insert(r.trace).second);

  executor_ = std::make_shared<MadeExecutor>(12, 2);
  executor_->failing_wait_ = 4;
  options_.measurer = executor_;
  EXPECT_THROW(run(60, 1), std::runtime_error);
  EXPECT_GT(records().size(), known);
}

TEST_F(AsyncTuner, ABatchIsMeasuredAsAWhole) {
  const Task task = tasks(1)[0];
  const Space space(task);
  std::mt19937_64 rng(1);
  std::vector<Candidate> batch;
  std::set<std::string> traces;
  while (batch.size() < 30) {
    Candidate c{.trace = space.trace(space.random(rng))};
    if (traces.insert(to_text(c.trace)).second) batch.push_back(c);
  }
  size_t done = 0;
  const auto records = executor_->measure(task, batch, 0, [&](const Record&) { ++done; });
  EXPECT_EQ(done, 30u);
  ASSERT_EQ(records.size(), 30u);
  for (size_t k = 0; k < records.size(); ++k) {
    EXPECT_EQ(records[k].trace, to_text(batch[k].trace));
    EXPECT_EQ(records[k].median(), prior_seconds(task, batch[k].trace));
  }
}

}  // namespace
}  // namespace tw::autotune
