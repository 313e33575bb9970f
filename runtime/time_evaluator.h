// SPDX-License-Identifier: Apache-2.0
// Timing of a call: with fixed counts, as TVM's time_evaluator counts, or until the answer is
// known well enough. Monotonic clock; every raw sample is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/api.h"
#include "runtime/module.h"

namespace tw {

// A sample is the time of `number` runs in a row, divided by `number`.
struct TimeOptions {
  int64_t number = 10;
  int repeat = 1;            // samples
  double min_repeat_ms = 0;  // a sample that took less is thrown away and `number` goes up
  double cooldown_ms = 0;    // pause after each sample, for processors that throttle
  bool warm_up = true;       // one run before the first sample, not timed
  // Called before each sample, not timed: prepares inputs or empties caches. For a cold-cache time
  // of every run, number must be 1 and min_repeat_ms 0.
  std::function<void()> before_sample;
};

struct TimeResult {
  std::vector<double> seconds;   // of one run, a sample each, in the order taken
  std::vector<int64_t> numbers;  // runs in each sample
  double mean = 0, median = 0, min = 0, max = 0;
  double standard_deviation = 0;  // of the samples; 0 for one
  // Bounds of the median at 95 % confidence, from order statistics: no shape of the distribution is
  // assumed. The whole range when there are fewer than 6 samples, which bound nothing at 95 %.
  double interval_low = 0, interval_high = 0;
  bool converged = false;    // measure_until: the interval became as tight as asked for
  double spent_seconds = 0;  // in total, pauses and preparation included
};

struct AdaptiveOptions {
  double budget_seconds = 0.1;      // stop after the sample that passes it
  double relative_interval = 0.02;  // stop when (high - low) / median is no more than this
  int min_samples = 6;
  int max_samples = 10'000;
  // A sample is made of as many runs as fill this, so that the clock's own cost vanishes.
  double min_sample_seconds = 50e-6;
  bool warm_up = true;
  std::function<void()> before_sample;  // as above; then a sample is one run
  // Asked with the seconds of each sample; once it says so, that sample was the last.
  std::function<bool(double)> enough;
};

// Throws BadArgument for counts that make no sense, and whatever `run` throws.
TW_API TimeResult time_evaluator(const std::function<void()>& run, const TimeOptions& options = {});
TW_API TimeResult measure_until(const std::function<void()>& run,
                                const AdaptiveOptions& options = {});
// The same of a compiled function with these arguments.
TW_API TimeResult time_evaluator(const Function& function, std::span<const CallArgument> arguments,
                                 const TimeOptions& options = {});
TW_API TimeResult measure_until(const Function& function, std::span<const CallArgument> arguments,
                                const AdaptiveOptions& options = {});

// Statistics of samples that were taken elsewhere; fills every field but numbers, converged and
// spent_seconds. Throws BadArgument for none.
TW_API TimeResult summarize(std::vector<double> seconds);

// Takes the memory out of all caches of this machine, for cold-cache timing.
TW_API void flush_from_caches(const void* data, size_t bytes);
TW_API void flush_from_caches(const NDArray& array);

}  // namespace tw
