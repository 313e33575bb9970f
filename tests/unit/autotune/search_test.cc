// SPDX-License-Identifier: Apache-2.0
#include "autotune/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <ranges>
#include <set>

#include "autotune/cost_models.h"
#include "autotune/workloads.h"
#include "tests/unit/autotune/made_times.h"

namespace tw::autotune {
namespace {

// Knows the made times, and keeps what it was asked for.
class Oracle : public CostModel {
 public:
  explicit Oracle(const test::MadeTimes& times) : times_(times) {}
  void train(const std::vector<Sample>&) override {}
  bool trained() const override { return true; }
  std::vector<double> predict(const std::vector<const Features*>& candidates) const override {
    std::vector<double> scores;
    for (const Features* f : candidates) {
      scores.push_back(-std::log(times_.seconds(*f)));
      asked_[f] = scores.back();
    }
    return scores;
  }
  // Takes the scores of all candidates that it was asked for since the last time.
  std::vector<double> take() {
    const auto scores = asked_ | std::views::values;
    std::vector<double> taken(scores.begin(), scores.end());
    asked_.clear();
    return taken;
  }

 private:
  mutable std::map<const Features*, double> asked_;
  const test::MadeTimes& times_;
};

class SearchTest : public testing::Test {
 protected:
  Task task_ = make_task(parse_workload("gemm:m=48,n=96,k=64").program, Target::host(), 1, "gemm");
  Space space_{task_};
  test::Drawn drawn_ = test::draw(task_, space_, 200, 1);

  double made_quantile(const test::MadeTimes& times, double q) const {
    std::vector<double> seconds;
    for (const auto& f : drawn_.features) seconds.push_back(times.seconds(*f));
    std::ranges::sort(seconds);
    return seconds[static_cast<size_t>(q * static_cast<double>(seconds.size()))];
  }
};

TEST_F(SearchTest, ProposesTheFittestOfAllItLookedAt) {
  constexpr size_t kBatch = 16;
  const test::MadeTimes times(drawn_, 1);
  Oracle oracle(times);
  Search search(task_, space_,
                {.neighbour_share = 0, .random_share = 0, .distinct_programs = false}, 1);
  for (size_t before = 0; before < 4 * kBatch; before += kBatch) {
    const auto proposals = search.propose(kBatch, oracle);
    ASSERT_EQ(proposals.size(), kBatch);
    const std::vector<double> scores = oracle.take();
    ASSERT_GT(scores.size(), before + 2 * kBatch);
    const auto predicted = [](const Proposal& p) { return p.candidate.predicted; };
    for (const Proposal& p : proposals) {
      EXPECT_EQ(p.candidate.origin, Origin::Search);
      EXPECT_EQ(predicted(p), -std::log(times.seconds(*p.features)));
      search.observe(p.point, times.seconds(*p.features));
    }
    if (before == 0) {  // sketches are taken in turn
      EXPECT_EQ(predicted(proposals.front()), std::ranges::max(scores));
      continue;
    }
    EXPECT_TRUE(std::ranges::is_sorted(proposals, std::greater<>(), predicted));
    // Whatever is fitter than the last is proposed too, or was before.
    const auto fitter = std::ranges::count_if(
        scores, [&](double score) { return score > predicted(proposals.back()); });
    EXPECT_LT(static_cast<size_t>(fitter), before + kBatch);
  }
}

TEST_F(SearchTest, EvolutionFindsWhatChanceDoesNot) {
  for (const uint64_t seed : {1, 2, 3}) {
    const test::MadeTimes times(drawn_, seed);
    const Oracle oracle(times);
    Search search(task_, space_, {.neighbour_share = 0, .random_share = 0}, seed);
    for (int round = 0; round < 2; ++round) {
      const auto proposals = search.propose(16, oracle);
      for (const Proposal& p : proposals) search.observe(p.point, times.seconds(*p.features));
      // Better than two hundred points at random.
      EXPECT_LT(times.seconds(*proposals.front().features), made_quantile(times, 0.02)) << seed;
    }
  }
}

TEST_F(SearchTest, ProposesWhatThePriorHoldsForFastUntilThereIsAModel) {
  std::vector<double> prior;
  for (const auto& f : drawn_.features) prior.push_back(f->prior_seconds);
  std::ranges::sort(prior);
  Search search(task_, space_, {.random_share = 0}, 1);
  const auto model = cost_model("xgboost")({.seed = 1});
  for (const Proposal& p : search.propose(16, *model)) {
    EXPECT_LT(p.features->prior_seconds, prior[prior.size() / 10]);
  }
}

TEST_F(SearchTest, NothingIsProposedTwice) {
  const test::MadeTimes times(drawn_, 1);
  const Oracle oracle(times);
  Search search(task_, space_, {}, 1);
  std::set<std::string> seen;
  for (int round = 0; round < 4; ++round) {
    for (const Proposal& p : search.propose(16, oracle)) {
      EXPECT_TRUE(seen.insert(to_text(p.candidate.trace)).second);
      search.observe(p.point, times.seconds(*p.features));
    }
  }
}

}  // namespace
}  // namespace tw::autotune
