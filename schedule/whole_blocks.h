// SPDX-License-Identifier: Apache-2.0
// Extents of stages that an intrinsic computes: where they are no multiple of its blocks, whole
// blocks are computed, and what they compute beyond the stage's own points is not looked at.
//
// For a data axis that is so if all that is read there is in memory (overhang.h decides whether it
// is, and tests the points if not). For an axis of a reduction what is added must be zero: a sum of
// products whose factors lie in tiles that transform_layout padded with zeros.
#pragma once

#include "ir/arithmetic/analyzer.h"
#include "schedule/relation.h"
#include "schedule/schedule_data.h"

namespace tw {

// The extent of the stage's region along a data axis: `extent`, or that of whole blocks.
Expr region_of_blocks(const StageData& stage, const IterVar& axis, const Expr& extent);
// The domain of an axis of the stage's reduction: its own, or that of whole blocks where nothing is
// added beyond.
Range domain_of_blocks(const ScheduleData& schedule, const StageData& stage, const IterVar& axis,
                       Analyzer& analyzer);

}  // namespace tw
