// SPDX-License-Identifier: Apache-2.0
// Bound inference: which part of each stage's output its consumers need, and from it the domain of
// every axis.
#pragma once

#include "schedule/relation.h"
#include "schedule/schedule.h"

namespace tw {

// A copy of the schedule with inlining carried out and reduction leaves rebased to start at zero.
// The trace is unchanged.
Schedule normalize(const Schedule& schedule);

// Domain of every axis of every stage. The schedule must be normalised.
DomainMap infer_bound(const Schedule& schedule);

struct ScheduleOptions {
  bool clamp_split_factor = true;      // a factor above the extent becomes the extent
  bool keep_trivial_loops = false;     // loops of extent 1 stay
};
DomainMap infer_bound(const Schedule& schedule, const ScheduleOptions& options);

// The loop nest: Realize, Produce, loops, predicates, Provide. Each store carries its stage's
// script line as attr source_line.
Stmt schedule_ops(const Schedule& schedule, const DomainMap& domains,
                  const ScheduleOptions& options = {});

}  // namespace tw
