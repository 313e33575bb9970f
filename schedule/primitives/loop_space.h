// SPDX-License-Identifier: Apache-2.0
// The loops of a stage as axes of another one: what its root axes are in terms of them.
#pragma once

#include <string>
#include <vector>

#include "schedule/schedule_data.h"

namespace tw {

// Loops of one kind, data axes or those of a reduction; splits and fuses never mix them.
struct LoopSpace {
  DomainMap domains;          // of all axes of the stage
  std::vector<IterVar> axes;  // one for each leaf axis, in order
  VarMap values;              // of the root axes, in terms of these
  Expr condition;             // that the root axes are in their domains; undefined: always
};
// Axes are named as the leaves are, and `suffix`; without one they have the variables of the
// leaves.
LoopSpace loop_space(const StageData& stage, IterKind kind, const std::string& suffix = "");

// Gives `to` the relations among axes of one kind that `from` has. Its leaf axes are the caller's
// to set.
void copy_relations(const StageData& from, IterKind kind, StageData& to);
// What is marked on an axis of `from`, and computed at it, is from now on at the axis of `to`.
void move_loop(ScheduleData& schedule, StageData& from, const IterVar& axis, StageData& to,
               const IterVar& to_axis);

}  // namespace tw
