// SPDX-License-Identifier: Apache-2.0
#include "autotune/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "autotune/workloads.h"
#include "tests/unit/autotune/made_times.h"

namespace tw::autotune {
namespace {

// The share of pairs that `scores` puts into the order of `seconds`.
double concordance(const std::vector<double>& scores, const std::vector<double>& seconds) {
  int right = 0, all = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      ++all;
      right += (scores[i] > scores[k]) == (seconds[i] < seconds[k]);
    }
  }
  return static_cast<double>(right) / all;
}

class CostModelTest : public testing::Test {
 protected:
  // Ranks points that it has not seen, after training on others.
  double learned(ModelKind kind, uint64_t seed) const {
    const test::MadeTimes times(seen_, seed);
    std::vector<Sample> samples;
    std::vector<double> seconds;
    for (const auto& f : seen_.features) seconds.push_back(times.seconds(*f));
    const double best = *std::ranges::min_element(seconds);
    for (size_t i = 0; i < seconds.size(); ++i) {
      samples.push_back({.features = seen_.features[i], .throughput = best / seconds[i]});
    }
    const auto model = make_cost_model(kind, seed);
    model->train(samples);
    std::vector<const Features*> rows;
    std::vector<double> truth;
    for (const auto& f : unseen_.features) {
      rows.push_back(f.get());
      truth.push_back(times.seconds(*f));
    }
    return concordance(model->predict(rows), truth);
  }

  Task task_ = make_task(parse_workload("gemm:m=48,n=96,k=64").program, Target::host(), 1, "gemm");
  Space space_{task_};
  test::Drawn seen_ = test::draw(task_, space_, 160, 1),
              unseen_ = test::draw(task_, space_, 100, 2);
};

TEST_F(CostModelTest, LearnsAnOrderThatThePriorDoesNotKnow) {
  for (const uint64_t seed : {1, 2, 3}) {
    EXPECT_GT(learned(ModelKind::XGBoost, seed), 0.7) << seed;
    EXPECT_GT(learned(ModelKind::XGBoost, seed), learned(ModelKind::Prior, seed) + 0.1) << seed;
    EXPECT_GT(learned(ModelKind::XGBoost, seed), learned(ModelKind::Shuffled, seed) + 0.1) << seed;
  }
}

TEST_F(CostModelTest, ThePriorRanksUntilThereIsSomethingToLearnFrom) {
  const auto model = make_cost_model(ModelKind::XGBoost, 1);
  EXPECT_FALSE(model->trained());
  std::vector<const Features*> rows;
  std::vector<double> prior;
  for (const auto& f : unseen_.features) {
    rows.push_back(f.get());
    prior.push_back(f->prior_seconds);
  }
  EXPECT_GT(concordance(model->predict(rows), prior), 0.99);
}

}  // namespace
}  // namespace tw::autotune
