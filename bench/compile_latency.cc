// SPDX-License-Identifier: Apache-2.0
// From te text and trace to a callable: cold and warm, split by phase, over the candidates that the
// tuner itself proposes; and resident memory over many compiles. As in a worker of the tuner, the
// preparation of weights is compiled once for each of the layouts that candidates have in common.
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <random>

#include "autotune/learn/cost_models.h"
#include "autotune/log/replay.h"
#include "autotune/search/search.h"
#include "autotune/space/space.h"
#include "autotune/task/workloads.h"
#include "bench/kernels.h"
#include "bench/sections.h"
#include "runtime/error.h"

namespace tw::bench {
namespace {

constexpr const char* kConvolution = "conv2d_bias_relu:n=1,ci=64,h=56,w=56,co=64,k=3,s=1,p=1";

struct Draw {
  std::string origin;  // "random": any point; "evolved": proposed by the search
  Trace trace;
};

autotune::Task task_of(const Options& options) {
  const autotune::Workload workload =
      autotune::parse_workload(options.text("workload", kConvolution));
  return autotune::make_task(workload.program, options.target(), options.count("threads", 1),
                             workload.label);
}

// Half of them points drawn at random, half what the search proposes round after round when the
// analytical prior stands in for measurements.
std::vector<Draw> draw_candidates(const autotune::Task& task, int count) {
  const autotune::Space space(task);
  std::vector<Draw> draws;
  std::mt19937_64 rng(1);
  for (int i = 0; i < count / 2; ++i) draws.push_back({"random", space.trace(space.random(rng))});

  autotune::Search search(task, space, {}, 1);
  const auto prior = autotune::cost_model("prior")({.seed = 1});
  while (static_cast<int>(draws.size()) < count) {
    const auto proposals = search.propose(std::min<int>(16, count - draws.size()), *prior);
    if (proposals.empty()) break;
    for (const autotune::Proposal& p : proposals) {
      search.observe(p.point, p.features->prior_seconds);
      draws.push_back({"evolved", p.candidate.trace});
    }
  }
  std::shuffle(draws.begin(), draws.end(), rng);
  return draws;
}

double compile_seconds(const autotune::Task& task, const std::string& trace, Phases& phases) {
  const auto start = std::chrono::steady_clock::now();
  const BuiltKernel built = build_kernel(task.te_text, trace, task.target, &phases);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Phases are timed in the two halves of lowering; the whole must be what tuner and replay build.
void check_same_kernel(const autotune::Task& task, const std::string& trace) {
  const BuiltKernel ours = build_kernel(task.te_text, trace, task.target);
  const te::Program program = te::parse_program(task.te_text);
  const Kernel theirs =
      autotune::lower_program(program, autotune::replay(program, trace), te::constants_of(program),
                              task.target, ours.lowered.name)
          .entry();
  if (autotune::ir_hash(ours.lowered) != autotune::ir_hash(theirs)) {
    raise({.code = ErrorCode::Internal,
           .what = "the benchmark lowers otherwise than autotune::lower_program"});
  }
}

void describe(const Options& options, const autotune::Task& task, Results& results) {
  results.fact("workload", options.text("workload", kConvolution));
  results.fact("operations", task.operations);
}

}  // namespace

void measure_compile(const Options& options, Results& results) {
  const autotune::Task task = task_of(options);
  describe(options, task, results);
  const auto draws =
      draw_candidates(task, options.count("candidates", options.flag("quick") ? 120 : 400));
  if (draws.empty()) return;
  check_same_kernel(task, to_text(draws[0].trace));

  std::vector<std::string> order;
  std::map<std::string, std::vector<double>> by_phase;
  std::map<std::string, std::vector<double>> totals;
  int failed = 0;
  Phases phases;
  for (const Draw& draw : draws) {
    try {
      const double seconds = compile_seconds(task, to_text(draw.trace), phases);
      totals[draw.origin].push_back(seconds);
      totals["all"].push_back(seconds);
    } catch (const Error&) {
      ++failed;
      continue;
    }
    for (const auto& [phase, spent] : phases) {
      if (!by_phase.contains(phase)) order.push_back(phase);
      by_phase[phase].push_back(spent);
    }
  }
  results.fact("failed", failed);
  for (auto& [origin, seconds] : totals) {
    results.add({.name = "compile/" + origin,
                 .samples = std::move(seconds),
                 .labels = {{"candidates", origin}}});
  }
  for (const std::string& phase : order) {
    results.add({.name = "phase/" + phase,
                 .samples = std::move(by_phase[phase]),
                 .labels = {{"phase", phase}}});
  }
  std::vector<Trace> traces;
  for (size_t k = 0; k < std::min<size_t>(draws.size(), 60); ++k) traces.push_back(draws[k].trace);
  measure_scheduling(task, traces, results);
}

void measure_cold_compile(const Options& options, Results& results) {
  const autotune::Task task = task_of(options);
  describe(options, task, results);
  const autotune::Space space(task);
  std::mt19937_64 rng(1);
  const std::string trace = to_text(space.trace(space.random(rng)));
  Phases phases;
  const double cold = compile_seconds(task, trace, phases);
  const double warm = compile_seconds(task, trace, phases);
  results.add({.name = "cold/first", .samples = {cold}});
  results.add({.name = "cold/second", .samples = {warm}});
}

void measure_soak(const Options& options, Results& results) {
  const autotune::Task task = task_of(options);
  describe(options, task, results);
  const int count = options.count("compiles", options.flag("quick") ? 1000 : 10'000);
  const autotune::Space space(task);
  std::mt19937_64 rng(1);
  nlohmann::json curve = nlohmann::json::array();
  const int stride = std::max(count / 100, 1);
  Phases phases;
  int failed = 0;
  for (int i = 0; i <= count; ++i) {
    if (i % stride == 0) curve.push_back({i, resident_bytes()});
    if (i == count) break;
    try {
      compile_seconds(task, to_text(space.trace(space.random(rng))), phases);
    } catch (const Error&) {
      ++failed;
    }
  }
  results.fact("compiles", count);
  results.fact("failed", failed);
  results.fact("resident", curve);
}

}  // namespace tw::bench
