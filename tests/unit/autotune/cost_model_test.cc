// SPDX-License-Identifier: Apache-2.0
#include "autotune/learn/cost_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>

#include "autotune/task/workloads.h"
#include "runtime/half.h"
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

double prior_of(const Features& f) { return f.prior_seconds; }

class CostModelTest : public testing::Test {
 protected:
  // Ranks points that it has not seen, after training on others.
  double learned(std::string_view name, uint64_t seed) const {
    const made::MadeTimes times(seen_, seed);
    std::vector<Sample> samples;
    std::vector<double> seconds;
    for (const auto& f : seen_.features) seconds.push_back(times.seconds(*f));
    const double best = *std::ranges::min_element(seconds);
    for (size_t i = 0; i < seconds.size(); ++i) {
      samples.push_back({.features = seen_.features[i], .throughput = best / seconds[i]});
    }
    const auto model = cost_model(name)({.seed = seed});
    model->train(samples);
    return order_of_unseen(*model, [&](const Features& f) { return times.seconds(f); });
  }

  // How far a model puts what it has not seen into the order of `seconds`.
  double order_of_unseen(const CostModel& model,
                         const std::function<double(const Features&)>& seconds) const {
    std::vector<const Features*> rows;
    std::vector<double> truth;
    for (const auto& f : unseen_.features) {
      rows.push_back(f.get());
      truth.push_back(seconds(*f));
    }
    return concordance(model.predict(rows), truth);
  }

  Task task_ = make_task(parse_workload("gemm:m=48,n=96,k=64").program, Target::host(), 1, "gemm");
  Space space_{task_};
  made::Drawn seen_ = made::draw(task_, space_, 160, 1),
              unseen_ = made::draw(task_, space_, 100, 2);
};

TEST_F(CostModelTest, LearnsAnOrderThatThePriorDoesNotKnow) {
  for (const uint64_t seed : {1, 2, 3}) EXPECT_GT(learned("xgboost", seed), 0.6) << seed;
}

TEST_F(CostModelTest, ThePriorRanksUntilThereIsSomethingToLearnFrom) {
  const auto model = cost_model("xgboost")({.seed = 1});
  EXPECT_FALSE(model->trained());
  EXPECT_GT(order_of_unseen(*model, &prior_of), 0.99);
}

// A candidate of one row, of which the prior thinks as of any other: `value` in `column`, else 0.
std::shared_ptr<const Features> made(size_t column, double value) {
  Features f{.rows = std::vector<uint16_t>(feature_names().size()), .prior_seconds = 1e-3};
  f.rows[column] = double_to_float16(value);
  return std::make_shared<const Features>(std::move(f));
}

// Scores of candidates between those that the model was trained on: the throughput of candidate x
// of 64 is (x + 1) / 64, or falls where it rises.
std::vector<double> scores_of_unseen(std::string_view name, size_t column, bool rises) {
  std::vector<Sample> samples;
  for (int x = 0; x < 64; ++x) {
    samples.push_back(
        {.features = made(column, x), .throughput = ((rises ? x : 63 - x) + 1) / 64.0});
  }
  const auto model = cost_model(name)({.seed = 1});
  model->train(samples);
  EXPECT_TRUE(model->trained());
  std::vector<std::shared_ptr<const Features>> unseen;
  for (const double x : {3.5, 11.5, 19.5, 27.5, 35.5, 43.5, 51.5, 59.5}) {
    unseen.push_back(made(column, x));
  }
  std::vector<const Features*> rows;
  for (const auto& f : unseen) rows.push_back(f.get());
  return model->predict(rows);
}

TEST(CostModel, RanksByTheFeatureThatMakesFast) {
  for (const size_t column : {size_t{0}, feature_names().size() / 2, feature_names().size() - 1}) {
    const std::vector<double> rising = scores_of_unseen("xgboost", column, true),
                              falling = scores_of_unseen("xgboost", column, false);
    EXPECT_TRUE(std::ranges::is_sorted(rising, std::less_equal<>())) << column;
    EXPECT_TRUE(std::ranges::is_sorted(falling, std::greater_equal<>())) << column;
    EXPECT_FALSE(std::ranges::is_sorted(scores_of_unseen("shuffled", column, true)));
  }
}

// Times of which the prior believes the contrary: the model learns to go against it.
TEST_F(CostModelTest, OverrulesAPriorThatIsWrong) {
  std::vector<Sample> samples;
  const auto seconds = [](const Features& f) { return 1e-9 / f.prior_seconds; };
  double best = INFINITY;
  for (const auto& f : seen_.features) best = std::min(best, seconds(*f));
  for (const auto& f : seen_.features) {
    samples.push_back({.features = f, .throughput = best / seconds(*f)});
  }
  const auto model = make_xgboost_model(false, 1);
  model->train(samples);
  EXPECT_GT(order_of_unseen(*model, seconds), 0.9);
}

TEST_F(CostModelTest, KeepsToAPriorThatIsRight) {
  std::vector<Sample> samples;
  double best = INFINITY;
  for (const auto& f : seen_.features) best = std::min(best, f->prior_seconds);
  for (size_t i = 0; i < 16; ++i) {
    const auto& f = seen_.features[i];
    samples.push_back({.features = f, .throughput = best / f->prior_seconds});
  }
  const auto model = make_xgboost_model(false, 1);
  model->train(samples);
  EXPECT_GT(order_of_unseen(*model, &prior_of), 0.97);
}

TEST_F(CostModelTest, RecoversMostOfAMadeOrder) {
  for (const uint64_t seed : {1, 2, 3}) {
    EXPECT_GT(learned("xgboost", seed), 0.7) << seed;
    EXPECT_LT(learned("shuffled", seed), 0.6) << seed;
  }
}

// Half of the timings are disturbed, and their samples lie far apart.
TEST(CostModel, TimingsThatVaryTeachLess) {
  std::vector<Sample> samples;
  for (int x = 0; x < 64; ++x) {
    const double right = (x + 1) / 64.0;
    samples.push_back({.features = made(0, x), .throughput = right});
    samples.push_back({.features = made(0, x), .throughput = 1 / (64 * right), .spread = 1});
  }
  const auto model = make_xgboost_model(false, 1);
  model->train(samples);
  std::vector<const Features*> rows;
  std::vector<double> places;
  for (const Sample& s : samples) {
    rows.push_back(s.features.get());
    places.push_back(-s.throughput);
    if (s.spread > 0) rows.pop_back(), places.pop_back();
  }
  EXPECT_GT(concordance(model->predict(rows), places), 0.95);
}

// Among fast candidates the column makes faster, among slow ones slower by as much.
TEST(CostModel, WhatIsNearTheBestTeachesMore) {
  std::vector<Sample> samples;
  std::vector<double> places;
  for (int x = 0; x < 64; ++x) {
    const double fast = 0.7 + 0.3 * x / 63.0;
    samples.push_back({.features = made(0, x), .throughput = fast});
    samples.push_back({.features = made(0, x), .throughput = 0.1 / fast});
    places.push_back(-fast);
  }
  const auto model = make_xgboost_model(false, 1);
  model->train(samples);
  std::vector<const Features*> rows;
  for (size_t k = 0; k < samples.size(); k += 2) rows.push_back(samples[k].features.get());
  EXPECT_GT(concordance(model->predict(rows), places), 0.8);
}

// The base stays what it was while the scores follow what was measured.
TEST(CostModel, TheBaseKnowsNothingOfTheTasksTrials) {
  std::vector<Sample> samples;
  std::vector<const Features*> rows;
  std::vector<double> places;
  for (int x = 0; x < 64; ++x) {
    Features f = *made(0, x);
    f.prior_seconds = 1e-3 * (1 + x % 8);
    const double throughput = (x + 1) / 64.0 / (1 + x % 8);
    samples.push_back(
        {.features = std::make_shared<const Features>(std::move(f)), .throughput = throughput});
    rows.push_back(samples.back().features.get());
    places.push_back(-throughput);
  }
  const auto model = make_xgboost_model(false, 1);
  model->train(samples);
  const Opinion opinion = model->opinion(rows);
  EXPECT_GT(concordance(opinion.score, places), 0.9);
  for (size_t k = 8; k < rows.size(); ++k) {
    EXPECT_EQ(opinion.base[k], opinion.base[k - 8]) << "the prior says the same of both";
  }
  EXPECT_GT(opinion.base[0], opinion.base[1]);
}

TEST(CostModel, FailuresAreSlowerThanWhateverRan) {
  std::vector<Sample> samples;
  for (int x = 0; x < 64; ++x) {
    samples.push_back({.features = made(0, x), .throughput = x < 32 ? 0.5 : 0});
  }
  const auto model = make_xgboost_model(false, 1);
  model->train(samples);
  const auto ran = made(0, 3.5), failed = made(0, 50.5);
  const std::vector<double> scores = model->predict({ran.get(), failed.get()});
  EXPECT_GT(scores[0], scores[1] + 0.3);
}

// Left of 32 the column says all; right of it the times have nothing to do with anything known.
TEST(CostModel, KnowsWhereItDoesNotKnow) {
  std::vector<Sample> samples;
  for (int x = 0; x < 128; ++x) {
    const bool known = x % 64 < 32;
    const double wild = (x * 37 % 101 + 1) / 102.0;
    samples.push_back({.features = made(0, x % 64), .throughput = known ? 0.5 : wild});
  }
  const auto model = make_xgboost_model(false, 1);
  EXPECT_EQ(model->opinion({samples[0].features.get()}).deviation[0], 0)
      << "the prior has no doubts";
  model->train(samples);
  std::vector<const Features*> rows;
  for (int x = 0; x < 64; ++x) rows.push_back(samples[static_cast<size_t>(x)].features.get());
  const std::vector<double> doubt = model->opinion(rows).deviation;
  const auto mean = [&](size_t from, size_t to) {
    return std::accumulate(doubt.begin() + static_cast<std::ptrdiff_t>(from),
                           doubt.begin() + static_cast<std::ptrdiff_t>(to), 0.0) /
           static_cast<double>(to - from);
  };
  EXPECT_GT(mean(34, 64), 3 * mean(0, 30));
}

TEST(CostModel, TasksAreNotComparedWithEachOther) {
  // Each task alone has nothing to tell; between them column 0 would tell all.
  std::vector<Sample> samples;
  for (int i = 0; i < 32; ++i) {
    const int task = i % 2;
    samples.push_back({.features = made(0, task), .throughput = task == 0 ? 0.5 : 1, .task = task});
  }
  const auto model = cost_model("xgboost")({.seed = 1});
  model->train(samples);
  const std::vector<double> scores =
      model->predict({samples[0].features.get(), samples[1].features.get()});
  EXPECT_EQ(scores[0], scores[1]);
}

}  // namespace
}  // namespace tw::autotune
