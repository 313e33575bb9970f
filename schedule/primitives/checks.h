// SPDX-License-Identifier: Apache-2.0
// What primitives that make or remake operations have in common.
#pragma once

#include <memory>
#include <string>

#include "schedule/schedule_data.h"
#include "schedule/te/compute.h"

namespace tw {

// The stage that the primitive is called on as expressions of positions, for one that takes them
// apart; BadArgument when it is computed in another way.
const te::ComputeNode& require_compute(const PrimitiveCall& call);
// BadArgument for a storage scope that lowering does not know.
void require_scope(const PrimitiveCall& call, const std::string& scope);
// Memory that any stage may have: "", where nothing was said, is global until lowering finds
// better.
bool is_global(const std::string& scope);
// What a copy of a tensor in that scope is called.
std::string name_in_scope(const std::string& name, const std::string& scope);
// Refuses a stage that computes in the memory of another.
void require_own_memory(const PrimitiveCall& call);
// Refuses a stage whose memory is addressed by statements.
void require_unaddressed(const PrimitiveCall& call);
// Refuses a stage whose relations, order of loops, marks or attached stages a new operation would
// lose.
void require_untouched(const PrimitiveCall& call, const StageData& stage);
// The new stage, right before or right after `place` in the order of computation, in each step of
// the scan that computes `place` in its steps, and in the group that `place` is in.
StageData& insert_stage(ScheduleData& schedule, const StageData& place, bool after,
                        std::unique_ptr<StageData> stage);

}  // namespace tw
