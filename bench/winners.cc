// SPDX-License-Identifier: Apache-2.0
// The best schedules of several logs, timed again side by side: what tuning runs found, compared
// without the noise of the hours at which each of them measured it.
#include <fmt/format.h>

#include <random>

#include "autotune/log.h"
#include "bench/contestant.h"
#include "bench/google_benchmark.h"
#include "bench/sections.h"
#include "runtime/thread_pool.h"

namespace tw::bench {

void measure_winners(const Options& options, Results& results) {
  std::mt19937 rng(1);
  const Problem problem = make_problem(options.text("workload"), rng);
  const autotune::Task task =
      autotune::make_task(problem.workload.program, options.target(), options.count("threads", 1),
                          problem.workload.label);
  std::vector<Subject> subjects;
  for (const std::string& path : options.list("logs", "")) {
    const autotune::Log log(path, autotune::Log::Mode::Read);
    const auto best = log.best(task.workload, task.target_text, task.threads);
    if (!best) continue;
    const std::shared_ptr<Contestant> winner =
        make_ours("winner", problem, task, parse_trace(best->trace));
    subjects.push_back({.name = path,
                        .run = [winner] { winner->run(); },
                        .prepare = [winner] { winner->prepare(); },
                        .labels = {{"log", path}, {"logged", best->median()}}});
  }
  results.fact("operations", problem.operations);
  const bool quick = options.flag("quick");
  time_interleaved(subjects, {.count = quick ? 5 : 9, .seconds = quick ? 0.03 : 0.1}, results);
}

}  // namespace tw::bench
