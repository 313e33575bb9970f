// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

namespace tw::graph {

std::string_view kind_of(const GraphAttribute& attribute) {
  static constexpr std::string_view kKinds[] = {"int",        "str",         "list_int", "list_str",
                                                "list_shape", "list_symbol", "module"};
  return kKinds[attribute.index()];
}

GraphIndex::GraphIndex(const Graph& graph)
    : nodes_(nodes_of(graph.outputs)), outputs_(graph.outputs) {
  size_t entries = 0;
  for (size_t k = 0; k < nodes_.size(); ++k) {
    const Node& node = *nodes_[k];
    ids_[&node] = static_cast<uint32_t>(k);
    if (node.is_variable()) inputs_.push_back(static_cast<uint32_t>(k));
    first_entry_.push_back(entries);
    entries += static_cast<size_t>(node.num_outputs());
  }
  first_entry_.push_back(entries);
}

std::vector<std::string> GraphIndex::input_names() const {
  std::vector<std::string> names;
  for (uint32_t id : inputs_) names.push_back(nodes_[id]->name);
  return names;
}

}  // namespace tw::graph
