// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/schedule.h"

namespace tw {

// A copy of the schedule with inlining carried out and root axes that are loops rebased to start at
// zero. The trace is unchanged.
Schedule normalize(const Schedule& schedule);
// The same of a schedule that nobody needs as it was.
Schedule normalize(Schedule&& schedule);

}  // namespace tw
