// SPDX-License-Identifier: Apache-2.0
// What must hold of loops that are bound to thread axes, once their extents are known.
#pragma once

#include "schedule/relation.h"
#include "schedule/schedule_data.h"

namespace tw {

// BadArgument for a loop longer than its thread axis, and for a store predicate that leaves an
// element without a thread that stores it.
void check_threads(const ScheduleData& schedule, const DomainMap& domains, Analyzer& analyzer);

}  // namespace tw
