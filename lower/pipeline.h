// SPDX-License-Identifier: Apache-2.0
// From a schedule to a module of kernels that code generation takes. The passes are one table
// (pipeline.cc), and one runner times, dumps, verifies and disables them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/verify.h"
#include "lower/kernel.h"
#include "lower/llvm/target.h"
#include "schedule/schedule.h"
#include "schedule/schedule_options.h"

namespace tw {

// Options that passes read. Defaults are what builds use.
struct PassOptions {
  int auto_unroll_max_step = 0;  // unroll serial loops up to this many statements
  int auto_unroll_max_depth = 8;
  bool unroll_explicit = true;       // false: leave `unrolled` loops to code generation
  bool partition_const_loop = true;  // loop_partition also on loops of constant extent
  bool vectorize = true;             // false: vectorized loops are serial ones
  bool predicate_tail = true;        // vectorize_loop: masked lanes instead of scalar tails
  bool check_bounds = false;         // test indices that are not proven inside when they are used
  // What buffers of one kernel take of a thread's stack at a time; the others are workspace.
  int64_t max_stack_bytes = 64 << 10;
};

struct LowerOptions {
  std::string name = "default_function";
  // Every pass except split_host_device and loop_partition, stopping before make_api; outputs that
  // are no arguments follow them.
  bool simple_mode = false;
  ScheduleOptions schedule;
  PassOptions passes;
  std::vector<std::string> disabled;  // pass names; UnknownPass lists the candidates
  std::string stop_after;             // a pass name: the kernels as they are then
  // Constants without values: see constants_to_arguments.
  bool constants_as_arguments = false;
  bool verify = false;  // verify after each pass what it ensures
};

struct PassContext {
  const PassOptions& options;
  const Target& target;
};
// A pure function on one kernel, which the runner applies to each kernel of the module, or on the
// module, for passes that make kernels of kernels or look at several.
using KernelPass = Kernel (*)(Kernel, const PassContext&);
using ModulePass = KernelModule (*)(KernelModule, const PassContext&);
// One row of the table.
struct Pass {
  std::string_view name;
  std::variant<KernelPass, ModulePass> function;
  std::vector<Property> requires_;
  std::vector<Property> ensures;
  bool optional;  // may be disabled without making the kernel impossible to compile
  std::string_view doc;
};
std::span<const Pass> passes();
KernelModule apply(const Pass& pass, KernelModule module, const PassContext& context);

struct PassTiming {
  std::string_view name;
  double seconds;
};
// What a run of the pipeline reports. `dump` is called after each pass that TILEWRIGHT_DUMP (a
// comma-separated list, or "all") names, and by default prints to stderr.
struct LowerReport {
  std::vector<PassTiming> timings;
};
using PassObserver = std::function<void(std::string_view pass, const KernelModule& module)>;

// `arguments`: tensors (placeholders and outputs) and scalar variables, in call order. Each output
// and input of the schedule must be among them (ArgumentNotInProgram). Placeholders that nothing
// reads may be among them: a call checks them and looks at none of their elements.
struct LowerArgument {
  te::Tensor tensor;  // or
  Var scalar;
  LowerArgument(te::Tensor t) : tensor(std::move(t)) {}
  LowerArgument(Var v) : scalar(std::move(v)) {}
};
// One entry, of that name. It is all there is: what blocks and threads run stays in it
// (split_host_device is left out).
Kernel lower(const Schedule& schedule, const std::vector<LowerArgument>& arguments,
             const Target& target, const LowerOptions& options = {}, LowerReport* report = nullptr,
             const PassObserver& observer = {});

// A schedule whose `constants`, placeholders, have their values when the kernel is built: they are
// no arguments. One entry, where stages are precomputed (schedule/primitives.def) a preparation,
// and a device kernel for each part of them that blocks or threads run.
KernelModule lower_module(const Schedule& schedule, const std::vector<LowerArgument>& arguments,
                          const std::vector<te::Tensor>& constants, const Target& target,
                          const LowerOptions& options = {}, LowerReport* report = nullptr,
                          const PassObserver& observer = {});
// Gives the constants their values: the placeholders those of `values`, which are kept (a copy
// where they are not aligned as ours are) and must not change; what the preparation computes,
// memory. Each must be given (ArgumentNotInProgram), with the placeholder's type and shape, compact
// (ArgumentDType, ArgumentShape, ArgumentStrides).
struct ConstantValue {
  te::Tensor placeholder;
  NDArray value;
};
void bind_constants(KernelModule& module, const std::vector<ConstantValue>& values);

// Constants as arguments, in front of the first output: so kernels of one code take weights of
// their own. The preparation takes the placeholders it reads, and what it fills comes behind them
// as its outputs; it is called once, and what it gives is passed to the entry.
KernelModule constants_to_arguments(KernelModule module);

// The first half, up to statements that still speak of tensors: normalize, infer_bound,
// schedule_ops.
KernelModule schedule_to_module(const Schedule& schedule,
                                const std::vector<LowerArgument>& arguments,
                                const std::vector<te::Tensor>& constants,
                                const LowerOptions& options);
// UnknownPass and PassRequirement for what is to be left out, and UnknownPass for where to stop.
void check_options(const LowerOptions& options);
// The second half: runs the table.
KernelModule run_passes(KernelModule module, const Target& target, const LowerOptions& options,
                        LowerReport* report = nullptr, const PassObserver& observer = {});

}  // namespace tw
