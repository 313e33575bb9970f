// SPDX-License-Identifier: Apache-2.0
// A schedule for a program that nobody tuned.
#pragma once

#include "autotune/task.h"
#include "schedule/trace.h"

namespace tw::autotune {

// The best of some hundred points of the design space by the analytical prior: what an untuned
// build uses, and where tuning begins. Deterministic, on any number of threads. Throws
// NoDesignSpace.
Trace prior_schedule(const Task& task);

}  // namespace tw::autotune
