// SPDX-License-Identifier: Apache-2.0
// The best schedules of several logs, timed again side by side: what tuning runs found, compared
// without the noise of the hours at which each of them measured it. `--after=1;16` also takes the
// best of each run's first trial, which is the prior's schedule, and of its first sixteen.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "autotune/log/log.h"
#include "bench/contestant.h"
#include "bench/google_benchmark.h"
#include "bench/sections.h"

namespace tw::bench {

namespace {

// Where its arrays lie makes a kernel up to a tenth slower, and not every kernel where it does
// another: all are timed with several sets of arrays in turn.
constexpr size_t kPlaces = 3;

// A schedule with each of those sets.
class Winner {
 public:
  Winner(const std::vector<Problem>& places, const autotune::Task& task, const Trace& trace) {
    for (const Problem& p : places) in_places_.push_back(make_ours("winner", p, task, trace));
  }
  void prepare() {
    std::ranges::rotate(in_places_, in_places_.begin() + 1);
    in_places_.front()->prepare();
  }
  void run() { in_places_.front()->run(); }

 private:
  std::vector<std::unique_ptr<Contestant>> in_places_;
};

// Of the log's first `trials`; of all of them, with their races, where that is nothing.
std::optional<autotune::Record> best_of(const autotune::Log& log, const autotune::Task& task,
                                        std::optional<size_t> trials) {
  if (!trials) return log.best(task.workload, task.target_text, task.threads);
  std::vector<autotune::Record> records =
      log.records(task.workload, task.target_text, task.threads);
  records.resize(std::min(records.size(), *trials));
  const auto best = std::ranges::min_element(records, {}, &autotune::Record::median);
  return best == records.end() || !best->ok() ? std::nullopt : std::optional(*best);
}

}  // namespace

void measure_winners(const Options& options, Results& results) {
  std::mt19937 rng(1);
  std::vector<Problem> places;
  while (places.size() < kPlaces) places.push_back(make_problem(options.text("workload"), rng));
  const Problem& problem = places.front();
  const autotune::Task task =
      autotune::make_task(problem.workload.program, options.target(), options.count("threads", 1),
                          problem.workload.label);
  // Runs that found the same schedule share its time.
  std::map<std::string, nlohmann::json> runs_of;
  std::vector<std::optional<size_t>> trials{std::nullopt};
  for (const std::string& count : options.list("after", "")) trials.push_back(std::stoul(count));
  for (const std::string& path : options.list("logs", "")) {
    const autotune::Log log(path, autotune::Log::Mode::Read);
    for (const std::optional<size_t> first : trials) {
      if (const auto best = best_of(log, task, first)) {
        runs_of[best->trace].push_back({path, first ? nlohmann::json(*first) : nlohmann::json()});
      }
    }
  }
  std::vector<Subject> subjects;
  for (const auto& [trace_text, runs] : runs_of) {
    const Trace trace = parse_trace(trace_text);
    const auto winner = std::make_shared<Winner>(places, task, trace);
    subjects.push_back({.name = fmt::format("{:016x}", trace_hash(trace)),
                        .run = [winner] { winner->run(); },
                        .prepare = [winner] { winner->prepare(); },
                        .threads = task.threads,
                        .labels = {{"runs", runs}}});
  }
  results.fact("operations", problem.operations);
  results.fact("shape", problem.workload.shape);
  const bool quick = options.flag("quick");
  time_interleaved(subjects, {.count = quick ? 5 : 9, .seconds = quick ? 0.03 : 0.1}, results);
}

}  // namespace tw::bench
