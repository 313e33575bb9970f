// SPDX-License-Identifier: Apache-2.0
// Which part of its iteration space a stage walks while one loop around it stands still.
#pragma once

#include <vector>

#include "ir/substitute.h"
#include "schedule/relation.h"
#include "schedule/schedule_data.h"

namespace tw {

// The values of the stage's root axes during one iteration of `axis`, a leaf of `parent`, inside
// which the stage runs (runs_inside): loops up to it stand still, those inside it run over all
// their domain. Unknown ranges are undefined.
DomainMap root_ranges(const StageData& stage, const StageData& parent, const IterVar& axis,
                      const DomainMap& domains, Analyzer& analyzer);

// The same as expressions: the root axes' values in terms of loops, of which those in `running` run
// over all their domain. It says more than ranges do of an expression of several axes that are
// fused.
struct RootValues {
  VarMap values;
  DomainMap running;
};
RootValues root_values(const StageData& stage, const StageData& parent, const IterVar& axis,
                       const DomainMap& domains);

// The same for one run of the stage's leaves from `inside` on; `vars` are the variables of its
// loops, undefined where there is none.
DomainMap root_ranges(const StageData& stage, const std::vector<Var>& vars, size_t inside,
                      const DomainMap& domains, Analyzer& analyzer);

// The loops strictly inside `axis` of `parent` that run around the stage, outermost first; the
// stage's own are not among them unless it is `parent`.
std::vector<IterVar> loops_between(const StageData& stage, const StageData& parent,
                                   const IterVar& axis);

}  // namespace tw
