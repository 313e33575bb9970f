// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels.h"

#include <chrono>

#include "autotune/replay.h"
#include "lower/llvm/compile.h"
#include "lower/pipeline.h"
#include "runtime/error.h"

namespace tw::bench {
namespace {

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

constexpr const char* kName = "kernel";

}  // namespace

BuiltKernel build_kernel(const std::string& te_text, const std::string& trace_text,
                         const Target& target, Phases* phases) {
  Phases ignored;
  if (phases == nullptr) phases = &ignored;
  phases->clear();
  Stopwatch watch;
  const te::Program program = te::parse_program(te_text);
  phases->emplace_back("parse", watch.lap());
  const Schedule schedule = autotune::replay(program, trace_text);
  phases->emplace_back("schedule", watch.lap());

  // The two halves of autotune::lower_program, so that each can be timed; measure_compile checks
  // that the kernel is the same.
  LowerOptions options;
  options.name = kName;
  options.passes.partition_const_loop = true;
  Kernel kernel =
      schedule_to_kernel(schedule, {program.arguments.begin(), program.arguments.end()}, options);
  phases->emplace_back("infer_bound and schedule_ops", watch.lap());
  LowerReport report;
  kernel = run_passes(std::move(kernel), target, options, &report);
  for (const PassTiming& pass : report.timings) {
    phases->emplace_back(std::string(pass.name), pass.seconds);
  }
  CompileTimings timings;
  const auto module = compile({kernel}, target, {}, &timings);
  phases->emplace_back("emit", timings.emit);
  phases->emplace_back("optimize", timings.optimize);
  phases->emplace_back("generate", timings.generate);
  phases->emplace_back("link", timings.link);
  return {std::move(kernel), module->get_function(kName)};
}

}  // namespace tw::bench
