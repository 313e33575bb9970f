// SPDX-License-Identifier: Apache-2.0
#include "schedule/validate.h"

#include <fmt/format.h>

#include "schedule/scan_stages.h"

namespace tw {

bool runs_inside(const StageData& stage, const StageData& parent, const IterVar& axis) {
  if (&stage == &parent) return true;
  for (const StageData* s = &stage; is_region(*s); s = s->attach_stage) {
    if (s->attach_type == AttachType::ScanInit || s->attach_stage != &parent) continue;
    return leaf_position(parent, s->attach_axis) >= leaf_position(parent, axis);
  }
  return false;
}

void validate_attachments(const ScheduleData& schedule) {
  validate_scans(schedule);
  for (const auto& stage : schedule.stages) {
    if (stage->attach_type != AttachType::Scope) continue;
    const StageData& parent = *stage->attach_stage;
    TW_CHECK(is_leaf(parent, stage->attach_axis), stage->name());
    for (const StageData* consumer : consumers_of(schedule, *stage)) {
      if (consumer->attach_type == AttachType::InlinedAlready) continue;
      if (runs_inside(*consumer, parent, stage->attach_axis)) continue;
      raise({.code = ErrorCode::BadAttach,
             .what =
                 fmt::format("computed inside '{}' of '{}', where its consumer '{}' cannot see it",
                             stage->attach_axis.name(), parent.name(), consumer->name()),
             .stage = stage->name(),
             .axis = stage->attach_axis.name(),
             .where = stage->where,
             .legal = fmt::format("compute_root, or '{}' computed inside that loop too",
                                  consumer->name())});
    }
  }
}

void validate_prefetches(const ScheduleData& schedule) {
  for (const auto& stage : schedule.stages) {
    if (stage->attach_type == AttachType::InlinedAlready) continue;
    for (size_t k = 0; k < stage->leaf_axes.size(); ++k) {
      const AxisAttributes* marks = stage->attributes_of(stage->leaf_axes[k]);
      if (marks == nullptr) continue;
      for (const PrefetchMark& mark : marks->prefetches) {
        if (!mark.scope.defined()) continue;
        const StageData* parent = stage_of_leaf(schedule, mark.scope);
        const bool around = parent != nullptr && runs_inside(*stage, *parent, mark.scope) &&
                            (parent != stage.get() || leaf_position(*stage, mark.scope) < k);
        if (around) continue;
        raise({.code = ErrorCode::BadAttach,
               .what = fmt::format("prefetch_ahead for '{}', which is no loop around this one",
                                   mark.scope.name()),
               .stage = stage->name(),
               .axis = stage->leaf_axes[k].name(),
               .where = stage->where,
               .legal = "a loop outside it, of this stage or of one that it is computed in"});
      }
    }
  }
}

}  // namespace tw
