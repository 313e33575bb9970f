// SPDX-License-Identifier: Apache-2.0
// create_group: stages that move together.
//
//   g = create_group(outputs=C, inputs=A)       for C = f(B), B = f(A)
//   g.compute_at(D, y)                          B and C are computed inside y, as if each were told
//
// A stage of a group that has a place of its own keeps it.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "schedule/primitives/apply.h"
#include "schedule/schedule_data.h"

namespace tw {
namespace {

// The stages from the inputs to the outputs: outputs, and what they depend on that depends on an
// input. The inputs themselves if asked for.
std::vector<StageData*> stages_between(const PrimitiveCall& call) {
  const ScheduleData& schedule = call.schedule();
  const std::vector<StageData*>&outputs = call.stages(1), &inputs = call.stages(2);
  const bool with_inputs = call.given(3) && call.integer(3) != 0;
  const std::unordered_set<const StageData*> first(inputs.begin(), inputs.end());
  std::unordered_set<const StageData*> after;  // depends on an input
  for (const auto& stage : schedule.stages) {
    for (const te::Tensor& t : stage->inputs) {
      const StageData* source = find_stage(schedule, t.op().get());
      if (first.contains(source) || after.contains(source)) after.insert(stage.get());
    }
  }
  std::unordered_set<const StageData*> needed(outputs.begin(), outputs.end());
  std::vector<StageData*> result;
  for (size_t k = schedule.stages.size(); k-- > 0;) {
    StageData* stage = schedule.stages[k].get();
    const bool is_input = first.contains(stage);
    if (!needed.contains(stage) || is_placeholder(*stage) || (is_input && !with_inputs)) continue;
    const bool named = std::ranges::find(outputs, stage) != outputs.end();
    if (!named && !is_input && !after.contains(stage)) continue;
    result.insert(result.begin(), stage);
    if (is_input) continue;
    for (const te::Tensor& t : stage->inputs) needed.insert(find_stage(schedule, t.op().get()));
  }
  return result;
}

std::vector<StageData*> groups_around(const StageData& stage) {
  std::vector<StageData*> result;
  for (StageData* g = stage.group; g != nullptr; g = g->group) result.push_back(g);
  return result;
}

}  // namespace

StepResults apply_create_group(const PrimitiveCall& call) {
  ScheduleData& schedule = call.schedule();
  const std::vector<StageData*> members = stages_between(call);
  if (members.empty()) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = "no stage lies between these inputs and outputs",
               .legal = "outputs that depend on the inputs"});
  }
  // The innermost group that all are in; what is between it and a stage moves as a whole.
  std::vector<StageData*> common = groups_around(*members[0]);
  for (const StageData* stage : members) {
    const std::vector<StageData*> around = groups_around(*stage);
    std::erase_if(common,
                  [&](StageData* g) { return std::ranges::find(around, g) == around.end(); });
  }
  StageData* parent = common.empty() ? nullptr : common.front();
  std::vector<StageData*> parts;
  for (StageData* stage : members) {
    StageData* part = stage;
    while (part->group != parent) part = part->group;
    if (std::ranges::find(parts, part) == parts.end()) parts.push_back(part);
  }
  for (const auto& stage : schedule.stages) {
    const std::vector<StageData*> around = groups_around(*stage);
    const bool moves = std::ranges::any_of(
        parts, [&](StageData* p) { return std::ranges::find(around, p) != around.end(); });
    if (!moves || std::ranges::find(members, stage.get()) != members.end()) continue;
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("the group would cut another one, in which '{}' is too",
                                   stage->name()),
               .legal = "groups inside one another, or apart"});
  }
  auto group = std::make_unique<StageData>();
  group->label =
      schedule.groups.empty() ? "group" : fmt::format("group_{}", schedule.groups.size());
  group->where = call.where();
  group->group = parent;
  for (StageData* part : parts) part->group = group.get();
  schedule.groups.push_back(std::move(group));
  return {schedule.groups.back().get()};
}

}  // namespace tw
