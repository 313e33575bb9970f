// SPDX-License-Identifier: Apache-2.0
#include "bench/google_benchmark.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sched.h>

#include <chrono>
#include <map>
#include <optional>

#include "runtime/error.h"
#include "runtime/machine.h"
#include "runtime/thread_placement.h"

namespace tw::bench {
namespace {

// A run longer than this is timed alone and fewer times.
constexpr double kSlowSeconds = 0.2;
constexpr int kSlowRepetitions = 3;

class Collector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred) {
        raise({.code = ErrorCode::Internal,
               .what = fmt::format("{}: {}", run.benchmark_name(), run.error_message)});
      }
      if (run.run_type != Run::RT_Iteration || run.iterations == 0) continue;
      samples_[run.run_name.function_name].push_back(run.real_accumulated_time /
                                                     static_cast<double>(run.iterations));
    }
  }
  std::vector<double> take(const std::string& name) { return std::move(samples_[name]); }

 private:
  std::map<std::string, std::vector<double>> samples_;
};

// While it lives, this thread stays on the last CPU that it may use; the first one tends to be
// asked for the devices' work.
class StaysOnOneCpu {
 public:
  StaysOnOneCpu() {
    if (host().affinity.empty() || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(host().affinity.back()), &one);
    moved_ = sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~StaysOnOneCpu() {
    if (moved_) restore_affinity(0, before_);
  }
  StaysOnOneCpu(const StaysOnOneCpu&) = delete;
  StaysOnOneCpu& operator=(const StaysOnOneCpu&) = delete;

 private:
  cpu_set_t before_;
  bool moved_ = false;
};

void run_each(benchmark::State& state, const Subject& subject) {
  for (auto _ : state) {
    subject.prepare();
    const auto start = std::chrono::steady_clock::now();
    subject.run();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    state.SetIterationTime(time.count());
  }
}

void run_many(benchmark::State& state, const Subject& subject) {
  if (subject.prepare) subject.prepare();
  if (subject.slow_seconds < kSlowSeconds) subject.run();  // warm: caches, pools
  for (auto _ : state) subject.run();
}

}  // namespace

void time_interleaved(const std::vector<Subject>& subjects, const Repetition& repetition,
                      Results& results) {
  std::vector<std::string> words = {"tilewright-bench",
                                    "--benchmark_enable_random_interleaving=true",
                                    fmt::format("--benchmark_repetitions={}", repetition.count),
                                    fmt::format("--benchmark_min_time={:f}", repetition.seconds)};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());

  benchmark::ClearRegisteredBenchmarks();
  for (const Subject& subject : subjects) {
    auto* registered =
        benchmark::RegisterBenchmark(subject.name.c_str(), [&subject](benchmark::State& state) {
          std::optional<StaysOnOneCpu> stays;
          if (subject.threads == 1) stays.emplace();
          subject.prepare_each ? run_each(state, subject) : run_many(state, subject);
        });
    subject.prepare_each ? registered->UseManualTime() : registered->UseRealTime();
    registered->Unit(benchmark::kSecond);
    if (subject.slow_seconds >= kSlowSeconds) {
      registered->Iterations(1)->Repetitions(std::min(kSlowRepetitions, repetition.count));
    }
  }
  Collector collector;
  if (repetition.count > 0) benchmark::RunSpecifiedBenchmarks(&collector, ".");
  for (const Subject& subject : subjects) {
    std::vector<double> samples = collector.take(subject.name);
    for (double& s : samples) s /= subject.parts;
    for (const auto& [name, labels] : subject.also) {
      results.add({.name = name, .samples = samples, .labels = labels});
    }
    results.add({.name = subject.name, .samples = std::move(samples), .labels = subject.labels});
  }
}

}  // namespace tw::bench
