// SPDX-License-Identifier: Apache-2.0
// The best schedules of several logs, timed again side by side: what tuning runs found, compared
// without the noise of the hours at which each of them measured it.
#include <fmt/format.h>

#include <map>
#include <random>

#include "autotune/log.h"
#include "bench/contestant.h"
#include "bench/google_benchmark.h"
#include "bench/sections.h"

namespace tw::bench {

void measure_winners(const Options& options, Results& results) {
  std::mt19937 rng(1);
  const Problem problem = make_problem(options.text("workload"), rng);
  const autotune::Task task =
      autotune::make_task(problem.workload.program, options.target(), options.count("threads", 1),
                          problem.workload.label);
  // Runs that found the same schedule share its time.
  std::map<std::string, std::vector<std::string>> logs_of;
  for (const std::string& path : options.list("logs", "")) {
    const autotune::Log log(path, autotune::Log::Mode::Read);
    if (const auto best = log.best(task.workload, task.target_text, task.threads)) {
      logs_of[best->trace].push_back(path);
    }
  }
  std::vector<Subject> subjects;
  for (const auto& [trace_text, logs] : logs_of) {
    const Trace trace = parse_trace(trace_text);
    const std::shared_ptr<Contestant> winner = make_ours("winner", problem, task, trace);
    subjects.push_back({.name = fmt::format("{:016x}", trace_hash(trace)),
                        .run = [winner] { winner->run(); },
                        .prepare = [winner] { winner->prepare(); },
                        .labels = {{"logs", logs}}});
  }
  results.fact("operations", problem.operations);
  results.fact("shape", problem.workload.shape);
  const bool quick = options.flag("quick");
  time_interleaved(subjects, {.count = quick ? 5 : 9, .seconds = quick ? 0.03 : 0.1}, results);
}

}  // namespace tw::bench
