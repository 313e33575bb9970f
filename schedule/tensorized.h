// SPDX-License-Identifier: Apache-2.0
// The intrinsic that the primitive tensorize put into a stage, against the loops that it replaces.
#pragma once

#include <vector>

#include "schedule/match_intrin.h"
#include "schedule/schedule_data.h"

namespace tw {

// An intrinsic in place of the loops from leaf `position` on.
struct Tensorized {
  TensorIntrin intrin;
  size_t position = 0;
  IntrinMatch match = {};
  bool defined() const { return intrin.defined(); }
  // Where a loop of the reduction stands outside, the outputs are set and added to apart.
  bool in_parts(size_t first_reduction) const { return defined() && position > first_reduction; }
};

// That of the stage, with what stands for its tensors; undefined when there is none. `vars` are the
// variables of the stage's loops, `conditions` what keeps them inside the tensors, and
// `first_reduction` is the first leaf that reduces (or their number). CannotTensorize, naming the
// loop, when the loops do not compute what the intrinsic does.
Tensorized tensorized_part(const ScheduleData& schedule, const StageData& stage,
                           size_t first_reduction, const std::vector<Var>& vars,
                           const std::vector<Expr>& conditions, const DomainMap& domains,
                           Analyzer& analyzer);

}  // namespace tw
