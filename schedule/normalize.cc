// SPDX-License-Identifier: Apache-2.0
// Inlining and rebasing.
#include "schedule/normalize.h"

#include <algorithm>
#include <utility>

#include "ir/expr.h"
#include "schedule/scan_stages.h"
#include "schedule/schedule_data.h"

namespace tw {
namespace {

// A stage without a place of its own is computed where the innermost group around it that has one
// is.
void place_groups(ScheduleData& schedule) {
  for (const auto& stage : schedule.stages) {
    if (stage->attach_type != AttachType::GroupRoot) continue;
    const StageData* group = stage->group;
    while (group != nullptr && group->attach_type != AttachType::Scope) group = group->group;
    if (group == nullptr) continue;
    stage->attach_type = AttachType::Scope;
    stage->attach_stage = group->attach_stage;
    stage->attach_axis = group->attach_axis;
  }
  for (const auto& group : schedule.groups) group->attach_type = AttachType::GroupRoot;
}

// Producers stand before consumers: a stage's reads are rewritten once, by bodies that are final.
void inline_stages(ScheduleData& schedule) {
  const bool any = std::any_of(schedule.stages.begin(), schedule.stages.end(),
                               [](const auto& s) { return s->attach_type == AttachType::Inline; });
  if (!any) return;
  const auto changed = [&](const Producer* producer) {
    const StageData* source = find_stage(schedule, producer);
    return source && (is_inlined(*source) || source->op.get() != producer) ? source : nullptr;
  };
  for (const auto& stage : schedule.stages) {
    const bool stale = std::any_of(stage->inputs.begin(), stage->inputs.end(),
                                   [&](const te::Tensor& t) { return changed(t.op().get()); });
    if (!stale) continue;
    set_operation(schedule, *stage, stage->op->with_reads([&](const ProducerLoad& read) -> Expr {
      const StageData* source = changed(read.producer.get());
      if (source == nullptr) return {};
      if (is_inlined(*source)) return source->op->value_at(read.value_index, read.indices);
      ProducerLoad next = read;
      next.producer = source->op;
      return make(std::move(next));
    }));
  }
  for (const auto& stage : schedule.stages) {
    if (stage->attach_type == AttachType::Inline) stage->attach_type = AttachType::InlinedAlready;
  }
}

// Root axes that are loops start at zero: a reduction over [1, n) does not, nor does a data axis of
// a stage that is computed for a region.
void rebase_axes(ScheduleData& schedule, StageData& stage) {
  for (const IterVar& root : stage.op->root_axes()) {
    const bool region = is_region(stage) && root->kind != IterKind::Reduction;
    if (!is_leaf(stage, root) || (is_zero(root->domain.min) && !region)) continue;
    const IterVar rebased({}, Var(root.name(), root->var.dtype()), root->kind);
    auto* relation = new RebaseRelation;
    relation->parent = root;
    relation->rebased = rebased;
    add_relation(stage, RelationRef(relation), -1);
    if (auto marks = stage.axis_attributes.find(root->var); marks != stage.axis_attributes.end()) {
      AxisAttributes moved = std::move(marks->second);
      stage.axis_attributes.erase(marks);
      stage.axis_attributes[rebased->var] = std::move(moved);
    }
    for (StageData* inside : attached_to(schedule, stage)) {
      if (inside->attach_axis->var.same_as(root->var)) inside->attach_axis = rebased;
    }
    for (const auto& other : schedule.stages) {
      for (auto& [var, attributes] : other->axis_attributes) {
        for (PrefetchMark& mark : attributes.prefetches) {
          if (mark.scope.defined() && mark.scope->var.same_as(root->var)) mark.scope = rebased;
        }
      }
    }
  }
}

}  // namespace

Schedule normalize(const Schedule& schedule) { return normalize(schedule.copy()); }

Schedule normalize(Schedule&& schedule) {
  ScheduleData& data = schedule.data();
  place_groups(data);
  inline_stages(data);
  attach_updates(data);
  for (const auto& stage : data.stages) {
    if (!is_placeholder(*stage) && !is_inlined(*stage)) rebase_axes(data, *stage);
  }
  return std::move(schedule);
}

}  // namespace tw
