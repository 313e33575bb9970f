// SPDX-License-Identifier: Apache-2.0
// What passes that make nodes anew are written with.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace tw::graph {

// What stands for the outputs of a node in the new graph; nothing: the node stays.
using Replacement = std::optional<std::vector<Entry>>;

// The graph with nodes replaced. `replace` sees each once, inputs before those who read them: its
// number in the graph, and the node on the new inputs, which is the same object where none is new.
Graph rewrite(const Graph& graph,
              const std::function<Replacement(size_t id, const NodeRef& node)>& replace);

// The wanted name, or if it is taken that with the first number that is free: `name_1`. It is taken
// then.
std::string take_name(const std::string& wanted, std::set<std::string>& taken);

// Other outputs under the attributes that hold whatever the nodes are: numbers and texts, but for
// those that a pass found out. What is known of the shapes and types of variables goes on as
// 'shape_inputs' and 'dtype_inputs', since it may have followed from a node that is no more.
Graph with_outputs(const Graph& graph, std::vector<Entry> outputs);

}  // namespace tw::graph
