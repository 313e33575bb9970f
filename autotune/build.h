// SPDX-License-Identifier: Apache-2.0
// From a te program without a schedule to what can be called: the policy by which every layer above
// chooses one (the best record, else the prior's), and a cache, so that a process looks up,
// schedules and compiles each workload once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/log/log.h"
#include "lower/pipeline.h"
#include "runtime/module.h"

namespace tw::autotune {

// Where a schedule came from.
enum class ScheduleOrigin : uint8_t {
  Record,       // the fastest verified one of a log
  Prior,        // ranked first by the analytical prior
  Unscheduled,  // as the program stands: it has no design space (symbolic extents, unknown calls)
};
std::string_view to_string(ScheduleOrigin origin);  // "record", "prior", "unscheduled"

struct BuildOptions {
  std::string name = "default_function";
  int threads = 0;           // that the kernel may use; 0: those of the global pool
  const Log* log = nullptr;  // where records are looked for
  // With a log: a program without a record is an error (NoRecord), and gets no schedule of the
  // prior's.
  bool needs_record = true;
  // Values of constant placeholders, which are arguments no more; see bind_constants. They are kept
  // where they are and must not change.
  std::vector<ConstantValue> constants;
  bool cross = false;  // for another machine: see CompileOptions
  // Constant placeholders, none of them with a value above, stay arguments of the kernel, but as
  // the schedule wants them packed: see BuiltProgram.
  bool packed = false;
};

struct ChosenSchedule {
  Schedule schedule;
  ScheduleOrigin origin = ScheduleOrigin::Unscheduled;
  int64_t record = 0;  // its id in the log
};
// The policy alone. Throws NoRecord, and what reading a log throws.
ChosenSchedule choose_schedule(const te::Program& program, const Target& target,
                               const BuildOptions& options = {});

// Seconds of a call: of the record that a build would use, and as the prior estimates the schedule
// that it chooses, which is kept for the build. Times of different sources do not compare. Nothing
// without a record, and without a design space.
std::optional<double> measured_seconds(const te::Program& program, const Target& target,
                                       const BuildOptions& options);
std::optional<double> estimated_seconds(const te::Program& program, const Target& target,
                                        const BuildOptions& options);

struct BuiltProgram {
  std::shared_ptr<Module> module;  // one function, named by the options
  std::vector<bool> written;       // of its arguments, which the kernel writes
  ScheduleOrigin origin = ScheduleOrigin::Unscheduled;
  int64_t record = 0;
  // With BuildOptions::packed, what the kernel's arguments are: numbers of the program's, and from
  // its last one on numbers of arrays that `preparation` computes, once for given constants.
  std::vector<size_t> arguments;
  Function preparation;                       // undefined where the schedule packs nothing
  std::vector<size_t> preparation_arguments;  // in the same numbers; the arrays come last
};
// Arguments are those of the program, in its order, without the constants, unless they are packed.
// A program that equals one built before, names included, on the same target and with the same
// schedule, shares its module, unless either has constants: their code refers to their arrays.
// Threads may call it at once; those that want the same build wait for one of them. Throws what
// choose_schedule, lowering and compile throw.
BuiltProgram build(const te::Program& program, const Target& target,
                   const BuildOptions& options = {});

// How often this process climbed by the prior, and compiled, for the functions above.
struct BuildCounts {
  size_t climbs = 0, compiles = 0;
};
BuildCounts build_counts();

}  // namespace tw::autotune
