// SPDX-License-Identifier: Apache-2.0
// Which stages are computed when: in each call, or once when the kernel is built.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace tw {

// A variable that the stage's size, loops or elements depend on, and that is no axis of it: only a
// call has its value. Undefined where there is none.
Var symbol_of(const StageData& stage);

// The stages that one of several kernels of a schedule computes: those at the outermost level, with
// all that is inside their loops.
struct KernelPart {
  std::vector<const StageData*> stages;
  std::vector<te::Tensor> given;  // whose memory belongs to the caller, like that of outputs
};
// A schedule some of whose stages are precomputed from the `bound` placeholders, in two parts.
// What both need of other stages, both compute.
struct ScheduleParts {
  KernelPart main, preparation;
  bool is_split() const { return !preparation.stages.empty(); }
};
ScheduleParts parts_of(const Schedule& normalized, const std::vector<te::Tensor>& bound);

}  // namespace tw
