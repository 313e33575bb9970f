// SPDX-License-Identifier: Apache-2.0
// What the tuner tells the model and the search, with made times in place of measured ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "autotune/log/log.h"
#include "autotune/task/workloads.h"
#include "autotune/tuner.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/autotune/made_times.h"

namespace tw::autotune {
namespace {

double made_seconds(const Task& task, const Trace& trace) {
  return 1e-3 + 1e-6 * static_cast<double>(std::hash<std::string>()(to_text(trace)) % 1000) +
         extract_features(task, trace).prior_seconds;
}

class MadeMeasurer : public Measurer {
 public:
  std::vector<Record> measure(const Task& task, const std::vector<Candidate>& batch, double,
                              const std::function<void(const Record&)>& done,
                              const std::function<bool()>&) override {
    std::vector<Record> records;
    for (const Candidate& c : batch) {
      records.push_back({.workload = task.workload,
                         .target = task.target_text,
                         .trace = to_text(c.trace),
                         .seconds = {made_seconds(task, c.trace)},
                         .origin = c.origin});
    }
    // Whoever is ready first is told first.
    for (size_t k = records.size(); k-- > 0;) done(records[k]);
    return records;
  }
  const MeasureTimings& timings() const override { return timings_; }

 private:
  MeasureTimings timings_;
};

// Keeps what it was trained on.
class Pupil : public CostModel {
 public:
  explicit Pupil(std::vector<std::vector<Sample>>& lessons) : lessons_(lessons) {}
  void train(const std::vector<Sample>& samples) override { lessons_.push_back(samples); }
  bool trained() const override { return !lessons_.empty(); }
  std::vector<double> predict(const std::vector<const Features*>& candidates) const override {
    std::vector<double> scores;
    for (const Features* f : candidates) scores.push_back(-std::log(f->prior_seconds));
    return scores;
  }

 private:
  std::vector<std::vector<Sample>>& lessons_;
};

TEST(Learning, EachCandidateIsLearntWithItsOwnTimeInPartsOfTheBest) {
  const tw::test::TemporaryFolder folder;
  const Task task =
      make_task(parse_workload("gemm:m=48,n=96,k=64").program, Target::host(), 1, "gemm");
  std::vector<std::vector<Sample>> lessons;
  TunerOptions options;
  options.trials = 25;
  options.batch = 8;
  options.measurer = std::make_shared<MadeMeasurer>();
  options.model = [&](const ModelContext&) { return std::make_unique<Pupil>(lessons); };
  TunerReport report;
  std::vector<Record> records;
  {
    Log log(folder.file("log.db"), Log::Mode::Write);
    report = tune({task}, log, options);
    records = log.records();
  }

  ASSERT_EQ(records.size(), 25u);
  double best = INFINITY;
  for (const Record& r : records) best = std::min(best, r.median());
  EXPECT_EQ(report.tasks[0].best_seconds, best);
  ASSERT_EQ(lessons.size(), 3u) << "after each batch";
  const std::vector<Sample>& samples = lessons.back();
  ASSERT_EQ(samples.size(), 25u);
  EXPECT_EQ(std::ranges::max(samples, {}, &Sample::throughput).throughput, 1);
  for (size_t k = 0; k < records.size(); ++k) {
    const Features own = extract_features(task, parse_trace(records[k].trace));
    EXPECT_EQ(samples[k].features->rows, own.rows) << k;
    EXPECT_NEAR(samples[k].throughput, best / records[k].median(), 1e-12) << k;
  }
}

TEST(Learning, PoliciesKnowWhatIsLeftOfTheBudget) {
  const tw::test::TemporaryFolder folder;
  const Task task =
      make_task(parse_workload("gemm:m=48,n=96,k=64").program, Target::host(), 1, "gemm");
  // Draws at random, and looks at the budget whenever it is asked.
  class Watching : public SearchPolicy {
   public:
    Watching(const PolicyContext& context, std::vector<Budget>& seen)
        : budget_(context.budget), inner_(make_random_policy(context)), seen_(seen) {}
    std::vector<Proposal> propose(int count, const CostModel& model) override {
      seen_.push_back(budget_());
      return inner_->propose(count, model);
    }
    void observe(const Point& p, double seconds) override { inner_->observe(p, seconds); }

   private:
    std::function<Budget()> budget_;
    std::unique_ptr<SearchPolicy> inner_;
    std::vector<Budget>& seen_;
  };
  std::vector<Budget> seen;
  TunerOptions options;
  options.trials = 25;
  options.batch = 8;
  options.measurer = std::make_shared<MadeMeasurer>();
  options.policy = [&](const PolicyContext& c) { return std::make_unique<Watching>(c, seen); };
  {
    Log log(folder.file("log.db"), Log::Mode::Write);
    tune({task}, log, options);
  }
  ASSERT_EQ(seen.size(), 3u);
  for (size_t k = 0; k < seen.size(); ++k) {
    const int spent = 1 + 8 * static_cast<int>(k);
    EXPECT_EQ(seen[k].trials_left, 25 - spent);
    EXPECT_DOUBLE_EQ(seen[k].spent, spent / 25.0);
  }
}

}  // namespace
}  // namespace tw::autotune
