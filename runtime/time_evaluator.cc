// SPDX-License-Identifier: Apache-2.0
#include "runtime/time_evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "runtime/error.h"
#include "runtime/machine.h"

namespace tw {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void require(bool legal, std::string_view what, double value, std::string_view range) {
  if (legal) return;
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("{} is {}", what, value),
         .legal = std::string(range)});
}

// Seconds that `number` runs took.
double time_runs(const std::function<void()>& run, int64_t number) {
  const auto start = Clock::now();
  for (int64_t i = 0; i < number; ++i) run();
  return seconds_since(start);
}

// Runs needed to fill `target` seconds, when `number` took `took`: what proportion says, and at
// least a growth of 1.618 so that a noisy clock cannot stall the search.
int64_t more_runs(int64_t number, double took, double target) {
  constexpr double kMost = 1e12;
  const double proportional = took > 0 ? target / (took / static_cast<double>(number)) + 1 : kMost;
  const double grown = static_cast<double>(number) * 1.618 + 1;
  // Far below the clock's resolution proportion overshoots; a hundredfold step is enough.
  const double bounded = std::min(proportional, static_cast<double>(number) * 100);
  return static_cast<int64_t>(std::min(std::max(bounded, grown), kMost));
}

// Reads of sorted samples: the middle, or the mean of the two in the middle.
double median_of(const std::vector<double>& sorted) {
  const size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

// The largest k such that the interval from the k-th least to the k-th largest of n samples holds
// the median with at least 95 %: twice the binomial tail P(X < k), X ~ B(n, ½), is at most 5 %.
// 0 when even the range does not.
size_t interval_rank(size_t n) {
  if (n > 70) {
    const double k = 0.5 * (static_cast<double>(n) - 1.96 * std::sqrt(static_cast<double>(n)));
    return static_cast<size_t>(std::max(1.0, std::floor(k)));
  }
  double probability = std::ldexp(1.0, -static_cast<int>(n));  // P(X = 0)
  double tail = 0;
  for (size_t k = 0;; ++k) {
    tail += probability;  // P(X ≤ k) = P(X < k + 1)
    if (2 * tail > 0.05) return k;
    probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
  }
}

void fill_statistics(TimeResult& result) {
  const std::vector<double>& samples = result.seconds;
  const auto n = static_cast<double>(samples.size());
  std::vector<double> sorted = samples;
  std::ranges::sort(sorted);
  result.min = sorted.front();
  result.max = sorted.back();
  result.median = median_of(sorted);
  result.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
  double squares = 0;
  for (double s : samples) squares += (s - result.mean) * (s - result.mean);
  result.standard_deviation = samples.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
  const size_t rank = std::max<size_t>(interval_rank(sorted.size()), 1);
  result.interval_low = sorted[rank - 1];
  result.interval_high = sorted[sorted.size() - rank];
}

std::function<void()> caller(const Function& function, std::span<const CallArgument> arguments) {
  return [&function, arguments] { function.call(arguments); };
}

}  // namespace

TimeResult summarize(std::vector<double> seconds) {
  if (seconds.empty()) raise({.code = ErrorCode::BadArgument, .what = "there are no samples"});
  TimeResult result;
  result.seconds = std::move(seconds);
  fill_statistics(result);
  return result;
}

TimeResult time_evaluator(const std::function<void()>& run, const TimeOptions& options) {
  require(options.number >= 1, "number", static_cast<double>(options.number), "at least 1");
  require(options.repeat >= 1, "repeat", options.repeat, "at least 1");
  require(options.min_repeat_ms >= 0, "min_repeat_ms", options.min_repeat_ms, "0 or more");
  require(options.cooldown_ms >= 0, "cooldown_ms", options.cooldown_ms, "0 or more");
  const auto start = Clock::now();
  TimeResult result;
  if (options.warm_up) run();
  int64_t number = options.number;
  for (int i = 0; i < options.repeat; ++i) {
    double took = 0;
    for (;;) {
      if (options.before_sample) options.before_sample();
      took = time_runs(run, number);
      if (took * 1e3 >= options.min_repeat_ms) break;
      number = more_runs(number, took, options.min_repeat_ms * 1e-3);
    }
    result.seconds.push_back(took / static_cast<double>(number));
    result.numbers.push_back(number);
    if (options.cooldown_ms > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options.cooldown_ms));
    }
  }
  fill_statistics(result);
  result.spent_seconds = seconds_since(start);
  return result;
}

TimeResult measure_until(const std::function<void()>& run, const AdaptiveOptions& options) {
  require(options.budget_seconds > 0, "budget_seconds", options.budget_seconds, "more than 0");
  require(options.relative_interval >= 0, "relative_interval", options.relative_interval,
          "0 or more");
  require(options.max_samples >= 1, "max_samples", options.max_samples, "at least 1");
  const auto start = Clock::now();
  TimeResult result;
  if (options.warm_up) run();
  int64_t number = 1;
  size_t next_look = std::max<size_t>(static_cast<size_t>(std::max(options.min_samples, 1)), 6);
  for (int i = 0; i < options.max_samples; ++i) {
    if (options.before_sample) options.before_sample();
    double took = time_runs(run, number);
    while (!options.before_sample && took < options.min_sample_seconds &&
           seconds_since(start) < options.budget_seconds) {
      number = more_runs(number, took, options.min_sample_seconds);
      took = time_runs(run, number);
    }
    result.seconds.push_back(took / static_cast<double>(number));
    result.numbers.push_back(number);
    if (options.enough && options.enough(result.seconds.back())) break;
    if (result.seconds.size() >= next_look) {
      fill_statistics(result);
      // Sorting at each sample would be quadratic; a look at every eighth more costs little.
      next_look += 1 + next_look / 8;
      const double width = result.interval_high - result.interval_low;
      if (width <= options.relative_interval * result.median) {
        result.converged = true;
        break;
      }
    }
    if (seconds_since(start) >= options.budget_seconds) break;
  }
  fill_statistics(result);
  result.spent_seconds = seconds_since(start);
  return result;
}

TimeResult time_evaluator(const Function& function, std::span<const CallArgument> arguments,
                          const TimeOptions& options) {
  return time_evaluator(caller(function, arguments), options);
}

TimeResult measure_until(const Function& function, std::span<const CallArgument> arguments,
                         const AdaptiveOptions& options) {
  return measure_until(caller(function, arguments), options);
}

void flush_from_caches(const void* data, size_t bytes) {
  if (bytes == 0) return;
#if defined(__x86_64__)
  constexpr uintptr_t kLine = 64;
  const auto begin = reinterpret_cast<uintptr_t>(data) & ~(kLine - 1);
  const auto end = reinterpret_cast<uintptr_t>(data) + bytes;
  for (uintptr_t line = begin; line < end; line += kLine) {
    _mm_clflush(reinterpret_cast<const void*>(line));
  }
  _mm_mfence();
#else
  // Without such an instruction: read more than the caches hold.
  (void)data;
  const auto size = static_cast<size_t>(
      std::max<int64_t>(2 * std::max(host().l3_bytes, host().l2_bytes), 8 << 20));
  static std::vector<char> other(size, 1);
  volatile char sum = 0;
  for (size_t i = 0; i < size; i += 64) sum = static_cast<char>(sum + other[i]);
#endif
}

void flush_from_caches(const NDArray& array) {
  if (array.size() == 0) return;
  // The lines between the least and the greatest address of the view.
  const int64_t element = int64_t(array.dtype().element_bytes()) * array.dtype().lanes;
  int64_t low = 0, high = 0;
  for (int axis = 0; axis < array.ndim(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const int64_t reach = (array.shape()[i] - 1) * array.strides()[i];
    (reach < 0 ? low : high) += reach;
  }
  flush_from_caches(array.data_as<char>() + low * element,
                    static_cast<size_t>((high - low + 1) * element));
}

}  // namespace tw
