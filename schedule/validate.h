// SPDX-License-Identifier: Apache-2.0
// What only a whole schedule can be asked.
#pragma once

#include "schedule/schedule_data.h"

namespace tw {

// BadAttach, naming the consumer, when a stage is computed inside a loop that one of its consumers
// is not inside of.
void validate_attachments(const ScheduleData& schedule);

// BadAttach when a share is to be fetched of what a loop reads that is not around the fetching one.
void validate_prefetches(const ScheduleData& schedule);

// True when `stage` runs inside the loop `axis` of `parent`.
bool runs_inside(const StageData& stage, const StageData& parent, const IterVar& axis);

}  // namespace tw
