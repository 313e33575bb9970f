// SPDX-License-Identifier: Apache-2.0
// Counts and statistics only: nothing here depends on how fast the machine is.
#include "runtime/time_evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "runtime/error.h"

namespace tw {
namespace {

TEST(TimeEvaluator, RunsAsOftenAsAsked) {
  int runs = 0, prepared = 0;
  const TimeResult r = time_evaluator(
      [&] { ++runs; }, {.number = 7, .repeat = 5, .before_sample = [&] { ++prepared; }});
  EXPECT_EQ(runs, 1 + 7 * 5);
  EXPECT_EQ(prepared, 5);
  EXPECT_EQ(r.seconds.size(), 5u);
  EXPECT_EQ(r.numbers, std::vector<int64_t>(5, 7));
  runs = 0;
  time_evaluator([&] { ++runs; }, {.number = 1, .warm_up = false});
  EXPECT_EQ(runs, 1);
}

TEST(TimeEvaluator, MinimumTimeRaisesTheNumber) {
  int64_t runs = 0;
  const TimeResult r =
      time_evaluator([&] { ++runs; }, {.number = 1, .repeat = 3, .min_repeat_ms = 2});
  for (size_t i = 0; i < r.seconds.size(); ++i) {
    EXPECT_GE(r.seconds[i] * static_cast<double>(r.numbers[i]), 2e-3);
  }
  EXPECT_TRUE(std::ranges::is_sorted(r.numbers));
  EXPECT_GT(r.numbers.back(), 1);  // the first sample may have waited for a processor so long
}

TEST(TimeEvaluator, Statistics) {
  const TimeResult r = summarize({4, 1, 3, 2});
  EXPECT_EQ(r.seconds, (std::vector<double>{4, 1, 3, 2}));
  EXPECT_EQ(r.mean, 2.5);
  EXPECT_EQ(r.median, 2.5);
  EXPECT_EQ(r.min, 1);
  EXPECT_EQ(r.max, 4);
  EXPECT_NEAR(r.standard_deviation, 1.2909944487, 1e-9);
  EXPECT_EQ(r.interval_low, 1);  // four samples bound nothing at 95 %
  EXPECT_EQ(r.interval_high, 4);
  EXPECT_EQ(summarize({5}).standard_deviation, 0);
}

// The ranks of the 95 % sign-test interval, from published tables.
TEST(TimeEvaluator, IntervalOfTheMedian) {
  const std::pair<int, int> table[] = {{6, 1},  {8, 1},   {9, 2},   {10, 2},  {12, 3},
                                       {20, 6}, {30, 10}, {50, 18}, {100, 40}};
  for (const auto& [n, rank] : table) {
    std::vector<double> samples(static_cast<size_t>(n));
    std::iota(samples.begin(), samples.end(), 1.0);
    const TimeResult r = summarize(samples);
    EXPECT_EQ(r.interval_low, rank) << n;
    EXPECT_EQ(r.interval_high, n + 1 - rank) << n;
  }
}

TEST(MeasureUntil, StopsWhenTight) {
  // Any interval is tight enough: it stops at the first look.
  const TimeResult r =
      measure_until([] {}, {.budget_seconds = 100, .relative_interval = 1e9, .min_samples = 8});
  EXPECT_TRUE(r.converged);
  EXPECT_EQ(r.seconds.size(), 8u);
}

TEST(MeasureUntil, StopsWhenTheBudgetIsSpent) {
  int runs = 0;
  const TimeResult r = measure_until(
      [&] { std::this_thread::sleep_for(std::chrono::milliseconds(++runs % 2 ? 2 : 4)); },
      {.budget_seconds = 0.03, .relative_interval = 0});
  EXPECT_FALSE(r.converged);
  EXPECT_GE(r.spent_seconds, 0.03);
  EXPECT_LE(r.seconds.size(), 15u);
  EXPECT_GE(r.seconds.size(), 1u);
  const TimeResult capped =
      measure_until([] {}, {.budget_seconds = 100, .relative_interval = -0.0, .max_samples = 3});
  EXPECT_EQ(capped.seconds.size(), 3u);
}

TEST(MeasureUntil, ColdSamplesAreSingleRuns) {
  std::vector<float> memory(1000);
  const TimeResult r = measure_until(
      [] {}, {.budget_seconds = 1, .relative_interval = 0, .max_samples = 20, .before_sample = [&] {
                flush_from_caches(memory.data(), memory.size() * sizeof(float));
              }});
  EXPECT_EQ(r.numbers, std::vector<int64_t>(r.numbers.size(), 1));
}

TEST(TimeEvaluator, RefusesNonsenseAndPassesErrorsOn) {
  const auto nothing = [] {};
  EXPECT_THROW(time_evaluator(nothing, {.number = 0}), UserError);
  EXPECT_THROW(time_evaluator(nothing, {.repeat = 0}), UserError);
  EXPECT_THROW(time_evaluator(nothing, {.min_repeat_ms = -1}), UserError);
  EXPECT_THROW(measure_until(nothing, {.budget_seconds = 0}), UserError);
  EXPECT_THROW(summarize({}), UserError);
  EXPECT_THROW(time_evaluator([] { throw std::runtime_error("no"); }), std::runtime_error);
}

TEST(TimeEvaluator, FlushingKeepsContents) {
  NDArray a = NDArray::zeros({3, 100}, float_type(32));
  a.data_as<float>()[299] = 7;
  flush_from_caches(a);
  flush_from_caches(a.view(std::vector<int64_t>{300}, std::vector<int64_t>{-1}, 299));
  flush_from_caches(NDArray::zeros({0}, float_type(32)));
  EXPECT_EQ(a.data_as<float>()[299], 7);
}

}  // namespace
}  // namespace tw
