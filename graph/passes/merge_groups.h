// SPDX-License-Identifier: Apache-2.0
// Fusion beyond the rules of GraphFusePartition: what it left apart becomes one kernel where the
// log or the prior says that one takes less time than several. So do the steps of a softmax or a
// layer norm, a reduction and what its input or its result goes through, and chains through
// transpositions.
//
//   m = max(x)      s = sum(e)       one kernel, if it is expected to be faster than the four
//   e = exp(x - m)  y = e / s        groups [m], [x - m, e], [s], [y]
#pragma once

#include "graph/graph.h"

namespace tw::graph {

// Changes `group_root` and `fusion_reason` of a partitioned graph. A merged group has one end that
// others read, so that no group comes to wait for itself. Shapes and types that are unknown leave
// the graph as it is.
void merge_groups(Graph& graph);

}  // namespace tw::graph
