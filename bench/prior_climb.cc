// SPDX-License-Identifier: Apache-2.0
// How long an untuned program waits for its schedule, and what the prior expects of what it finds.
#include <fmt/format.h>

#include <chrono>

#include "autotune/search/prior_schedule.h"
#include "autotune/task/workloads.h"
#include "bench/sections.h"
#include "runtime/thread_pool.h"

namespace tw::bench {
namespace {

std::vector<std::string> all_named() {
  std::vector<std::string> names;
  for (const autotune::NamedWorkload& w : autotune::named_workloads()) {
    names.push_back(fmt::format("{}:{}", w.kind, w.name));
  }
  return names;
}

}  // namespace

void measure_prior(const Options& options, Results& results) {
  const int threads = options.threads();
  ThreadPool::global().set_num_threads(threads);
  std::vector<std::string> names = options.list("workload", "");
  if (names.empty()) names = all_named();
  const int repetitions = options.count("repetitions", options.flag("quick") ? 1 : 3);
  results.fact("threads", threads);
  for (const std::string& name : names) {
    const autotune::Workload workload = autotune::parse_workload(name);
    const autotune::Task task =
        autotune::make_task(workload.program, options.target(), threads, workload.label);
    Measurement seconds{.name = "prior/" + name};
    autotune::PriorChoice choice;
    for (int i = 0; i < repetitions; ++i) {
      const auto start = std::chrono::steady_clock::now();
      choice = autotune::prior_choice(task);
      seconds.samples.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    seconds.labels = {{"workload", name},
                      {"shape", workload.shape},
                      {"estimate", choice.seconds},
                      {"points", choice.points}};
    results.add(std::move(seconds));
  }
}

}  // namespace tw::bench
