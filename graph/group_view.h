// SPDX-License-Identifier: Apache-2.0
// Groups that need no kernel, since memory can be laid out so that their outputs are there already.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "graph/shape.h"

namespace tw::graph {

// The entries whose bytes, one after the other, are those of the outputs of the last of `nodes`, a
// group in the graph's order (Group::parts). None where the group computes, or where PlanMemory
// could not have them in the memory of the outputs. `shapes` and `types` are by entry.
std::vector<Entry> parts_of(const std::vector<NodeRef>& nodes, const GraphIndex& index,
                            const std::vector<Shape>& shapes, const std::vector<int64_t>& types);

}  // namespace tw::graph
