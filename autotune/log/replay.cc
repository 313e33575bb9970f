// SPDX-License-Identifier: Apache-2.0
#include "autotune/log/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "autotune/task/packed_arguments.h"
#include "autotune/task/workloads.h"
#include "ir/equal.h"
#include "ir/visit.h"
#include "runtime/error.h"

namespace tw::autotune {
namespace {

// As a shell reads it back.
std::string shell_word(const std::string& text) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("/._-+:", c);
  };
  if (!text.empty() && std::ranges::all_of(text, plain)) return text;
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// What to type to tune a program: its name on the command line if it has one.
std::string tuning_command(const std::string& workload, const Log& log, const Target& target,
                           int threads) {
  std::string name;
  for (const Log::Workload& known : log.workloads()) {
    if (known.id == workload) name = known.name;
  }
  for (const NamedWorkload& known : named_workloads()) {
    if (!name.empty()) break;
    const std::string text = fmt::format("{}:{}", known.kind, known.name);
    if (te::workload_id(parse_workload(text).program) == workload) name = text;
  }
  if (name.empty() || name == workload) {
    return fmt::format("tilewright.autotune.tune(program, target=\"{}\", threads={}, log=\"{}\")",
                       target.text(), threads, log.path());
  }
  const std::string text = target.text();
  return fmt::format("autotune {}{} --threads={} --log={}", name,
                     text == Target::host().text() ? "" : fmt::format(" --target='{}'", text),
                     threads, shell_word(log.path()));
}

}  // namespace

Record best_record(const te::Program& program, const Log& log, const Target& target, int threads,
                   CacheState caches) {
  const std::string workload = te::workload_id(program);
  auto record = log.best(workload, target.text(), threads, caches);
  if (!record) {
    raise({.code = ErrorCode::NoRecord,
           .what = fmt::format("no record of workload {} on target \"{}\" with {} thread{}",
                               workload, target.text(), threads, threads == 1 ? "" : "s"),
           .where = log.path(),
           .legal = "tune it first: " + tuning_command(workload, log, target, threads)});
  }
  return *std::move(record);
}

Schedule best_schedule(const te::Program& program, const Log& log, const Target& target,
                       int threads) {
  return replay(program, best_record(program, log, target, threads).trace);
}

Schedule replay(const te::Program& program, const std::string& trace_text) {
  Schedule schedule = Schedule::create(program.outputs);
  schedule.apply(parse_trace(trace_text));
  return schedule;
}

std::string ir_hash(const Kernel& kernel) {
  // Names stand in the messages of checks; what the kernel does is the same without them.
  const Stmt unnamed = rewrite(
      kernel.body, [](const Expr& e) { return is<StringImm>(e) ? make(StringImm{}) : Expr(); });
  return fmt::format("{:016x}", structural_hash(unnamed));
}

LowerOptions candidate_options(const std::string& name) {
  LowerOptions options;
  options.name = name;
  options.passes.partition_const_loop = true;
  // Features and hashes are those of one kernel.
  options.disabled = {"split_host_device"};
  return options;
}

KernelModule lower_program(const te::Program& program, const Schedule& schedule,
                           const std::vector<te::Tensor>& constants, const Target& target,
                           const LowerOptions& options) {
  std::vector<LowerArgument> arguments;
  for (const te::Tensor& t : program.arguments) {
    if (std::ranges::find(constants, t) == constants.end()) arguments.emplace_back(t);
  }
  return lower_module(schedule, arguments, constants, target, options);
}

KernelModule lower_program(const te::Program& program, const Schedule& schedule,
                           const std::vector<te::Tensor>& constants, const Target& target,
                           const std::string& name, bool as_arguments) {
  LowerOptions options = candidate_options(name);
  options.constants_as_arguments = as_arguments;
  return lower_program(program, schedule, constants, target, options);
}

KernelModule lower_candidate(const te::Program& program, const Schedule& schedule,
                             const Target& target, CacheState caches) {
  const bool bound = caches == CacheState::Hot;
  return lower_program(program, schedule,
                       bound ? te::constants_of(program) : read_constants(program), target,
                       "candidate", !bound);
}

Kernel lower_program(const te::Program& program, const Schedule& schedule, const Target& target,
                     const std::string& name) {
  return lower_program(program, schedule, {}, target, name).entry();
}

}  // namespace tw::autotune
