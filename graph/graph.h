// SPDX-License-Identifier: Apache-2.0
// Graphs: outputs, and what passes found out about the nodes below them, by name. NNVM's
// nnvm.graph.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "graph/node.h"
#include "graph/shape.h"

namespace tw::graph {

struct CompiledGroups;  // graph/build.h

// A named attribute of a graph. Lists run over nodes or entries in the order of GraphIndex; an
// element type stands there as its number (graph/dtypes.h), -1 where it is unknown.
using GraphAttribute =
    std::variant<int64_t, std::string, std::vector<int64_t>, std::vector<std::string>,
                 std::vector<Shape>, std::vector<Entry>, std::shared_ptr<const CompiledGroups>>;
// How JSON files and _set_json_attr name the kind: int, str, list_int, list_str, list_shape; and
// list_symbol and module, which are in no file.
std::string_view kind_of(const GraphAttribute& attribute);

struct Graph {
  std::vector<Entry> outputs;
  std::map<std::string, GraphAttribute, std::less<>> attributes;

  // Null when there is none, or one of another kind.
  template <class T>
  const T* find(std::string_view name) const {
    const auto it = attributes.find(name);
    return it == attributes.end() ? nullptr : std::get_if<T>(&it->second);
  }
};

// Nodes and entries by number: nodes in the order of nodes_of, entries node by node.
class GraphIndex {
 public:
  explicit GraphIndex(const Graph& graph);

  const std::vector<NodeRef>& nodes() const { return nodes_; }
  size_t num_nodes() const { return nodes_.size(); }
  size_t num_entries() const { return first_entry_.back(); }
  uint32_t node_id(const Node& node) const { return ids_.at(&node); }
  size_t entry_id(const Entry& e) const { return entry_id(node_id(*e.node), e.index); }
  size_t entry_id(uint32_t node, uint32_t output) const { return first_entry_[node] + output; }
  // The variables, in order.
  const std::vector<uint32_t>& inputs() const { return inputs_; }
  std::vector<std::string> input_names() const;
  const std::vector<Entry>& outputs() const { return outputs_; }
  // NNVM's node_row_ptr: the first entry of each node, and behind the last their number.
  const std::vector<size_t>& first_entries() const { return first_entry_; }

 private:
  std::vector<NodeRef> nodes_;
  std::vector<Entry> outputs_;
  std::vector<size_t> first_entry_;
  std::vector<uint32_t> inputs_;
  std::unordered_map<const Node*, uint32_t> ids_;  // look-ups only
};

// The graph as the documents print it:
//   Graph(%x, %w) {
//     %2 = conv2d(%x, %w, channels='3')
//     ret %2
//   }
//   graph_attr_keys = [shape]
std::string to_text(const Graph& graph);

}  // namespace tw::graph
