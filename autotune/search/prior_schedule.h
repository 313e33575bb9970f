// SPDX-License-Identifier: Apache-2.0
// A schedule for a program that nobody tuned.
#pragma once

#include <cstdint>
#include <vector>

#include "autotune/space/space.h"
#include "autotune/task/task.h"
#include "schedule/trace.h"

namespace tw::autotune {

struct PriorChoice {
  Trace trace;
  double seconds = 0;  // as the prior estimates
  size_t points = 0;   // of the design space that were estimated
};

// The best of some hundred points of the design space by the analytical prior: what an untuned
// build uses, and where tuning begins. Deterministic, on any number of threads. Throws
// NoDesignSpace.
PriorChoice prior_choice(const Task& task);
// Its trace.
Trace prior_schedule(const Task& task);

// The best points of one sketch by the prior, where different climbers have ended, fastest first.
// None where the sketch has no legal point that is met.
std::vector<Point> prior_points(const Task& task, const Space& space, size_t sketch, uint64_t seed);

}  // namespace tw::autotune
