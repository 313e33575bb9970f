// SPDX-License-Identifier: Apache-2.0
#include "autotune/study/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "autotune/task/workloads.h"
#include "tests/unit/autotune/made_times.h"

namespace tw::autotune {
namespace {

constexpr size_t kCandidates = 120;

// Ranks by what it was told of each candidate, and keeps what it is shown.
class Told : public CostModel {
 public:
  Told(const Recording& recording, double sign) {
    for (const RecordedCandidate& c : recording.candidates()) {
      score_[c.features.get()] = -sign * c.seconds;
    }
  }
  void train(const std::vector<Sample>& samples) override { samples_ = samples; }
  bool trained() const override { return true; }
  std::vector<double> predict(const std::vector<const Features*>& candidates) const override {
    std::vector<double> scores;
    for (const Features* f : candidates) scores.push_back(score_.at(f));
    return scores;
  }
  std::vector<Sample> samples_;

 private:
  std::map<const Features*, double> score_;
};

class SimulationTest : public testing::Test {
 protected:
  Task task_ = make_task(parse_workload("gemm:m=48,n=96,k=64").program, Target::host(), 1, "gemm");

  // Candidate k takes seconds(k), in visits that differ by the factors.
  Recording made(const std::function<double(size_t)>& seconds,
                 const std::vector<double>& factors = {1}) const {
    const Space space(task_);
    std::vector<Record> records;
    std::set<Point> drawn;
    for (const Point& p : made::draw(task_, space, 4 * kCandidates, 1).points) {
      if (drawn.size() == kCandidates || !drawn.insert(p).second) continue;
      for (const double f : factors) {
        records.push_back({.trace = to_text(space.trace(p)),
                           .seconds = {f * seconds(drawn.size() - 1)},
                           .origin = drawn.size() == 1 ? Origin::Prior : Origin::Random});
      }
    }
    return {task_, records};
  }
};

double by_place(size_t k) { return 1.0 + static_cast<double>((k * 37 + 60) % kCandidates); }

TEST_F(SimulationTest, AsksForEachOnceAndInTheEndForAll) {
  const Recording recording = made(by_place);
  const auto model = make_random_model(1);
  const Simulation run = simulate(task_, recording, *model, {.trials = 1000, .batch = 8});
  EXPECT_EQ(run.asked.size(), kCandidates);
  EXPECT_EQ(std::set<size_t>(run.asked.begin(), run.asked.end()).size(), kCandidates);
  EXPECT_EQ(run.asked[0], 0u) << "the prior's choice";
  EXPECT_TRUE(std::ranges::is_sorted(run.regret, std::greater{})) << "there is no noise";
  EXPECT_EQ(run.regret.front(), by_place(0) / recording.best_seconds() - 1);
  EXPECT_EQ(run.regret.back(), 0);
}

TEST_F(SimulationTest, OneSeedIsOneResult) {
  const Recording recording = made(by_place, {1, 1.5, 2});
  std::vector<std::vector<size_t>> runs;
  for (const uint64_t seed : {1, 1, 2}) {
    const auto model = make_random_model(seed);
    runs.push_back(simulate(task_, recording, *model, {.trials = 40, .seed = seed}).asked);
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_NE(runs[0], runs[2]);
}

TEST_F(SimulationTest, WhoKnowsFindsTheBestAndWhoIsMisledDoesNot) {
  const Recording recording = made(by_place);
  Told right(recording, 1), wrong(recording, -1);
  EXPECT_EQ(simulate(task_, recording, right, {.trials = 17}).regret.back(), 0);
  EXPECT_GT(simulate(task_, recording, wrong, {.trials = 17}).regret.back(), 0.5);
}

TEST_F(SimulationTest, APolicyIsToldOnlyWhatItAskedFor) {
  const Recording recording = made(by_place, {1, 3});
  Told model(recording, 1);
  const Simulation run = simulate(task_, recording, model, {.trials = 30, .batch = 10});
  ASSERT_EQ(model.samples_.size(), run.asked.size());
  const double best = std::ranges::min(run.shown);
  bool disturbed = false;
  for (size_t k = 0; k < run.asked.size(); ++k) {
    const RecordedCandidate& c = recording.candidates()[run.asked[k]];
    EXPECT_EQ(model.samples_[k].features, c.features);
    EXPECT_EQ(model.samples_[k].throughput, best / run.shown[k]);
    EXPECT_NE(std::ranges::find(c.visits, run.shown[k]), c.visits.end());
    disturbed |= run.shown[k] != c.seconds;
  }
  EXPECT_TRUE(disturbed) << "visits are drawn, not the time that nobody saw";
}

TEST_F(SimulationTest, RegretIsOfTheTrueTime) {
  // Every other visit takes thrice as long: what looks fastest is not always.
  const Recording recording = made(by_place, {1, 3});
  const auto model = make_random_model(1);
  const Simulation run = simulate(task_, recording, *model, {.trials = 1000});
  const auto chosen = std::ranges::min_element(run.shown) - run.shown.begin();
  const size_t candidate = run.asked[static_cast<size_t>(chosen)];
  EXPECT_EQ(run.regret.back(),
            recording.candidates()[candidate].seconds / recording.best_seconds() - 1);
}

TEST(RankCorrelation, KnownValues) {
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {10, 20, 30, 1e9}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3}, {5, 5, 5}), 0);
  // 1 - 6 * (1 + 1) / (4 * 15)
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {2, 1, 3, 4}), 0.8);
  // Ranks 0.5 0.5 2 against 0 1 2.
  EXPECT_NEAR(rank_correlation({7, 7, 9}, {1, 2, 3}), 0.8660254, 1e-7);
}

}  // namespace
}  // namespace tw::autotune
