// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels.h"

#include <chrono>
#include <string>

#include "autotune/log/replay.h"
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

std::vector<ConstantValue> values_of(const te::Program& program,
                                     const std::vector<NDArray>& inputs) {
  std::vector<ConstantValue> values;
  for (size_t k = 0; k < program.arguments.size(); ++k) {
    const te::Tensor& t = program.arguments[k];
    if (!te::is_constant(t)) continue;
    std::vector<int64_t> shape;
    for (const Expr& extent : t.shape()) shape.push_back(as<IntImm>(extent)->value);
    values.push_back({t, inputs.empty() ? NDArray::empty(shape, t.dtype()) : inputs.at(k)});
  }
  return values;
}

}  // namespace

BuiltKernel build_kernel(const std::string& te_text, const std::string& trace_text,
                         const Target& target, Phases* phases, const std::vector<NDArray>& inputs) {
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
  const std::vector<te::Tensor> constants = te::constants_of(program);
  std::vector<LowerArgument> arguments;
  for (const te::Tensor& t : program.arguments) {
    if (!te::is_constant(t)) arguments.emplace_back(t);
  }
  KernelModule kernels = schedule_to_module(schedule, arguments, constants, options);
  phases->emplace_back("infer_bound and schedule_ops", watch.lap());
  LowerReport report;
  CompileTimings timings;
  kernels = run_passes(std::move(kernels), target, options, &report);
  bind_constants(kernels, values_of(program, inputs));
  if (kernels.preparation() != nullptr) {
    const Function preparation = compile_preparation(*kernels.preparation(), target, &timings);
    if (!inputs.empty()) preparation.call({});
  }
  const Kernel& entry = kernels.entry();
  const auto module = compile(entry, target, {.verify = false}, &timings);  // as workers do
  for (const PassTiming& pass : report.timings)
    phases->emplace_back(std::string(pass.name), pass.seconds);
  phases->emplace_back("emit", timings.emit);
  phases->emplace_back("optimize", timings.optimize);
  phases->emplace_back("generate", timings.generate);
  phases->emplace_back("link", timings.link);
  return {entry, module->get_function(kName)};
}

}  // namespace tw::bench
