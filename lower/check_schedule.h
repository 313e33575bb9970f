// SPDX-License-Identifier: Apache-2.0
// What is wrong with a schedule, as `check` of schedule/validate.h, and with where the memory of
// its tensors lies for the intrinsics that address it, which only lowering knows.
#pragma once

#include <vector>

#include "schedule/validate.h"

namespace tw {

// CannotTensorize too for strides and offsets that an intrinsic does not take, of arguments that
// are row-major without gaps.
std::vector<Finding> check_lowered(const Schedule& schedule,
                                   const std::vector<te::Tensor>& stored = {});

}  // namespace tw
