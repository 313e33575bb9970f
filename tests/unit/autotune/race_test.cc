// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tw::autotune {
namespace {

// Runs a race of kernels with these times. Besides noise of its own each visit has what the whole
// round has, as on a machine that others use, too.
void run(Race& race, const std::vector<double>& times, double spread, uint64_t seed,
         int most = 1000) {
  std::mt19937_64 random(seed);
  std::normal_distribution<> own(0, spread), common(0, 0.2);
  while (!race.running().empty() && most-- > 0) {
    const double load = std::exp(common(random));
    std::vector<double> seconds;
    for (size_t k : race.running()) seconds.push_back(times[k] * load * std::exp(own(random)));
    race.add(seconds);
  }
}

struct Outcomes {
  double settled = 0, wrong = 0, rounds = 0;  // shares of the races; the mean number of rounds
};
Outcomes outcomes(const std::vector<double>& times, double spread, RaceOptions options = {}) {
  constexpr int kRaces = 1000;
  const double least = *std::ranges::min_element(times);
  Outcomes result;
  for (uint64_t seed = 0; seed < kRaces; ++seed) {
    Race race(times.size(), options);
    run(race, times, spread, seed);
    const size_t leader = race.leader().value();
    result.rounds += static_cast<double>(race.seconds(leader).size()) / kRaces;
    if (!race.settled()) continue;
    result.settled += 1.0 / kRaces;
    // The second factor is for rounding in made times that differ by exactly a tie.
    if (times[leader] * (1 - options.tie) > least * (1 + 1e-9)) result.wrong += 1.0 / kRaces;
  }
  return result;
}

TEST(RaceTest, SettledRacesAreWrongAsRarelyAsTheySay) {
  for (double spread : {0.002, 0.01, 0.05}) {
    for (const std::vector<double>& times :
         {std::vector<double>{1, 1.0102}, {1.02, 1.05, 1}, {1.012, 1.012, 1, 1.012, 1.012}}) {
      EXPECT_LE(outcomes(times, spread, {.error = 0.05}).wrong, 0.05) << spread;
    }
  }
}

TEST(RaceTest, DifferencesOfAFewPerCentAreSeen) {
  const Outcomes found = outcomes({1.04, 1, 1.08, 1.3}, 0.01);
  EXPECT_GE(found.settled, 0.99);
  EXPECT_LE(found.wrong, 0.01);
  EXPECT_LE(found.rounds, 25);
}

TEST(RaceTest, EqualOnesEndAsATie) {
  const Outcomes found = outcomes({1, 1.001, 1}, 0.005);
  EXPECT_GE(found.settled, 0.95);
  EXPECT_LE(found.rounds, 40);
}

TEST(RaceTest, WhoIsFarBehindIsOutAfterAFewRounds) {
  Race race(3);
  run(race, {1, 1, 2.5}, 0.01, 1, 4);
  EXPECT_EQ(race.running(), (std::vector<size_t>{0, 1}));
  EXPECT_LE(race.seconds(2).size(), 4u);
}

TEST(RaceTest, NoiseLeavesItUnsettledAfterTheLastRound) {
  Race race(2, {.most_rounds = 8});
  run(race, {1, 1.01}, 0.05, 1);
  EXPECT_FALSE(race.settled());
  EXPECT_TRUE(race.running().empty());
  EXPECT_EQ(race.seconds(0).size(), 8u);
  EXPECT_TRUE(race.leader());
}

TEST(RaceTest, TheLeaderOfAnUnsettledRaceHasTheLeastMedian) {
  Race race(3);
  for (const std::vector<double>& round : {std::vector<double>{3, 2, 4}, {3, 9, 4}, {3, 2, 1}})
    race.add(round);
  EXPECT_FALSE(race.settled());
  EXPECT_EQ(race.leader(), 1u);
}

// Lucky in a few rounds more than half of them, and then by much: the least median, and still not
// who should replace what is known to work.
TEST(RaceTest, TheIncumbentStaysWhereRoundsDoNotSpeakAgainstIt) {
  for (const std::optional<size_t> incumbent :
       {std::optional<size_t>(0), std::optional<size_t>()}) {
    Race race(2, {.incumbent = incumbent});
    for (int k = 0; k < 12; ++k) race.add(k < 5 ? std::vector{1.0, 1.03} : std::vector{1.0, 0.97});
    EXPECT_FALSE(race.settled());
    EXPECT_EQ(race.leader(), incumbent ? 0u : 1u);
  }
}

TEST(RaceTest, TheIncumbentYieldsToWhoIsFasterInMostRounds) {
  for (const int rounds : {1, 5, 15}) {  // few rounds fit into the budget of a slow kernel
    Race race(2, {.incumbent = 0});
    for (int k = 0; k < rounds; ++k) {
      race.add(k % 5 == 3 ? std::vector{1.0, 1.01} : std::vector{1.0, 0.95});
    }
    EXPECT_EQ(race.leader(), 1u) << rounds;
  }
}

TEST(RaceTest, OnlyWhoIsFasterByMoreThanATieReplacesTheIncumbent) {
  const auto kept = [](double challenger) {
    int won = 0;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      Race race(3, {.incumbent = 2});
      run(race, {1, challenger, 1}, 0.005, seed);
      won += race.leader() == 2u ? 1 : 0;
    }
    return won;
  };
  EXPECT_GE(kept(1), 95);
  EXPECT_GE(kept(0.993), 95);
  EXPECT_LE(kept(0.97), 5);
}

TEST(RaceTest, WhoWithdrawsCannotWin) {
  Race race(2);
  run(race, {1, 1.1}, 0.01, 1, 2);
  race.withdraw(0);
  EXPECT_TRUE(race.settled());
  EXPECT_EQ(race.leader(), 1u);
  race.withdraw(1);
  EXPECT_EQ(race.leader(), std::nullopt);
}

TEST(RaceTest, OfOneOrNoneThereIsNothingToRun) {
  EXPECT_TRUE(Race(1).running().empty());
  EXPECT_TRUE(Race(0).running().empty());
  EXPECT_EQ(Race(1).leader(), std::nullopt);
}

Record record(double seconds, const std::string& hash, Origin origin = Origin::Search) {
  Record r;
  r.seconds = std::vector<double>(8, seconds);
  r.ir_hash = hash;
  r.origin = origin;
  return r;
}

TEST(RaceTest, HasItsTimeAndSomeRoundsThatTakeNotTooLong) {
  EXPECT_TRUE(has_time(100, 0.05, 0.1));
  EXPECT_FALSE(has_time(100, 0.15, 0.1));
  EXPECT_TRUE(has_time(6, 0.15, 0.1));  // of kernels of some milliseconds
  EXPECT_FALSE(has_time(12, 0.29, 0.1));
  EXPECT_FALSE(has_time(6, 0.31, 0.1));  // of slower ones yet
  EXPECT_TRUE(has_time(1, 0.31, 0.4));
}

TEST(Contenders, AreThoseThatMayBeFirstAndThePrior) {
  std::vector<Record> records = {record(2, "a", Origin::Prior), record(1, "b"), record(1.5, "c"),
                                 record(1.02, "d"), record(0.99, "e")};
  EXPECT_EQ(contenders(records), (std::vector<size_t>{0, 4, 1}));
  // An interval that reaches down to the others'.
  records[2].seconds[0] = records[2].seconds[1] = 0.9;
  EXPECT_EQ(contenders(records), (std::vector<size_t>{0, 4, 1, 2}));
}

TEST(Contenders, AreNotWrongOrTheSameKernelTwice) {
  std::vector<Record> records = {record(1, "a"), record(0.9, "b"), record(1.01, "a"),
                                 record(1, "c", Origin::Prior)};
  records[1].error = ErrorCode::WrongResult;
  EXPECT_EQ(contenders(records), (std::vector<size_t>{3, 0}));
  records[3].ir_hash = "a";
  EXPECT_EQ(contenders(records), (std::vector<size_t>{3}));
  EXPECT_TRUE(contenders({}).empty());
}

TEST(Contenders, AreFew) {
  std::vector<Record> records;
  for (int k = 0; k < 20; ++k) records.push_back(record(1, std::to_string(k)));
  EXPECT_EQ(contenders(records).size(), 3u);
  records.push_back(record(2, "prior", Origin::Prior));
  EXPECT_EQ(contenders(records).size(), 4u);
}

}  // namespace
}  // namespace tw::autotune
