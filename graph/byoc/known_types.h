// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/graph.h"

namespace tw::graph {

// The graph with the shapes and types of all entries, as far as they follow from those that it has
// or that its variables say.
Graph known_types(Graph graph);

}  // namespace tw::graph
