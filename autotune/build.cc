// SPDX-License-Identifier: Apache-2.0
#include "autotune/build.h"

#include <fmt/format.h>

#include <atomic>
#include <optional>
#include <utility>

#include "autotune/build_cache.h"
#include "autotune/log/replay.h"
#include "autotune/search/prior_schedule.h"
#include "autotune/task/packed_arguments.h"
#include "lower/llvm/compile.h"
#include "runtime/error.h"
#include "runtime/thread_pool.h"

namespace tw::autotune {
namespace {

// Several networks of some fifty kernels; a trace takes kilobytes, a module some tens of them.
constexpr size_t kMostClimbs = 1024, kMostModules = 256;

// All that a build depends on but where its schedule came from.
using Compiled = BuiltProgram;
// A trace as text; nothing: the program has no design space.
using Climbed = std::optional<std::string>;
struct Climb {
  Climbed trace;
  double seconds = 0;  // as the prior estimates
};

// Never destroyed: modules may outlive static objects.
BuildCache<Climb>& climbs() {
  static auto* const cache = new BuildCache<Climb>(kMostClimbs);
  return *cache;
}
BuildCache<Compiled>& modules() {
  static auto* const cache = new BuildCache<Compiled>(kMostModules);
  return *cache;
}
std::atomic<size_t> uncached_compiles = 0;

bool says_no_space(const Error& error) {
  return error.code() == ErrorCode::NoDesignSpace || error.code() == ErrorCode::SymbolicExtent ||
         error.code() == ErrorCode::NotTextual;
}

// What the function gives, or nothing where the program is of a kind that has no design space.
template <class F>
auto unless_no_space(F function) -> std::optional<decltype(function())> {
  try {
    return function();
  } catch (const Error& error) {
    if (!says_no_space(error)) throw;
    return std::nullopt;
  }
}

Climb climb(const te::Program& program, const Target& target, int threads) {
  const auto choice =
      unless_no_space([&] { return prior_choice(make_task(program, target, threads)); });
  if (!choice) return {};
  return {.trace = to_text(choice->trace), .seconds = choice->seconds};
}

Climb climb_once(const te::Program& program, const Target& target, int threads) {
  const auto workload = unless_no_space([&] { return te::workload_id(program); });
  if (!workload) return {};
  return climbs().get(fmt::format("{}\n{}\n{}", *workload, target.text(), threads),
                      [&] { return climb(program, target, threads); });
}

struct Choice {
  Climbed trace;
  ScheduleOrigin origin;
  int64_t record = 0;
};

std::optional<Record> record_of(const te::Program& program, const Target& target, int threads,
                                const BuildOptions& options) {
  if (options.log == nullptr) return std::nullopt;
  // Constants that are arguments are those of a network.
  const CacheState caches = options.packed ? CacheState::ColdConstants : CacheState::Hot;
  if (options.needs_record) return best_record(program, *options.log, target, threads, caches);
  const auto workload = unless_no_space([&] { return te::workload_id(program); });
  if (!workload) return std::nullopt;
  return options.log->best(*workload, target.text(), threads, caches);
}

int threads_of(const BuildOptions& options) {
  return options.threads > 0 ? options.threads : ThreadPool::global().num_threads();
}

Choice choose(const te::Program& program, const Target& target, const BuildOptions& options) {
  const int threads = threads_of(options);
  if (const auto record = record_of(program, target, threads, options)) {
    return {record->trace, ScheduleOrigin::Record, record->id};
  }
  Climbed trace = climb_once(program, target, threads).trace;
  const auto origin = trace ? ScheduleOrigin::Prior : ScheduleOrigin::Unscheduled;
  return {std::move(trace), origin};
}

Schedule scheduled(const te::Program& program, const Climbed& trace) {
  return trace ? replay(program, *trace) : Schedule::create(program.outputs);
}

std::vector<te::Tensor> constants_of(const te::Program& program, const BuildOptions& options) {
  std::vector<te::Tensor> constants;
  for (const ConstantValue& c : options.constants) constants.push_back(c.placeholder);
  if (options.packed) std::ranges::copy(read_constants(program), std::back_inserter(constants));
  return constants;
}

Compiled compile_program(const te::Program& program, const Target& target, const Choice& choice,
                         const BuildOptions& options) {
  Compiled result;
  KernelModule lowered =
      lower_program(program, scheduled(program, choice.trace), constants_of(program, options),
                    target, options.name, options.packed);
  if (options.packed) {
    PackedArguments arguments = packed_arguments(program, lowered);
    result.arguments = std::move(arguments.entry);
    result.preparation_arguments = std::move(arguments.preparation);
    if (const Kernel* preparation = lowered.preparation()) {
      result.preparation = compile({*preparation}, target)->get_function(preparation->name);
    }
    lowered = lowered.entry();
  } else {
    bind_constants(lowered, options.constants);
    lowered = prepare(std::move(lowered), target);
  }
  for (const KernelArgument& a : lowered.entry().arguments) result.written.push_back(a.is_output);
  result.module = compile(lowered, target, {.cross = options.cross});
  return result;
}

Compiled compile_once(const te::Program& program, const Target& target, const Choice& choice,
                      const BuildOptions& options) {
  const auto make = [&] { return compile_program(program, target, choice, options); };
  const auto text = unless_no_space([&] { return te::to_text(program); });
  if (!text || !options.constants.empty()) {
    ++uncached_compiles;
    return make();
  }
  return modules().get(fmt::format("{}\n{}\n{}\n{}\n{}\n{}", target.text(), options.cross,
                                   options.packed, options.name, choice.trace.value_or(""), *text),
                       make);
}

}  // namespace

std::string_view to_string(ScheduleOrigin origin) {
  switch (origin) {
    case ScheduleOrigin::Record:
      return "record";
    case ScheduleOrigin::Prior:
      return "prior";
    case ScheduleOrigin::Unscheduled:
      break;
  }
  return "unscheduled";
}

ChosenSchedule choose_schedule(const te::Program& program, const Target& target,
                               const BuildOptions& options) {
  const Choice choice = choose(program, target, options);
  return {scheduled(program, choice.trace), choice.origin, choice.record};
}

std::optional<double> measured_seconds(const te::Program& program, const Target& target,
                                       const BuildOptions& options) {
  const auto record = record_of(program, target, threads_of(options), options);
  return record ? std::optional(record->median()) : std::nullopt;
}

std::optional<double> estimated_seconds(const te::Program& program, const Target& target,
                                        const BuildOptions& options) {
  const Climb climb = climb_once(program, target, threads_of(options));
  return climb.trace ? std::optional(climb.seconds) : std::nullopt;
}

BuiltProgram build(const te::Program& program, const Target& target, const BuildOptions& options) {
  const Choice choice = choose(program, target, options);
  BuiltProgram built = compile_once(program, target, choice, options);
  built.origin = choice.origin;
  built.record = choice.record;
  return built;
}

BuildCounts build_counts() {
  return {.climbs = climbs().made(), .compiles = modules().made() + uncached_compiles};
}

}  // namespace tw::autotune
