// SPDX-License-Identifier: Apache-2.0
// Building from the log: te text and trace in, kernel out. Neither sketches nor search are needed.
#pragma once

#include <string>
#include <vector>

#include "autotune/log/log.h"
#include "lower/pipeline.h"

namespace tw::autotune {

// The best record for (workload, target, threads), of those with such caches where there are any
// (Log::best). NoRecord names the workload, the target and the command that would tune it.
Record best_record(const te::Program& program, const Log& log, const Target& target, int threads,
                   CacheState caches = CacheState::Hot);
// Its schedule on `program`.
Schedule best_schedule(const te::Program& program, const Log& log, const Target& target,
                       int threads);
// A schedule from a trace recorded on an equal program.
Schedule replay(const te::Program& program, const std::string& trace_text);
// The structural hash of the lowered kernel, as records hold it: 16 hexadecimal digits.
std::string ir_hash(const Kernel& kernel);
// Lowers as the tuner, its workers and replay all do. `constants`: those of the program's constant
// placeholders that are no arguments, since they will be bound.
// With `as_arguments` they are arguments after all: see constants_to_arguments.
KernelModule lower_program(const te::Program& program, const Schedule& schedule,
                           const std::vector<te::Tensor>& constants, const Target& target,
                           const std::string& name, bool as_arguments = false);
// The same up to what else the options say.
LowerOptions candidate_options(const std::string& name);
KernelModule lower_program(const te::Program& program, const Schedule& schedule,
                           const std::vector<te::Tensor>& constants, const Target& target,
                           const LowerOptions& options);
// The same with all constants, as a candidate is timed: bound for hot caches, arguments for cold
// constants.
KernelModule lower_candidate(const te::Program& program, const Schedule& schedule,
                             const Target& target, CacheState caches);
Kernel lower_program(const te::Program& program, const Schedule& schedule, const Target& target,
                     const std::string& name);

}  // namespace tw::autotune
