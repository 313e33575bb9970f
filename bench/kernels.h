// SPDX-License-Identifier: Apache-2.0
// Kernels of ours: from a task and a trace to something that can be called, with time by phase.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "autotune/task/task.h"
#include "lower/kernel.h"
#include "runtime/module.h"
#include "schedule/trace.h"

namespace tw::bench {

// Seconds by phase, in the order in which they pass.
using Phases = std::vector<std::pair<std::string, double>>;

struct BuiltKernel {
  Kernel lowered;
  Function function;
};
// From te text and trace text, as a worker and a replay do: parse, schedule, lower, compile.
// `phases` gets "parse", "schedule", "infer_bound and schedule_ops", each pass of the table, and
// "emit", "optimize", "generate", "link" of LLVM. `inputs`, in the order of the program's
// arguments, hold the values of its constants, which are no arguments of the function; without them
// the constants are compiled in as arrays that hold nothing, and nothing is precomputed.
BuiltKernel build_kernel(const std::string& te_text, const std::string& trace_text,
                         const Target& target, Phases* phases = nullptr,
                         const std::vector<NDArray>& inputs = {});

}  // namespace tw::bench
