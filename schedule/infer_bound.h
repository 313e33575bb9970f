// SPDX-License-Identifier: Apache-2.0
// Bound inference: which part of each stage's output its consumers need, and from it the domain of
// every axis.
#pragma once

#include "schedule/relation.h"
#include "schedule/schedule.h"
#include "schedule/schedule_options.h"

namespace tw {

// Domain of every axis of every stage. The schedule must be normalised. BadAttach when a stage is
// computed where one of its consumers cannot see it.
//
// A stage at the outermost level is computed whole. A stage inside a loop is computed for what its
// consumers read during one iteration: loops outside stand still, loops inside run over all their
// domain. That region may reach outside the stage's tensor, where a consumer's tile overhangs; then
// schedule_ops guards the points.
DomainMap infer_bound(const Schedule& schedule, const ScheduleOptions& options = {});

}  // namespace tw
