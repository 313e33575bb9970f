// SPDX-License-Identifier: Apache-2.0
// The loop nest: Realize, Produce, loops, predicates, Provide.
#pragma once

#include "ir/node.h"
#include "schedule/kernel_part.h"
#include "schedule/relation.h"
#include "schedule/schedule.h"
#include "schedule/schedule_options.h"

namespace tw {

// Of a normalised schedule with the domains that infer_bound found. Outputs and placeholders belong
// to the caller and are not realized. SymbolicExtent for a vectorized or unrolled axis whose extent
// turns out not to be a constant.
Stmt schedule_ops(const Schedule& schedule, const DomainMap& domains,
                  const ScheduleOptions& options = {});
Stmt schedule_ops(const Schedule& schedule, const DomainMap& domains,
                  const ScheduleOptions& options, const KernelPart& part);

}  // namespace tw
