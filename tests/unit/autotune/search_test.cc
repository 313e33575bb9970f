// SPDX-License-Identifier: Apache-2.0
#include "autotune/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "autotune/workloads.h"
#include "tests/unit/autotune/made_times.h"

namespace tw::autotune {
namespace {

// Knows the made times.
class Oracle : public CostModel {
 public:
  explicit Oracle(const test::MadeTimes& times) : times_(times) {}
  void train(const std::vector<Sample>&) override {}
  bool trained() const override { return true; }
  std::vector<double> predict(const std::vector<const Features*>& candidates) const override {
    std::vector<double> scores;
    for (const Features* f : candidates) scores.push_back(-std::log(times_.seconds(*f)));
    return scores;
  }

 private:
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

TEST_F(SearchTest, ProposesWhatTheModelHoldsForFastestFirst) {
  for (const uint64_t seed : {1, 2, 3}) {
    const test::MadeTimes times(drawn_, seed);
    const Oracle oracle(times);
    Search search(task_, space_, {.neighbour_share = 0, .random_share = 0}, seed);
    for (int round = 0; round < 2; ++round) {
      const auto proposals = search.propose(16, oracle);
      ASSERT_EQ(proposals.size(), 16u);
      // The first batch takes sketches in turn.
      if (round > 0) {
        EXPECT_TRUE(std::ranges::is_sorted(
            proposals, std::greater<>(), [](const Proposal& p) { return p.candidate.predicted; }));
      }
      for (const Proposal& p : proposals) {
        EXPECT_EQ(p.candidate.origin, Origin::Search);
        EXPECT_LT(times.seconds(*p.features), made_quantile(times, 0.5));
        search.observe(p.point, times.seconds(*p.features));
      }
      // Evolution finds better points than two hundred at random.
      EXPECT_LT(times.seconds(*proposals.front().features), made_quantile(times, 0.02));
    }
  }
}

TEST_F(SearchTest, ProposesWhatThePriorHoldsForFastUntilThereIsAModel) {
  std::vector<double> prior;
  for (const auto& f : drawn_.features) prior.push_back(f->prior_seconds);
  std::ranges::sort(prior);
  Search search(task_, space_, {.random_share = 0}, 1);
  const auto model = make_cost_model(ModelKind::XGBoost, 1);
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
