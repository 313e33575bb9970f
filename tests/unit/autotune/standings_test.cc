// SPDX-License-Identifier: Apache-2.0
#include "autotune/standings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tw::autotune {
namespace {

// Records as a log would give them.
class StandingsTest : public testing::Test {
 protected:
  void add(const std::string& trace, double seconds, Origin origin, const std::string& run) {
    Record r;
    r.id = ++last_;
    r.trace = trace;
    r.seconds = {seconds};
    if (std::isinf(seconds)) r.error = ErrorCode::RunCrashed;
    r.origin = origin;
    r.run = run;
    standings_.add(r);
  }
  void trial(const std::string& trace, double seconds, const std::string& run = "1") {
    add(trace, seconds, Origin::Search, run);
  }
  void confirm(const std::string& trace, double seconds, const std::string& run = "1") {
    add(trace, seconds, Origin::Confirm, run);
  }
  std::string best() const {
    const Standings::Entry* e = standings_.best();
    return e == nullptr ? "none" : e->trace;
  }
  static std::string names(const std::vector<Standings::Entry>& entries) {
    std::string all;
    for (const auto& e : entries) all += e.trace;
    return all;
  }
  Standings standings_;
  int64_t last_ = 0;
};

constexpr double kFailed = INFINITY;

TEST_F(StandingsTest, WithoutRacesTheFastestTrialIsBest) {
  EXPECT_EQ(best(), "none");
  trial("a", kFailed);
  EXPECT_EQ(best(), "none");
  trial("b", 3);
  trial("c", 2);
  trial("d", 2);
  trial("b", 1);
  trial("b", kFailed);
  EXPECT_EQ(best(), "b");
  EXPECT_EQ(standings_.best()->record, 5);
  EXPECT_EQ(standings_.best()->seconds, 1);
}

TEST_F(StandingsTest, ALuckyTrialIsFoundOut) {
  trial("lucky", 1);
  trial("good", 2);
  EXPECT_EQ(names(standings_.challenge(2)), "luckygood");
  confirm("lucky", 3);
  confirm("good", 2.1);
  EXPECT_EQ(best(), "good");
  EXPECT_EQ(standings_.best()->seconds, 2.1);
  EXPECT_EQ(standings_.best()->record, 4);
  // Luck does not come back with another run's trial of the same trace.
  trial("lucky", 1, "2");
  EXPECT_EQ(best(), "good");
}

TEST_F(StandingsTest, AnUnconfirmedTimeMustBeClearlyFaster) {
  trial("a", 10);
  trial("b", 11);
  confirm("a", 10);
  confirm("b", 11);
  trial("c", 9);
  EXPECT_EQ(best(), "a");
  EXPECT_EQ(names(standings_.challenge(1)), "ac");
  trial("d", 7);
  EXPECT_EQ(best(), "d");
  EXPECT_EQ(names(standings_.challenge(1)), "ad");
  EXPECT_EQ(names(standings_.challenge(5)), "adc");
}

// The machine was twice as fast while a and b raced as it is later.
TEST_F(StandingsTest, OnlyTimesOfOneRaceAreCompared) {
  trial("a", 10);
  trial("b", 11);
  confirm("a", 10);
  confirm("b", 11);
  trial("c", 9.5);
  confirm("a", 20);
  confirm("c", 18);
  EXPECT_EQ(best(), "c");  // a beat b, and c beat a
  EXPECT_EQ(standings_.best()->seconds, 18);
  // Everybody meets again, with no trial in between.
  confirm("c", 9);
  confirm("b", 8);
  confirm("a", 8.5);
  EXPECT_EQ(best(), "b");
  EXPECT_EQ(names(standings_.finalists(9)), "bac");
}

TEST_F(StandingsTest, RunsThatKnowNothingOfEachOtherAreComparedByTime) {
  for (const auto& [run, seconds] : {std::pair("1", 5.0), {"2", 4.0}, {"3", 6.0}}) {
    trial(std::string("x") + run, seconds, run);
    trial(std::string("y") + run, seconds, run);
    confirm(std::string("x") + run, seconds, run);
    confirm(std::string("y") + run, seconds + 0.5, run);
  }
  EXPECT_EQ(best(), "x2");
}

TEST_F(StandingsTest, AScheduleThatFailsInARaceIsOutAndBeatsNobody) {
  trial("a", 1);
  trial("b", 2);
  confirm("a", 1);
  confirm("b", 2);
  trial("c", 0.9);
  confirm("a", kFailed);
  confirm("c", 3);
  EXPECT_EQ(best(), "b");
  confirm("b", kFailed);
  confirm("c", kFailed);
  EXPECT_EQ(best(), "none");
}

TEST_F(StandingsTest, ARaceThatWasCutOffKeepsItsIncumbent) {
  trial("a", 5);
  trial("b", 6);
  confirm("a", 5);
  confirm("b", 6);
  trial("c", 4.5);
  confirm("a", 5.2);  // and c's time was never known
  EXPECT_EQ(best(), "a");
  trial("d", 4.6, "2");
  confirm("a", 5.5, "2");
  confirm("c", 5, "2");
  EXPECT_EQ(best(), "c");
}

TEST_F(StandingsTest, FieldsHoldTheFastestAndNoMoreThanAskedFor) {
  EXPECT_TRUE(standings_.challenge(3).empty());
  EXPECT_TRUE(standings_.finalists(3).empty());
  for (const auto& [trace, seconds] :
       {std::pair("e", 5.0), {"c", 3.0}, {"a", 1.0}, {"d", 4.0}, {"b", 2.0}, {"x", kFailed}}) {
    trial(trace, seconds);
  }
  EXPECT_EQ(names(standings_.challenge(2)), "abc");
  EXPECT_EQ(names(standings_.finalists(9)), "abcde");
  confirm("a", 2.5);
  confirm("b", 2.6);
  EXPECT_TRUE(standings_.challenge(2).empty());
  EXPECT_EQ(names(standings_.finalists(2)), "abc");
  EXPECT_EQ(names(standings_.finalists(9)), "abcde");
}

// One timing in ten is up to a third too short, and from the middle of every second run on the
// machine is slower: races still find a schedule as good as the best, and single timings do not.
TEST_F(StandingsTest, RacesBeatLuckAndDrift) {
  std::mt19937 rng(1);
  std::uniform_real_distribution<> any(0, 1);
  constexpr int kRuns = 100;
  double by_races = 0, by_trials = 0;  // the truth of the chosen, relative to the best
  for (int run = 0; run < kRuns; ++run) {
    standings_ = {};
    std::vector<double> truth;
    std::pair<double, size_t> fastest{INFINITY, 0};
    const auto timing = [&](size_t k, double luck) {
      return truth[k] * (run % 2 == 0 && truth.size() > 100 ? 1.2 : 1) * (1 - luck * any(rng));
    };
    for (size_t k = 0; k < 200; ++k) {
      truth.push_back(1 + any(rng));
      const double seconds = timing(k, any(rng) < 0.1 ? 0.33 : 0.02);
      fastest = std::min(fastest, {seconds, k});
      trial(std::to_string(k), seconds);
      if (k % 16 != 15 && k != 199) continue;
      const auto field = k == 199 ? standings_.finalists(12) : standings_.challenge(2);
      for (const auto& e : field) confirm(e.trace, timing(std::stoul(e.trace), 0.02));
    }
    const double least = *std::ranges::min_element(truth);
    by_races += truth[std::stoul(best())] / least / kRuns;
    by_trials += truth[fastest.second] / least / kRuns;
  }
  EXPECT_LT(by_races, 1.03);
  EXPECT_GT(by_trials, by_races + 0.05);
}

}  // namespace
}  // namespace tw::autotune
