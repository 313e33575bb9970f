// SPDX-License-Identifier: Apache-2.0
// Graphs in JSON, as NNVM's SaveJSON writes and LoadJSON reads them.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace tw::graph {

std::string save_json(const Graph& graph);
// BadGraph, with the node and what would be legal, for text that is no graph.
Graph load_json(std::string_view text);

// The value of one attribute, without its kind.
std::string attribute_json(const GraphAttribute& attribute);
// BadGraph for a kind that there is not, or a value of another.
GraphAttribute read_attribute_json(const std::string& kind, std::string_view text);

}  // namespace tw::graph
