// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "lower/pipeline.h"
#include "runtime/error.h"
#include "schedule/schedule_data.h"

namespace tw {
namespace {

[[noreturn]] void not_in_program(const std::string& what, const std::string& legal) {
  raise({.code = ErrorCode::ArgumentNotInProgram, .what = what, .legal = legal});
}

// Placeholders and outputs, as a list of names.
std::string interface_names(const Schedule& schedule) {
  std::string names;
  const auto add = [&](const te::Tensor& t) { names += (names.empty() ? "" : ", ") + t.name(); };
  for (const te::Tensor& t : te::placeholders(schedule.outputs())) add(t);
  for (const te::Tensor& t : schedule.outputs()) add(t);
  return names;
}

// A tensor of the schedule by its stage: primitives replace operations, stages stay.
struct Slot {
  const StageData* stage = nullptr;  // null: not of this schedule
  int value_index = 0;
  bool operator==(const Slot&) const = default;
};
Slot slot_of(const Schedule& schedule, const te::Tensor& t) {
  return {find_stage(schedule.data(), t.op().get()), t.value_index()};
}

void check_arguments(const Schedule& schedule, const std::vector<LowerArgument>& arguments) {
  std::vector<Slot> given;
  const auto is_given = [&](const Slot& s) {
    return std::find(given.begin(), given.end(), s) != given.end();
  };
  for (const LowerArgument& a : arguments) {
    if (!a.tensor.defined()) {
      if (a.scalar.defined()) continue;
      raise({.code = ErrorCode::BadArgument, .what = "an argument is neither tensor nor variable"});
    }
    const Slot slot = slot_of(schedule, a.tensor);
    if (slot.stage == nullptr) {
      not_in_program(fmt::format("argument '{}' is not in the program", a.tensor.name()),
                     fmt::format("the inputs and outputs: {}", interface_names(schedule)));
    }
    if (is_given(slot)) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("argument '{}' is given twice", a.tensor.name()),
             .legal = "each tensor once"});
    }
    given.push_back(slot);
  }
  const auto require = [&](const te::Tensor& t, const char* role) {
    if (is_given(slot_of(schedule, t))) return;
    not_in_program(fmt::format("{} '{}' is not among the arguments", role, t.name()),
                   fmt::format("arguments that contain {}", interface_names(schedule)));
  };
  for (const te::Tensor& t : te::placeholders(schedule.outputs())) require(t, "input");
  for (const te::Tensor& t : schedule.outputs()) require(t, "output");
}

}  // namespace

Kernel schedule_to_kernel(const Schedule& schedule, const std::vector<LowerArgument>& arguments,
                          const LowerOptions& options) {
  check_arguments(schedule, arguments);
  const Schedule normalized = normalize(schedule);
  const DomainMap domains = infer_bound(normalized, options.schedule);
  Kernel kernel{.name = options.name};
  kernel.body = schedule_ops(normalized, domains, options.schedule);
  for (const LowerArgument& a : arguments) {
    if (!a.tensor.defined()) {
      kernel.arguments.push_back({.name = a.scalar.name(),
                                  .dtype = a.scalar.dtype(),
                                  .is_tensor = false,
                                  .var = a.scalar});
      continue;
    }
    // Inlining and cache stages rewrite operations: the body speaks of what they became.
    const te::Operation op = normalized[a.tensor].op();
    const bool is_output = op->op_kind != te::OperationKind::Placeholder;
    std::string name = a.tensor.name();
    if (op->num_outputs() > 1) name += fmt::format(".v{}", a.tensor.value_index());
    kernel.arguments.push_back({.name = name,
                                .dtype = a.tensor.dtype(),
                                .shape = a.tensor.shape(),
                                .var = buffer_var(name, a.tensor.dtype()),
                                .is_output = is_output,
                                .producer = op,
                                .value_index = a.tensor.value_index()});
  }
  return kernel;
}

Kernel lower(const Schedule& schedule, const std::vector<LowerArgument>& arguments,
             const Target& target, const LowerOptions& options, LowerReport* report,
             const PassObserver& observer) {
  return run_passes(schedule_to_kernel(schedule, arguments, options), target, options, report,
                    observer);
}

}  // namespace tw
