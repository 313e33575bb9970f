// SPDX-License-Identifier: Apache-2.0
// One run of the tuner, watched: the curve of the best time, where the seconds went, and resident
// memory of the tuner and its workers.
#include <fmt/format.h>

#include <cmath>

#include "autotune/task/workloads.h"
#include "autotune/tuner.h"
#include "bench/sections.h"
#include "runtime/machine.h"

namespace tw::bench {

void measure_tuning(const Options& options, Results& results) {
  const int threads = options.count("threads", 1);
  std::vector<autotune::Task> tasks;
  for (const std::string& text : options.list("workload", "")) {
    const autotune::Workload workload = autotune::parse_workload(text);
    tasks.push_back(
        autotune::make_task(workload.program, options.target(), threads, workload.text));
  }
  autotune::TunerOptions tuner;
  tuner.trials = options.count("trials", 64);
  tuner.batch = options.count("batch", 0);
  tuner.seed = static_cast<uint64_t>(options.count("seed", 0));
  tuner.model = autotune::cost_model(options.text("model", "xgboost"));
  tuner.time_limit = options.number("time-limit", 0);
  tuner.resume = options.flag("resume");
  tuner.measure.run_budget = options.number("run-budget", tuner.measure.run_budget);
  tuner.command = "bench";
  autotune::Log log(options.text("log", "bench.db"), autotune::Log::Mode::Write);

  nlohmann::json curve = nlohmann::json::array(), memory = nlohmann::json::array();
  // Looking for children among all processes takes a millisecond or two.
  const int stride = std::max(tuner.trials / 32, 1);
  const auto watch = [&](const autotune::TunerEvent& event) {
    if (event.record == nullptr) return;
    const autotune::Record& r = *event.record;
    curve.push_back({{"task", event.task},
                     {"trial", event.trial},
                     {"elapsed", r.elapsed_seconds},
                     {"compile", r.compile_seconds},
                     {"seconds", r.ok() ? nlohmann::json(r.median()) : nlohmann::json()},
                     {"origin", autotune::to_string(r.origin)},
                     {"error", r.error ? nlohmann::json(to_string(*r.error)) : nlohmann::json()}});
    if (event.trial % stride == 0) {
      memory.push_back({event.trial, resident_bytes(), resident_bytes_of_children()});
    }
  };
  const autotune::TunerReport report = autotune::tune(tasks, log, tuner, watch);

  nlohmann::json summaries = nlohmann::json::array();
  int trials = 0;
  for (size_t i = 0; i < report.tasks.size(); ++i) {
    const autotune::TaskSummary& t = report.tasks[i];
    trials += t.trials;
    summaries.push_back({{"workload", t.name},
                         {"operations", tasks[i].operations},
                         {"untuned", t.untuned_seconds},
                         {"best", t.best_seconds},
                         {"trials", t.trials},
                         {"failures", t.failures}});
  }
  results.fact("tasks", summaries);
  results.fact("curve", curve);
  results.fact("memory", memory);
  results.fact("trials", trials);
  results.fact("threads", threads);
  results.fact("seed", tuner.seed);
  results.fact("model", options.text("model", "xgboost"));
  results.fact("workers", tuner.measure.workers > 0 ? tuner.measure.workers : host().usable_cpus);
  results.fact("run_budget", tuner.measure.run_budget);
  results.fact("stopped", report.stopped);
  results.fact("seconds", {{"total", report.seconds},
                           {"search", report.search_seconds},
                           {"train", report.train_seconds},
                           {"compile_wall", report.timings.compile_wall},
                           {"compile_cpu", report.timings.compile_cpu},
                           {"run", report.timings.run},
                           {"reference", report.timings.reference},
                           {"race", report.timings.race}});
}

}  // namespace tw::bench
