// SPDX-License-Identifier: Apache-2.0
// On made curves: what a task's best time would be after each of its trials.
#include "autotune/task_scheduler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tests/support/expect_error.h"

namespace tw::autotune {
namespace {

constexpr int kBatch = 8;
constexpr double kNever = std::numeric_limits<double>::infinity();

struct Curve {
  std::vector<double> best;
  double weight = 1, limit = 0;
};

// From `first` seconds towards `limit` with a power of the number of trials.
Curve falling(double first, double limit, double power, size_t trials = 1000) {
  Curve c{.limit = limit};
  for (size_t t = 1; t <= trials; ++t) {
    c.best.push_back(limit + (first - limit) * std::pow(static_cast<double>(t), -power));
  }
  return c;
}
Curve flat(double seconds, double limit = 0, size_t trials = 1000) {
  return {.best = std::vector<double>(trials, seconds), .limit = limit};
}
// Stands for `stall` trials, and then falls to `last` within twenty.
Curve late(double first, double last, size_t stall) {
  Curve c = flat(first);
  for (size_t t = stall; t < c.best.size(); ++t) {
    const double part = std::min(1.0, static_cast<double>(t - stall) / 20);
    c.best[t] = first + (last - first) * part;
  }
  return c;
}

std::vector<size_t> trials_of(const std::vector<TaskHistory>& tasks) {
  std::vector<size_t> counts;
  for (const TaskHistory& t : tasks) counts.push_back(t.best.size());
  return counts;
}
size_t total(const std::vector<TaskHistory>& tasks) {
  const auto counts = trials_of(tasks);
  return std::accumulate(counts.begin(), counts.end(), size_t{0});
}
double summed(const std::vector<TaskHistory>& tasks) {
  double sum = 0;
  for (const TaskHistory& t : tasks) sum += t.weight * t.best.back();
  return sum;
}

// As the tuner does: a first trial each, then batches. A curve that ends is a space without more.
std::vector<TaskHistory> spend(const std::vector<Curve>& curves, size_t budget,
                               TaskPolicy policy = TaskPolicy::ExpectedGain) {
  std::vector<TaskHistory> tasks;
  for (const Curve& c : curves) {
    tasks.push_back({.weight = c.weight, .limit_seconds = c.limit, .best = {c.best.front()}});
  }
  while (total(tasks) < budget) {
    const auto next = next_task(tasks, kBatch, policy);
    if (!next) break;
    TaskHistory& t = tasks[*next];
    EXPECT_FALSE(t.exhausted);
    const std::vector<double>& all = curves[*next].best;
    for (int k = 0; k < kBatch && total(tasks) < budget && !t.exhausted; ++k) {
      t.best.push_back(all[t.best.size()]);
      t.exhausted = t.best.size() == all.size();
    }
  }
  return tasks;
}

TEST(TaskScheduler, ATaskThatStallsAtFirstIsNotGivenUp) {
  const std::vector<Curve> curves = {falling(1, 0.2, 0.2), late(1, 0.4, 33)};
  const auto tasks = spend(curves, 128);
  EXPECT_LE(tasks[1].best.back(), 0.5) << "after " << tasks[1].best.size() << " trials";
  EXPECT_GT(tasks[0].best.size(), 32u);
}

TEST(TaskScheduler, ATaskAtTheMachinesLimitGetsLittle) {
  const std::vector<Curve> curves = {flat(1.02, 1), flat(1.02, 0.2)};
  const auto tasks = spend(curves, 200);
  EXPECT_LT(5 * tasks[0].best.size(), tasks[1].best.size());
}

TEST(TaskScheduler, ALimitThatIsSlowerThanWhatWasMeasuredIsNoEnd) {
  // What else runs may have slowed the machine when its limit was looked for.
  const auto tasks = spend({flat(1, 3), flat(1, 3)}, 200);
  for (const TaskHistory& t : tasks) EXPECT_GT(t.best.size(), 80u);
}

TEST(TaskScheduler, WeightsAreOftenRunKernels) {
  std::vector<Curve> curves = {falling(1, 0.5, 0.1), falling(1, 0.5, 0.1)};
  const auto equal = trials_of(spend(curves, 200));
  EXPECT_NEAR(static_cast<double>(equal[0]), static_cast<double>(equal[1]), kBatch);
  curves[1].weight = 4;
  const auto uneven = trials_of(spend(curves, 200));
  EXPECT_GT(uneven[1], 2 * uneven[0]);
  // A kernel that takes as long as four runs of another is worth the same.
  std::vector<Curve> longer = {falling(1, 0.5, 0.1), falling(4, 2, 0.1)};
  EXPECT_EQ(trials_of(spend(longer, 200)), uneven);
}

TEST(TaskScheduler, NobodyStarves) {
  std::vector<Curve> curves = {falling(1e3, 1, 0.3), flat(1e-6), flat(1e-6, 1e-6)};
  for (const size_t budget : {100u, 300u, 900u}) {
    for (const size_t count : trials_of(spend(curves, budget))) {
      EXPECT_GT(static_cast<double>(count) + 2 * kBatch, 0.25 * static_cast<double>(budget) / 3)
          << budget;
    }
  }
}

TEST(TaskScheduler, TheWholeBudgetIsSpent) {
  for (const TaskPolicy policy : {TaskPolicy::ExpectedGain, TaskPolicy::Turns}) {
    EXPECT_EQ(total(spend({flat(1), late(2, 1, 20), falling(3, 1, 0.1)}, 123, policy)), 123u);
  }
}

TEST(TaskScheduler, WhatIsExhaustedIsPassedOver) {
  for (const TaskPolicy policy : {TaskPolicy::ExpectedGain, TaskPolicy::Turns}) {
    const auto tasks = spend({falling(9, 1, 0.5, 20), flat(1), flat(1, 0, 3)}, 200, policy);
    EXPECT_EQ(trials_of(tasks), (std::vector<size_t>{20, 177, 3}));
    const auto all = spend({flat(1, 0, 20), flat(1, 0, 30)}, 200, policy);
    EXPECT_EQ(total(all), 50u);
    EXPECT_EQ(next_task(all, kBatch, policy), std::nullopt);
  }
}

TEST(TaskScheduler, ATaskThatNeverWorksDoesNotTakeAll) {
  const auto tasks = spend({flat(kNever), falling(1, 0.1, 0.3), falling(1, 0.1, 0.3)}, 300);
  EXPECT_GT(tasks[0].best.size(), 20u);
  EXPECT_LT(tasks[0].best.size(), 240u);
  EXPECT_EQ(total(spend({flat(kNever), flat(kNever)}, 100)), 100u);
}

TEST(TaskScheduler, ALateFirstScheduleIsWaitedFor) {
  Curve c = flat(1);
  std::fill(c.best.begin(), c.best.begin() + 20, kNever);
  EXPECT_EQ(spend({c, falling(1, 0.5, 0.1)}, 100)[0].best.back(), 1);
}

TEST(TaskScheduler, TurnsAreTurns) {
  const auto counts =
      trials_of(spend({falling(9, 1, 0.5), flat(1), flat(5)}, 240, TaskPolicy::Turns));
  for (const size_t count : counts) EXPECT_NEAR(static_cast<double>(count), 80, kBatch);
}

TEST(ExpectedGain, FollowsTheCurve) {
  const auto gain = [](const Curve& c, size_t trials, int more = kBatch) {
    return expected_gain({.weight = c.weight,
                          .limit_seconds = c.limit,
                          .best = {c.best.begin(), c.best.begin() + static_cast<long>(trials)}},
                         more);
  };
  // Never more than the room, never nothing, more for more trials, less after more of them.
  EXPECT_GT(gain(flat(1), 10), 0);
  EXPECT_LT(gain(flat(1), 10, 1000000), 1);
  EXPECT_GT(gain(flat(1), 10, 16), gain(flat(1), 10));
  EXPECT_LT(gain(flat(1), 40), gain(flat(1), 10));
  // One batch without success changes little; many do.
  EXPECT_GT(gain(flat(1), 9), 0.1 * gain(flat(1), 1));
  EXPECT_LT(gain(flat(1), 513), 0.1 * gain(flat(1), 9));
  // Of two that stand at the same time now, the one that got there lately, and the farther from its
  // limit.
  Curve fell = flat(2);
  std::fill(fell.best.begin() + 60, fell.best.end(), 1);
  EXPECT_GT(gain(fell, 64), gain(flat(1), 64));
  EXPECT_GT(gain(flat(1, 0.2), 64), gain(flat(1, 0.8), 64));
}

TEST(TaskScheduler, ShortensTheSumMoreThanTurnsDo) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::mt19937 rng(seed);
    const auto uniform = [&](double from, double to) {
      return from + (to - from) * static_cast<double>(rng()) / static_cast<double>(rng.max());
    };
    std::vector<Curve> curves;
    for (int k = 0; k < 10; ++k) {
      const double limit = std::exp(uniform(-3, 0));
      curves.push_back(falling(limit * uniform(1.2, 4), limit, uniform(0.02, 0.3)));
      curves.back().weight = std::floor(uniform(1, 7));
    }
    for (const size_t budget : {200u, 500u}) {
      EXPECT_LT(summed(spend(curves, budget)), summed(spend(curves, budget, TaskPolicy::Turns)))
          << seed;
    }
  }
}

TEST(TaskPolicy, HasNames) {
  EXPECT_EQ(parse_task_policy("turns"), TaskPolicy::Turns);
  EXPECT_EQ(parse_task_policy("expected_gain"), TaskPolicy::ExpectedGain);
  test::expect_error(ErrorCode::BadArgument, [] { parse_task_policy("gradient"); });
}

}  // namespace
}  // namespace tw::autotune
