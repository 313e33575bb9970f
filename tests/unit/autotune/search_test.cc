// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <ranges>
#include <set>
#include <vector>

#include "autotune/learn/cost_models.h"
#include "autotune/log/replay.h"
#include "autotune/search/variants.h"
#include "autotune/task/workloads.h"
#include "schedule/te/text.h"
#include "tests/unit/autotune/made_times.h"

namespace tw::autotune {
namespace {

using made::Oracle;

class SearchTest : public testing::Test {
 protected:
  // What the prior says is of one kind of machine, whichever this is.
  Task task_ = make_task(parse_workload("gemm:m=48,n=96,k=64").program,
                         Target::parse("llvm -mcpu=sapphirerapids"), 1, "gemm");
  Space space_{task_};
  made::Drawn drawn_ = made::draw(task_, space_, 200, 1);

  double made_quantile(const made::MadeTimes& times, double q) const {
    std::vector<double> seconds;
    for (const auto& f : drawn_.features) seconds.push_back(times.seconds(*f));
    std::ranges::sort(seconds);
    return seconds[static_cast<size_t>(q * static_cast<double>(seconds.size()))];
  }
};

using SearchTestStudy = SearchTest;  // not under sanitizers (tests/README.md)

TEST_F(SearchTest, ProposesTheFittestOfAllItLookedAt) {
  constexpr size_t kBatch = 16;
  const made::MadeTimes times(drawn_, 1);
  Oracle oracle(times);
  Search search(task_, space_,
                {.neighbour_share = 0,
                 .hope_share = 0,
                 .rival_share = 0,
                 .random_share = 0,
                 .distinct_programs = false},
                1);
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

TEST_F(SearchTestStudy, EvolutionFindsWhatChanceDoesNot) {
  for (const uint64_t seed : {1, 2, 3}) {
    const made::MadeTimes times(drawn_, seed);
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

// The prior holds one way of storing for much the fastest.
TEST_F(SearchTest, TheFirstBatchTriesEachWayOfDoingAThing) {
  const Task task = make_task(parse_workload("transpose:m=1024,n=1024").program,
                              Target::parse("llvm -mcpu=znver4"), 1, "transpose");
  const Space space(task);
  Search search(task, space, {.random_share = 0}, 1);
  std::set<std::vector<int64_t>> ways, possible;
  for (const Proposal& p : search.propose(16, *cost_model("prior")({.seed = 1}))) {
    const std::vector<Knob>& knobs = space.sketches()[p.point.sketch].knobs;
    for (size_t k = 0; k < knobs.size(); ++k) {
      if (knobs[k].kind != Knob::Kind::Store) continue;
      ways.insert(knobs[k].choices[p.point.choice[k]]);
      possible.insert(knobs[k].choices.begin(), knobs[k].choices.end());
    }
  }
  EXPECT_GE(possible.size(), 2u);
  EXPECT_EQ(ways, possible);
}

TEST_F(SearchTest, NothingIsProposedTwice) {
  const made::MadeTimes times(drawn_, 1);
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

TEST_F(SearchTest, NoProgramIsProposedTwice) {
  const made::MadeTimes times(drawn_, 1);
  const Oracle oracle(times);
  Search search(task_, space_, {}, 1);
  std::set<std::string> programs;
  size_t proposed = 0;
  for (int round = 0; round < 3; ++round) {
    for (const Proposal& p : search.propose(16, oracle)) {
      const Schedule schedule = space_.schedule(p.point);
      programs.insert(ir_hash(
          lower_program(task_.program, schedule, te::constants_of(task_.program), task_.target, "k")
              .entry()));
      search.observe(p.point, times.seconds(*p.features));
      ++proposed;
    }
  }
  EXPECT_EQ(proposed, 48u);
  EXPECT_EQ(programs.size(), proposed);
}

// The number of knobs in which points of one sketch differ.
size_t apart(const Point& a, const Point& b) {
  if (a.sketch != b.sketch) return a.choice.size() + b.choice.size();
  size_t n = 0;
  for (size_t k = 0; k < a.choice.size(); ++k) n += a.choice[k] != b.choice[k];
  return n;
}

TEST_F(SearchTest, NearTheEndOfTheBudgetKnobsOfTheFastestAreChangedOneByOne) {
  const made::MadeTimes times(drawn_, 1);
  const Oracle oracle(times);
  const auto stepped = [&](double spent) {
    Search search({.task = task_,
                   .space = space_,
                   .options = {.neighbour_share = 0, .random_share = 0, .descent_share = 0.5},
                   .seed = 1,
                   .budget = [&] { return Budget{.trials_left = 16, .spent = spent}; }});
    // The fastest is slow by features, so that only descent leads to what is next to it.
    std::vector<size_t> order(drawn_.points.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, std::greater{},
                      [&](size_t i) { return times.seconds(*drawn_.features[i]); });
    std::vector<Point> fastest;
    for (size_t k = 0; k < 40; ++k) {
      search.observe(drawn_.points[order[k]], static_cast<double>(k + 1));
      if (k < 3) fastest.push_back(drawn_.points[order[k]]);
    }
    const auto proposals = search.propose(16, oracle);
    EXPECT_EQ(proposals.size(), 16u);
    std::set<Point> distinct;
    for (const Proposal& p : proposals) EXPECT_TRUE(distinct.insert(p.point).second);
    return std::ranges::count_if(proposals, [&](const Proposal& p) {
      return std::ranges::any_of(fastest, [&](const Point& f) { return apart(f, p.point) == 1; });
    });
  };
  EXPECT_GE(stepped(0.9), 8);
  EXPECT_LT(stepped(0.5), 8);
}

// Within one knob of the fastest lies the best of all.
TEST_F(SearchTest, DescentFindsTheBestNeighbourWhoeverMisleads) {
  const Point start = drawn_.points[0];
  const std::vector<Point> all = space_.neighbours(start);
  ASSERT_GT(all.size(), 8u);
  EXPECT_TRUE(std::ranges::all_of(all, [&](const Point& p) { return apart(start, p) == 1; }));
  EXPECT_EQ(std::set<Point>(all.begin(), all.end()).size(), all.size());
  Search search({.task = task_,
                 .space = space_,
                 .options = {.descent_from = 0, .descent_share = 1, .distinct_programs = false},
                 .seed = 1,
                 .budget = [] { return Budget{.spent = 1}; }});
  const auto model = make_random_model(1);
  search.observe(start, 1);
  search.observe(drawn_.points[1], INFINITY);
  std::set<Point> seen;
  for (size_t batch = 0; batch < 2 * all.size(); batch += 64) {
    for (const Proposal& p : search.propose(64, *model)) {
      seen.insert(p.point);
      search.observe(p.point, 2);
    }
  }
  size_t legal = 0, found = 0;
  for (const Point& p : all) {
    try {
      extract_features(task_, space_.schedule(p));
    } catch (const UserError&) {
      continue;
    }
    ++legal;
    found += seen.contains(p);
  }
  // The rest are blind draws, and neighbours of what was proposed.
  EXPECT_GT(static_cast<double>(found), 0.4 * static_cast<double>(legal));
}

// Two models of one opinion, of which one doubts what it says of short loops.
class Doubting : public CostModel {
 public:
  explicit Doubting(double doubt) : doubt_(doubt) {}
  void train(const std::vector<Sample>&) override {}
  bool trained() const override { return true; }
  std::vector<double> predict(const std::vector<const Features*>& candidates) const override {
    std::vector<double> scores;
    for (const Features* f : candidates) scores.push_back(-std::log(f->prior_seconds));
    return scores;
  }
  Opinion opinion(const std::vector<const Features*>& candidates) const override {
    Opinion result{.score = predict(candidates)};
    for (const Features* f : candidates) result.deviation.push_back(unlikely(*f) ? doubt_ : 0);
    return result;
  }
  static bool unlikely(const Features& f) { return f.rows.at(kColumn) % 3 == 0; }
  static constexpr size_t kColumn = 1;

 private:
  double doubt_;
};

TEST_F(SearchTest, ExploresAsFarAsTheModelDoubts) {
  const auto unlikely = [&](double doubt) {
    Search search(task_, space_, {.neighbour_share = 0, .hope_share = 0.5, .random_share = 0}, 1);
    for (size_t k = 0; k < 4; ++k) search.observe(drawn_.points[k], 1);
    size_t count = 0;
    for (const Proposal& p : search.propose(16, Doubting(doubt))) {
      count += Doubting::unlikely(*p.features);
    }
    return count;
  };
  EXPECT_LT(unlikely(0), 8u);
  EXPECT_GE(unlikely(100), 8u) << "half of the batch is what may be fastest";
}

// What other tasks taught may be the opposite of the truth.
class Misled : public Doubting {
 public:
  Misled() : Doubting(0.1) {}
  std::vector<double> predict(const std::vector<const Features*>& candidates) const override {
    std::vector<double> scores = Doubting::predict(candidates);
    for (double& s : scores) s = -s;
    return scores;
  }
};

// What the task's own trials taught may be the opposite of the truth too.
class Mistaught : public Misled {
 public:
  bool has_base() const override { return true; }
  Opinion opinion(const std::vector<const Features*>& candidates) const override {
    Opinion result = Misled::opinion(candidates);
    result.base = Doubting::predict(candidates);
    return result;
  }
};

TEST_F(SearchTest, AShareIsWhatWasHeldForFastestBefore) {
  std::vector<double> prior;
  for (const auto& f : drawn_.features) prior.push_back(f->prior_seconds);
  std::ranges::sort(prior);
  const auto fast = [&](const CostModel& model, double share) {
    Search search(task_, space_,
                  {.neighbour_share = 0, .hope_share = 0, .base_share = share, .random_share = 0},
                  1);
    for (size_t k = 0; k < 4; ++k) search.observe(drawn_.points[k], 1);
    size_t count = 0;
    for (const Proposal& p : search.propose(16, model)) {
      count += p.features->prior_seconds < prior[prior.size() / 10];
      EXPECT_EQ(p.candidate.predicted, model.predict({p.features.get()})[0])
          << "whatever ranks, the record says what the model thinks";
    }
    return count;
  };
  EXPECT_EQ(fast(Mistaught(), 0), 0u);
  EXPECT_EQ(fast(Mistaught(), 0.25), 4u);
  EXPECT_EQ(fast(Misled(), 0.25), 0u) << "a model without a base ranks alone";
}

TEST_F(SearchTest, HalfOfTheFirstBatchIsThePriors) {
  std::vector<double> prior;
  for (const auto& f : drawn_.features) prior.push_back(f->prior_seconds);
  std::ranges::sort(prior);
  const auto fast = [&](const CostModel& model) {
    Search search(task_, space_, {.random_share = 0}, 1);
    return std::ranges::count_if(search.propose(16, model), [&](const Proposal& p) {
      return p.features->prior_seconds < prior[prior.size() / 4];
    });
  };
  EXPECT_GE(fast(Misled()), 6);
  EXPECT_LE(fast(Misled()), 12) << "the other half is the model's";
  EXPECT_GE(fast(Doubting(0.1)), 14);
}

TEST_F(SearchTest, SomeAreChosenBlindly) {
  const made::MadeTimes times(drawn_, 1);
  const Oracle oracle(times);
  Search search(task_, space_, {.random_share = 0.25}, 1);
  const auto proposals = search.propose(16, oracle);
  EXPECT_EQ(std::ranges::count_if(
                proposals, [](const auto& p) { return p.candidate.origin == Origin::Random; }),
            4);
}

TEST_F(SearchTest, ClimbsFromTheFastestMeasured) {
  const made::MadeTimes times(drawn_, 1);
  const Oracle oracle(times);
  Search search(task_, space_, {.neighbour_share = 1, .hope_share = 0, .random_share = 0}, 1);
  std::vector<std::pair<double, Point>> measured;
  for (size_t k = 0; k < 40; ++k) {
    measured.emplace_back(static_cast<double>(k + 1), drawn_.points[k]);
    search.observe(drawn_.points[k], measured.back().first);
  }
  size_t near = 0;
  for (const Proposal& p : search.propose(8, oracle)) {
    near += std::ranges::any_of(measured | std::views::take(4), [&](const auto& m) {
      if (m.second.sketch != p.point.sketch) return false;
      size_t changed = 0;
      for (size_t k = 0; k < p.point.choice.size(); ++k) {
        changed += p.point.choice[k] != m.second.choice[k];
      }
      return changed <= 2;  // a step changes one knob, or two
    });
  }
  EXPECT_EQ(near, 8u);
}

// Sketches that are nearly as fast as the fastest one's are looked at in turns, whatever the model
// says of them.
TEST_F(SearchTest, RivalsTakeTurns) {
  ASSERT_EQ(space_.sketches().size(), 3u);
  const auto sketches = [&](double second, double third) {
    Search search(task_, space_,
                  {.neighbour_share = 0, .hope_share = 0, .rival_share = 1, .random_share = 0}, 1);
    std::mt19937_64 rng(1);
    for (size_t k = 0; k < 3; ++k) {
      for (int slower = 0; slower < 3; ++slower) {
        search.observe(space_.random(k, rng), (k == 0 ? 1 : k == 1 ? second : third) + slower);
      }
    }
    search.propose(1, Doubting(0));  // whatever comes first is not known to stand still
    std::vector<std::set<size_t>> of_batches;
    for (int batch = 0; batch < 3; ++batch) {
      of_batches.emplace_back();
      for (const Proposal& p : search.propose(8, Doubting(0))) {
        of_batches.back().insert(p.point.sketch);
      }
    }
    return of_batches;
  };
  using Batches = std::vector<std::set<size_t>>;
  EXPECT_EQ(sketches(1.1, 1.2), (Batches{{1}, {2}, {1}}));
  EXPECT_EQ(sketches(1.1, 1.5), (Batches{{1}, {1}, {1}}));
  EXPECT_EQ(sketches(1.5, 1.2), (Batches{{2}, {2}, {2}}));
}

// What a model doubts is looked at where it differs from all that was proposed.
TEST_F(SearchTest, WhatIsHopedForIsNoVariant) {
  Search search(task_, space_, {.neighbour_share = 0, .hope_share = 1, .random_share = 0}, 1);
  for (size_t k = 0; k < 4; ++k) search.observe(drawn_.points[k], 1);
  Variants variants(drawn_.all());
  size_t found = 0;
  for (const Proposal& p : search.propose(16, Doubting(0))) found += variants.add(*p.features);
  EXPECT_GE(found, 12u);
}

// The fastest candidate is one of those that the prior holds for good, planted by its features, and
// others are the slower the further theirs are: what the tuner does with the model comes closer
// than with scores drawn at random.
TEST_F(SearchTestStudy, APlantedOptimumIsComeCloserToThanByChance) {
  constexpr int kTrials = 128, kBatch = 16;
  std::vector<size_t> order(drawn_.features.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t k) { return drawn_.features[k]->prior_seconds; });
  const auto run = [&](std::string_view model_name, size_t planted, uint64_t seed) {
    const made::Planted times(drawn_, planted);
    const auto model = cost_model(model_name)({.task = &task_, .seed = seed});
    Search search(task_, space_, {.distinct_programs = false}, seed);
    std::vector<Sample> samples;
    std::vector<double> seconds;
    double best = INFINITY;
    for (int trial = 0; trial < kTrials; trial += kBatch) {
      for (const Proposal& p : search.propose(kBatch, *model)) {
        seconds.push_back(times.seconds(*p.features));
        samples.push_back({.features = p.features});
        best = std::min(best, seconds.back());
        search.observe(p.point, seconds.back());
      }
      for (size_t i = 0; i < samples.size(); ++i) samples[i].throughput = best / seconds[i];
      model->train(samples);
    }
    return std::log(best / times.least());
  };
  double learned = 0, by_chance = 0;
  for (const uint64_t seed : {1, 2, 3, 4}) {
    learned += run("xgboost", order[15 * seed], seed);
    by_chance += run("random", order[15 * seed], seed);
  }
  EXPECT_LT(learned, 0.8 * by_chance) << learned / by_chance;
}

}  // namespace
}  // namespace tw::autotune
