// SPDX-License-Identifier: Apache-2.0
// The benchmark program: runs one section and writes what it measured as JSON. bench/run.py is the
// driver that people use.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "bench/sections.h"
#include "runtime/machine.h"
#include "runtime/version.h"

namespace tw::bench {
namespace {

struct Section {
  std::string_view name;
  void (*measure)(const Options&, Results&);
  std::string_view options;  // beyond those of every section
  std::string_view doc;
};
constexpr std::string_view kCommonOptions = "json target quick";
constexpr Section kSections[] = {
    {"peak", measure_peak, "threads", "f32 fma rate, copy bandwidth by size"},
    {"fork-join", measure_fork_join, "threads",
     "latency of a parallel region, workers spinning or parked"},
    {"rest", measure_rests, "threads",
     "parallel regions after a pause, and on which CPUs their threads ran"},
    {"compile", measure_compile, "workload threads candidates",
     "te text and trace to callable, by phase, in a warm process"},
    {"cold", measure_cold_compile, "workload threads", "the first compile of a process"},
    {"soak", measure_soak, "workload threads compiles", "resident memory over many compiles"},
    {"math", measure_math, "threads", "errors and rates of mathematical functions of vectors"},
    {"search", measure_search, "workload threads", "features and proposals a second"},
    {"prior", measure_prior, "workload threads repetitions",
     "seconds to an untuned schedule, and its estimate, for every named workload"},
    {"tune", measure_tuning,
     "workload threads trials batch seed model time-limit resume run-budget log",
     "one run of the tuner: curve, throughput, memory"},
    {"tasks", measure_tasks, "workload threads logs lists batch",
     "rules of spending trials over tasks, on recorded runs"},
    {"winners", measure_winners, "workload threads logs after",
     "the best schedules of several logs, side by side"},
    {"collect", collect_candidates,
     "workload threads log random search visits seed time-limit run-budget",
     "candidates of workloads, each timed in several visits, into a log"},
    {"study", study_models, "log workload models seeds trials batch descent-from descent-share",
     "searches replayed over recorded candidates: regret, rank correlation, mistakes"},
    {"pretrain", pretrain_model, "log output of-task",
     "the model of other tasks, made from recorded candidates, and what it chooses first"},
    {"calibrate", calibrate_prior, "log candidates folds",
     "the analytical prior's numbers, fitted to recorded candidates"},
    {"peers", measure_peers, "workload threads repetitions log onednn-isa unscheduled-limit",
     "ours against other libraries, in one process"},
    {"vendor", measure_vendor_operators, "threads repetitions",
     "operators that go to oneDNN against calling it directly"},
};

int run(const std::vector<std::string>& words) {
  for (const Section& section : kSections) {
    if (words.empty() || words[0] != section.name) continue;
    const Options options({words.begin() + 1, words.end()},
                          fmt::format("{} {}", kCommonOptions, section.options));
    const std::string path = options.text("json");
    Results results;
    results.fact("version", std::string(version()));
    results.fact("llvm", llvm_version());
    results.fact("cpu", host().cpu_name);
    results.fact("cores", host().usable_cores);
    results.fact("target", options.target().text());
    results.fact("quick", options.flag("quick"));
    section.measure(options, results);
    results.write(path);
    return 0;
  }
  fmt::print(stderr, "usage: tilewright-bench SECTION [--name=value...] [--json=FILE]\n\n");
  for (const Section& section : kSections) {
    fmt::print(stderr, "  {:<11}{}\n", section.name, section.doc);
  }
  return 2;
}

}  // namespace
}  // namespace tw::bench

int main(int argc, char** argv) {
  try {
    return tw::bench::run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    fmt::print(stderr, "tilewright-bench: {}\n", e.what());
    return 1;
  }
}
