// SPDX-License-Identifier: Apache-2.0
// Which loops of a schedule have iterations that depend on each other.
//
// A loop of a stage walks the points of its operation's root axes, each point once: relations are
// one to one where their tests hold. So two iterations write different elements, unless they differ
// only in a root axis along which an element is written several times, that of a reduction, or read
// after it was written, that of a scan. What is computed inside a loop is stored there as well, for
// each iteration anew; where its caller keeps it, the regions must be apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule_data.h"

namespace tw {

// Whether iterations of a loop with these marks run in any order, or at once, and how it is called;
// empty when they run one after the other.
std::string concurrency(const AxisAttributes& marks);
// Iterations over such an axis must run one after the other.
bool is_dependent(IterKind kind);

// The root axes that the leaf's values are part of, in the order of the operation.
std::vector<IterVar> roots_of(const StageData& stage, const IterVar& leaf);
// That of them whose iterations depend on each other; undefined when there is none, as where the
// loop has a single iteration. The threads of a block may reduce together: `thread` is the axis
// that the loop is bound to, "" where it is none; without it, what the loop's marks say.
IterVar dependent_root(const StageData& stage, const IterVar& leaf, std::string_view thread);
IterVar dependent_root(const StageData& stage, const IterVar& leaf);

// The stage's loops over terms of its reduction, outermost first, in the order in which they take
// the terms as the expression does; empty where none does, as of axes that were fused the other way
// round. Those of one iteration are left out.
std::vector<IterVar> loops_in_order_of_terms(const StageData& stage);
// Whether they stand in this order.
bool takes_terms_in_order(const StageData& stage);

// Whether the regions of `stage` that two iterations of `loop` compute are proven to have no
// element in common, the loops around it standing still. `loop` is a loop around the stage, and
// `inner` are those between the two.
bool regions_are_apart(const StageData& stage, const IterVar& loop,
                       const std::vector<IterVar>& inner, const DomainMap& domains);

}  // namespace tw
