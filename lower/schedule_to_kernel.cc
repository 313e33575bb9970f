// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ir/expr.h"
#include "lower/pipeline.h"
#include "runtime/error.h"

namespace tw {
namespace {

[[noreturn]] void not_in_program(const std::string& what, const std::string& legal) {
  raise({.code = ErrorCode::ArgumentNotInProgram, .what = what, .legal = legal});
}

// Placeholders and outputs, as a list of names.
std::string interface_names(const Schedule& schedule) {
  std::string names;
  const auto add = [&](const te::Tensor& t) {
    names += (names.empty() ? "" : ", ") + t.name();
  };
  for (const te::Tensor& t : te::placeholders(schedule.outputs())) add(t);
  for (const te::Tensor& t : schedule.outputs()) add(t);
  return names;
}

bool contains(const std::vector<te::Tensor>& tensors, const te::Tensor& t) {
  for (const te::Tensor& other : tensors) {
    if (other == t) return true;
  }
  return false;
}

void check_arguments(const Schedule& schedule, const std::vector<LowerArgument>& arguments) {
  std::vector<te::Tensor> given, known;
  for (const te::Operation& op : te::operations(schedule.outputs())) {
    for (int k = 0; k < op->num_outputs(); ++k) known.push_back(op.output(k));
  }
  for (const LowerArgument& a : arguments) {
    if (!a.tensor.defined()) {
      if (a.scalar.defined()) continue;
      raise({.code = ErrorCode::BadArgument, .what = "an argument is neither tensor nor variable"});
    }
    if (!contains(known, a.tensor)) {
      not_in_program(fmt::format("argument '{}' is not in the program", a.tensor.name()),
                     fmt::format("the inputs and outputs: {}", interface_names(schedule)));
    }
    if (contains(given, a.tensor)) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("argument '{}' is given twice", a.tensor.name()),
             .legal = "each tensor once"});
    }
    given.push_back(a.tensor);
  }
  const auto require = [&](const te::Tensor& t, const char* role) {
    if (contains(given, t)) return;
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
      kernel.arguments.push_back({.name = a.scalar.name(), .dtype = a.scalar.dtype(),
                                  .is_tensor = false, .var = a.scalar});
      continue;
    }
    // Inlining and cache stages rewrite operations: the body speaks of what they became.
    const te::Operation op = normalized[a.tensor].op();
    const bool is_output = op->op_kind != te::OperationKind::Placeholder;
    std::string name = a.tensor.name();
    if (op->num_outputs() > 1) name += fmt::format(".v{}", a.tensor.value_index());
    kernel.arguments.push_back({.name = name, .dtype = a.tensor.dtype(),
                                .shape = a.tensor.shape(), .var = buffer_var(name, a.tensor.dtype()),
                                .is_output = is_output, .producer = op,
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
