// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/memory_shape.h"
#include "ir/visit.h"
#include "lower/pipeline.h"
#include "runtime/error.h"
#include "schedule/check_reads.h"
#include "schedule/infer_bound.h"
#include "schedule/kernel_part.h"
#include "schedule/normalize.h"
#include "schedule/scan_stages.h"
#include "schedule/schedule_data.h"
#include "schedule/schedule_error.h"
#include "schedule/schedule_ops.h"
#include "schedule/te/placeholder.h"
#include "schedule/validate.h"

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

// A placeholder that the program does not read. It is checked in a call and not looked at.
bool is_unread(const Schedule& schedule, const te::Tensor& t) {
  return slot_of(schedule, t).stage == nullptr && t.op()->is_placeholder();
}

void check_arguments(const Schedule& schedule, const std::vector<LowerArgument>& arguments,
                     const std::vector<te::Tensor>& constants) {
  std::vector<Slot> given;
  std::vector<te::Tensor> unread;
  const auto given_twice = [](const te::Tensor& tensor) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("argument '{}' is given twice", tensor.name()),
           .legal = "each tensor once"});
  };
  const auto is_given = [&](const Slot& s) {
    return std::find(given.begin(), given.end(), s) != given.end();
  };
  const auto add = [&](const te::Tensor& tensor) {
    const Slot slot = slot_of(schedule, tensor);
    if (slot.stage == nullptr) {
      const bool namesake = std::ranges::any_of(
          schedule.data().stages, [&](const auto& s) { return s->op->name == tensor.name(); });
      not_in_program(fmt::format("argument '{}' is not in the program{}", tensor.name(),
                                 namesake ? ", but another tensor of that name" : ""),
                     fmt::format("the inputs and outputs: {}", interface_names(schedule)));
    }
    if (is_given(slot)) given_twice(tensor);
    given.push_back(slot);
  };
  for (const te::Tensor& t : constants) {
    add(t);
    if (te::is_constant(t)) continue;
    raise({.code = ErrorCode::NotConstant,
           .what = fmt::format("'{}' is given a value, but is not constant", t.name()),
           .legal = "placeholder(…, constant=True)"});
  }
  for (const LowerArgument& a : arguments) {
    if (a.tensor.defined() && is_unread(schedule, a.tensor)) {
      if (std::ranges::find(unread, a.tensor) != unread.end()) given_twice(a.tensor);
      unread.push_back(a.tensor);
    } else if (a.tensor.defined()) {
      add(a.tensor);
    } else if (!a.scalar.defined()) {
      raise({.code = ErrorCode::BadArgument, .what = "an argument is neither tensor nor variable"});
    }
  }
  const auto require = [&](const te::Tensor& t, const char* role) {
    if (is_given(slot_of(schedule, t))) return;
    const bool namesake = std::ranges::any_of(
        unread, [&](const te::Tensor& other) { return other.name() == t.name(); });
    not_in_program(fmt::format("{} '{}' is not among the arguments{}", role, t.name(),
                               namesake ? ", but another tensor of that name" : ""),
                   fmt::format("arguments that contain {}", interface_names(schedule)));
  };
  for (const te::Tensor& t : te::placeholders(schedule.outputs())) require(t, "input");
  for (const te::Tensor& t : schedule.outputs()) {
    const StageData* stage = slot_of(schedule, t).stage;
    if (std::ranges::find(given, stage, &Slot::stage) == given.end()) require(t, "output");
  }
}

// A stage between inputs and outputs may be an argument: the caller gets what the kernel stores.
void check_stored(const Schedule& normalized, const te::Tensor& tensor) {
  const StageData& stage = *slot_of(normalized, tensor).stage;
  const auto refuse = [&](const char* what, const char* legal) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("argument '{}' {}", tensor.name(), what),
           .stage = stage.name(),
           .where = stage.where,
           .legal = legal});
  };
  if (stage.attach_type == AttachType::InlinedAlready) {
    refuse("is computed inline and never stored", "arguments without it, or no compute_inline");
  }
  const std::vector<Expr>& stored = stage.op.output(tensor.value_index()).shape();
  if (!std::ranges::equal(stored, tensor.shape(),
                          [](const Expr& a, const Expr& b) { return equal(a, b); })) {
    refuse("is stored in another shape since transform_layout",
           "arguments without it, or transform_layout of what cache_read of it gives");
  }
}

// The arguments, and after them the outputs that they leave out. Of an operation with several of
// them some may do: the others are the kernel's own.
std::vector<LowerArgument> with_outputs(const Schedule& schedule,
                                        std::vector<LowerArgument> arguments) {
  const size_t count = arguments.size();
  for (const te::Tensor& output : schedule.outputs()) {
    const StageData* stage = slot_of(schedule, output).stage;
    const auto is_one = [&](const LowerArgument& a) {
      return a.tensor.defined() && slot_of(schedule, a.tensor).stage == stage;
    };
    const auto given = std::span(arguments).first(count);
    if (std::ranges::none_of(given, is_one)) arguments.emplace_back(output);
  }
  return arguments;
}

// Its loops run once and store each element once, unless a tensor intrinsic stands for them.
bool is_written_once(const StageData& stage) {
  return !stage.op->is_placeholder() && stage.op->stores_once() &&
         stage.attach_type == AttachType::GroupRoot;
}

KernelArgument tensor_argument(const Schedule& normalized, const te::Tensor& tensor) {
  // Inlining and cache stages rewrite operations: the body speaks of what they became.
  const bool unread = is_unread(normalized, tensor);
  const te::Operation op = unread ? tensor.op() : normalized[tensor].op();
  std::string name = tensor.name();
  if (op->num_outputs() > 1) name += fmt::format(".v{}", tensor.value_index());
  return {.name = name,
          .dtype = tensor.dtype().element(),
          .shape = memory_shape(tensor.shape(), tensor.dtype()),
          .var = buffer_var(name, tensor.dtype()),
          .is_output = !op->is_placeholder(),
          .written_once = !unread && is_written_once(*find_stage(normalized.data(), op.get())),
          .producer = op,
          .value_index = tensor.value_index()};
}

KernelConstant constant_of(const te::Tensor& tensor) {
  return {.name = tensor.name(),
          .dtype = tensor.dtype().element(),
          .shape = memory_shape(tensor.shape(), tensor.dtype()),
          .var = buffer_var(tensor.name(), tensor.dtype()),
          .producer = tensor.op(),
          .value_index = tensor.value_index()};
}

// What the part of a kernel reads, and fills, of arrays that no call brings: bound placeholders and
// the outputs of precomputed stages, out of `all`.
std::vector<KernelConstant> constants_in(const Stmt& body, const std::vector<KernelConstant>& all) {
  std::vector<KernelConstant> used;
  for (const KernelConstant& c : all) {
    bool found = false;
    const auto is_it = [&](const ProducerRef& p, int k) {
      found |= p.same_as(c.producer) && k == c.value_index;
    };
    for_each_stmt(body, [&](const Stmt& s) {
      if (const Provide* provide = as<Provide>(s)) is_it(provide->producer, provide->value_index);
    });
    for_each_expr(body, [&](const Expr& e) {
      if (const auto* read = as<ProducerLoad>(e)) is_it(read->producer, read->value_index);
    });
    if (found) used.push_back(c);
  }
  return used;
}

KernelModule scheduled_module(const Schedule& schedule, const std::vector<LowerArgument>& given,
                              const std::vector<te::Tensor>& constants,
                              const LowerOptions& options) {
  const std::vector<LowerArgument> arguments =
      options.simple_mode ? with_outputs(schedule, given) : given;
  check_arguments(schedule, arguments, constants);
  const Schedule normalized = normalize(schedule);
  // What the caller wants to have from a call is computed in it.
  std::vector<te::Tensor> stored;
  for (const LowerArgument& a : arguments) {
    if (!a.tensor.defined() || is_unread(schedule, a.tensor)) continue;
    check_stored(normalized, a.tensor);
    const te::Operation& op = normalized[a.tensor].op();
    stored.push_back(op.output(a.tensor.value_index()));
    find_stage(normalized.data(), op.get())->storage.precomputed = false;
  }
  const DomainMap domains = infer_bound(normalized, options.schedule);
  validate_stored(normalized, domains, stored);
  if (!options.passes.check_bounds) check_reads(normalized, domains);
  ScheduleParts parts = parts_of(normalized, constants);
  // An output that no argument is, beside another of its operation that is one, is the kernel's
  // own.
  const auto is_in = [](const std::vector<te::Tensor>& list, const te::Tensor& t) {
    return std::ranges::find(list, t) != list.end();
  };
  std::erase_if(parts.main.given, [&](const te::Tensor& t) {
    return is_in(normalized.outputs(), t) && !is_in(stored, t);
  });
  Kernel entry{.name = options.name};
  entry.body = schedule_ops(normalized, domains, options.schedule, parts.main);
  for (const LowerArgument& a : arguments) {
    entry.arguments.push_back(a.tensor.defined() ? tensor_argument(normalized, a.tensor)
                                                 : KernelArgument{.name = a.scalar.name(),
                                                                  .dtype = a.scalar.dtype(),
                                                                  .is_tensor = false,
                                                                  .var = a.scalar});
  }
  if (constants.empty()) return entry;
  std::vector<KernelConstant> known;
  for (const te::Tensor& t : constants) known.push_back(constant_of(t));
  for (const te::Tensor& t : parts.preparation.given) known.push_back(constant_of(t));
  entry.constants = constants_in(entry.body, known);
  if (!parts.is_split()) return entry;
  Kernel preparation{.name = options.name + "_preparation", .role = KernelRole::Preparation};
  preparation.body = schedule_ops(normalized, domains, options.schedule, parts.preparation);
  preparation.constants = constants_in(preparation.body, known);
  return {std::move(entry), std::move(preparation)};
}

}  // namespace

KernelModule schedule_to_module(const Schedule& schedule, const std::vector<LowerArgument>& given,
                                const std::vector<te::Tensor>& constants,
                                const LowerOptions& options) {
  try {
    return scheduled_module(schedule, given, constants, options);
  } catch (const ScheduleError&) {
    throw;
  } catch (const UserError& error) {
    raise_in(schedule.data(), error.info());
  }
}

namespace {

// The stage that calls an intrinsic and stores into memory of that name: its own, or a scan's.
const StageData* tensorized_stage(const ScheduleData& schedule, const std::string& memory) {
  for (const auto& stage : schedule.stages) {
    if (!intrin_of(*stage).defined()) continue;
    const StageData* holder = holder_of(schedule, *stage);
    if (stage->op->name == memory || (holder != nullptr && holder->op->name == memory))
      return stage.get();
  }
  return nullptr;
}

// Passes know the memory that an intrinsic does not take, and not the stage that it is about.
[[noreturn]] void raise_of_stage(const ScheduleData& schedule, ErrorInfo info) {
  const StageData* stage = tensorized_stage(schedule, info.stage);
  if (stage == nullptr) raise(std::move(info));
  info.stage = stage->name();
  const size_t position = intrin_of(*stage).position;
  if (position < stage->leaf_axes.size()) info.axis = stage->leaf_axes[position].name();
  info.where = line_of(schedule, *stage, "tensorize");
  raise_in(schedule, std::move(info));
}

}  // namespace

KernelModule lower_module(const Schedule& schedule, const std::vector<LowerArgument>& arguments,
                          const std::vector<te::Tensor>& constants, const Target& target,
                          const LowerOptions& options, LowerReport* report,
                          const PassObserver& observer) {
  KernelModule module = schedule_to_module(schedule, arguments, constants, options);
  if (options.constants_as_arguments) module = constants_to_arguments(std::move(module));
  try {
    return run_passes(std::move(module), target, options, report, observer);
  } catch (const UserError& error) {
    if (error.code() == ErrorCode::CannotTensorize) raise_of_stage(schedule.data(), error.info());
    throw;
  }
}

Kernel lower(const Schedule& schedule, const std::vector<LowerArgument>& arguments,
             const Target& target, const LowerOptions& options, LowerReport* report,
             const PassObserver& observer) {
  LowerOptions whole = options;
  whole.disabled.emplace_back("split_host_device");
  return lower_module(schedule, arguments, {}, target, whole, report, observer).entry();
}

}  // namespace tw
