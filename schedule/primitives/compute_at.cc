// SPDX-License-Identifier: Apache-2.0
// compute_at, compute_inline, compute_root, precompute: where and when a stage is computed
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "ir/expr.h"
#include "schedule/kernel_part.h"
#include "schedule/primitives/apply.h"
#include "schedule/primitives/checks.h"
#include "schedule/scan_stages.h"
#include "schedule/schedule_data.h"

namespace tw {
namespace {

void attach(StageData& stage, AttachType type, StageData* parent = nullptr, IterVar axis = {}) {
  stage.attach_type = type;
  stage.attach_stage = parent;
  stage.attach_axis = std::move(axis);
  stage.storage.precomputed = false;
}

void refuse_part(const PrimitiveCall& call) {
  const StageData* holder = holder_of(call.schedule(), call.stage());
  if (holder == nullptr) return;
  call.fail({.code = ErrorCode::BadAttach,
             .what = fmt::format("it stores into '{}', where that says", holder->name()),
             .legal = "a stage that it reads, or the scan"});
}

// The stages of the group, those of groups in it too.
std::vector<StageData*> members_of(const ScheduleData& schedule, const StageData& group) {
  std::vector<StageData*> result;
  for (const auto& stage : schedule.stages) {
    for (const StageData* g = stage->group; g != nullptr; g = g->group) {
      if (g == &group) result.push_back(stage.get());
    }
  }
  return result;
}

// A stage of a group is computed inside that group, so that it moves with it; a group outside of
// itself.
void require_group(const PrimitiveCall& call, const StageData& stage, const StageData& parent,
                   const IterVar& axis) {
  const auto is_in = [&](const StageData* group) {
    const StageData* g = parent.group;
    while (g != nullptr && g != group) g = g->group;
    return g == group;
  };
  if (stage.group != nullptr && !is_in(stage.group)) {
    call.fail(
        {.code = ErrorCode::BadAttach,
         .what = fmt::format("'{}' is outside the group of '{}'", parent.name(), stage.name()),
         .axis = axis.name(),
         .legal = fmt::format("compute_at of the group, or inside one of its stages: {}",
                              names(members_of(call.schedule(), *stage.group)))});
  }
  if (stage.is_group() && is_in(&stage)) {
    call.fail({.code = ErrorCode::BadAttach,
               .what = fmt::format("'{}' is a stage of the group itself", parent.name()),
               .axis = axis.name(),
               .legal = "a stage that consumes what the group computes"});
  }
}

// The name of a placeholder, or a variable, that the stage depends on and whose value only a call
// has; empty if there is none. `seen` are the stages that depend on none.
std::string variable_input(const ScheduleData& schedule, const StageData& stage,
                           std::unordered_set<const StageData*>& seen) {
  if (const Var symbol = symbol_of(stage); symbol.defined()) return symbol.name();
  for (const te::Tensor& t : stage.inputs) {
    const StageData* source = find_stage(schedule, t.op().get());
    if (!seen.insert(source).second) continue;
    if (is_placeholder(*source)) {
      if (!te::is_constant(t)) return source->name();
    } else if (std::string found = variable_input(schedule, *source, seen); !found.empty()) {
      return found;
    }
  }
  return "";
}

}  // namespace

StepResults apply_compute_at(const PrimitiveCall& call) {
  StageData &stage = call.stage(), &parent = call.stage(1);
  const IterVar& axis = call.axis(2);
  refuse_part(call);
  if (&stage == &parent) {
    call.fail({.code = ErrorCode::BadAttach,
               .what = "a stage cannot be computed inside its own loops",
               .axis = axis.name(),
               .legal = fmt::format("a stage that consumes it: {}",
                                    names(all_consumers_of(call.schedule(), stage)))});
  }
  require_group(call, stage, parent, axis);
  const std::vector<StageData*> members =
      stage.is_group() ? members_of(call.schedule(), stage) : std::vector<StageData*>{&stage};
  if (std::ranges::any_of(members, [](const StageData* s) { return s->is_output; })) {
    call.fail({.code = ErrorCode::BadAttach,
               .what = fmt::format("an output is computed whole, not inside '{}'", parent.name()),
               .axis = axis.name(),
               .legal = "compute_root"});
  }
  std::vector<StageData*> consumers;
  for (const StageData* member : members) {
    consumers = all_consumers_of(call.schedule(), *member);
    if (std::ranges::find(consumers, &parent) != consumers.end()) break;
  }
  if (std::ranges::find(consumers, &parent) == consumers.end()) {
    call.fail({.code = ErrorCode::NotAConsumer,
               .what = fmt::format("'{}' does not consume it", parent.name()),
               .legal = names(consumers)});
  }
  if (parent.attach_type == AttachType::Inline) {
    call.fail({.code = ErrorCode::BadAttach,
               .what = fmt::format("'{}' is inlined and has no loops", parent.name()),
               .axis = axis.name(),
               .legal = "a stage that is computed"});
  }
  attach(stage, AttachType::Scope, &parent, axis);
  return {};
}

StepResults apply_compute_inline(const PrimitiveCall& call) {
  StageData& stage = call.stage();
  auto refuse = [&](std::string what, std::string legal) {
    call.fail(
        {.code = ErrorCode::CannotInline, .what = std::move(what), .legal = std::move(legal)});
  };
  refuse_part(call);
  if (stage.is_output) refuse("an output has to be stored", "a stage between inputs and outputs");
  if (stage.op->is_reduction()) refuse("a reduction has to be stored", "compute_at");
  const std::vector<Expr> origin(stage.op->output_shape(0).size(), Expr(0));
  if (!stage.op->is_reduction() && !stage.op->value_at(0, origin).defined()) {
    refuse("its elements are no expressions of their positions", "compute_at");
  }
  if (const StageData* reader = reader_of_memory(call.schedule(), stage)) {
    refuse(fmt::format("'{}' addresses its memory", reader->name()), "compute_at");
  }
  if (const auto inside = attached_to(call.schedule(), stage); !inside.empty()) {
    refuse(fmt::format("'{}' is computed inside its loops", inside[0]->name()),
           fmt::format("move '{}' first", inside[0]->name()));
  }
  attach(stage, AttachType::Inline);
  return {};
}

StepResults apply_compute_root(const PrimitiveCall& call) {
  refuse_part(call);
  attach(call.stage(), AttachType::GroupRoot);
  attach_at_home(call.stage());
  return {};
}

StepResults apply_precompute(const PrimitiveCall& call) {
  StageData& stage = call.stage();
  refuse_part(call);
  if (stage.is_output) {
    call.fail({.code = ErrorCode::NotConstant,
               .what = "an output is computed when the kernel is called",
               .legal = "a stage between constant placeholders and the rest, such as what "
                        "cache_read gives"});
  }
  std::unordered_set<const StageData*> seen;
  if (const std::string input = variable_input(call.schedule(), stage, seen); !input.empty()) {
    call.fail({.code = ErrorCode::NotConstant,
               .what = fmt::format("it depends on '{}', whose values only a call has", input),
               .legal = "a stage that depends on placeholders with constant=True only"});
  }
  if (!is_global(stage.storage.scope)) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("the scope is {}", stage.storage.scope),
               .legal = "global: what is precomputed outlives a call"});
  }
  if (!stage.storage.row_pitches.empty()) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = "its storage is padded by storage_align",
               .legal = "transform_layout, whose tiles are compact"});
  }
  attach(stage, AttachType::GroupRoot);
  stage.storage.precomputed = true;
  return {};
}

}  // namespace tw
