// SPDX-License-Identifier: Apache-2.0
// What only a whole schedule can be asked: whether it computes what its expression says, whatever
// order its parallel loops and lanes run in. Lowering asks before it does anything else.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/error.h"
#include "schedule/schedule_data.h"

namespace tw {

// One thing that is wrong: code, stage, axis, the line of the script that did it, what is wrong and
// what would be legal; and the loops it is about, with the culprit marked.
struct Finding {
  ErrorInfo error;
  std::string nest;
};

// All that is wrong with the schedule; nothing for one that can be lowered. `stored` are tensors
// between inputs and outputs that the caller wants to have, as arguments of lowering.
//   ParallelReduction  a parallel or vectorized loop whose iterations depend on each other
//   BadAttach          a stage where a consumer cannot see it, or where there is no loop
//   CannotTensorize    loops that do not compute what their intrinsic does
//   and every other code by which the way to statements refuses a schedule; `further` may raise
//   those of what comes after it
std::vector<Finding> check(const Schedule& schedule, const std::vector<te::Tensor>& stored = {},
                           const std::function<void(const Schedule&)>& further = {});

// Raises the first of the findings that need no bounds. The schedule is normalised.
void validate(const ScheduleData& schedule);
// ParallelReduction when iterations of a parallel or vectorized loop might write the same element
// of a tensor of `stored`: one that is computed inside the loop and kept outside.
void validate_stored(const Schedule& normalized, const DomainMap& domains,
                     const std::vector<te::Tensor>& stored);

// True when `stage` runs inside the loop `axis` of `parent`.
bool runs_inside(const StageData& stage, const StageData& parent, const IterVar& axis);

}  // namespace tw
