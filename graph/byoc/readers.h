// SPDX-License-Identifier: Apache-2.0
// Who reads the nodes of a graph.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace tw::graph {

class Readers {
 public:
  explicit Readers(const GraphIndex& index)
      : readers_(index.num_nodes()), is_output_(index.num_nodes(), false) {
    for (uint32_t id = 0; id < index.num_nodes(); ++id) {
      for (const Entry& e : index.nodes()[id]->inputs)
        readers_[index.node_id(*e.node)].push_back(id);
      for (const NodeRef& n : index.nodes()[id]->control_dependencies)
        readers_[index.node_id(*n)].push_back(id);
    }
    for (const Entry& e : index.outputs()) is_output_[index.node_id(*e.node)] = true;
  }

  const std::vector<uint32_t>& of(uint32_t id) const { return readers_[id]; }

  // Whether of these nodes, in order, only `root` is read by others or by who runs the graph. Then
  // they can become one node: a way that leaves them leaves through the root.
  bool is_closed(std::span<const uint32_t> nodes, uint32_t root) const {
    return std::ranges::all_of(nodes, [&](uint32_t id) {
      return id == root || (!is_output_[id] && std::ranges::all_of(readers_[id], [&](uint32_t r) {
               return std::ranges::binary_search(nodes, r);
             }));
    });
  }

 private:
  std::vector<std::vector<uint32_t>> readers_;
  std::vector<bool> is_output_;
};

}  // namespace tw::graph
