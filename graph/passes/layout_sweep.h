// SPDX-License-Identifier: Apache-2.0
// What CorrectLayout and AlterOpLayout know of layouts: the rules of operators, applied forward and
// backward until none names a dimension that had no name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/layout_choice.h"

namespace tw::graph {

class LayoutSweep {
 public:
  // Reads 'layout', the natural layouts, with 'natural_shape' or 'shape', and 'layout_inputs', in
  // which inputs come, all where they are. BadArgument, BadGraph and BadAttribute where these are
  // not of the graph, or no layouts.
  explicit LayoutSweep(const Graph& graph);

  const GraphIndex& index() const { return index_; }
  void find_natural_layouts();
  // By entry. What an entry is given in is known where the natural layout is.
  const Layout& natural(size_t entry) const { return natural_[entry]; }
  const Layout& given(size_t entry) const { return given_[entry]; }
  // What a node chooses. An input that is wanted in a layout of other dimensions than those that it
  // is given in has its names from elsewhere, and is wanted as the network was written; if these
  // are no names alone but blocks, that is BadGraph with the node.
  LayoutChoice choose(uint32_t node);

 private:
  bool visit(uint32_t node);

  GraphIndex index_;
  std::vector<Layout> natural_, given_;
  std::vector<Shape> shapes_;                               // in natural layouts
  std::vector<std::optional<AttributeValues>> attributes_;  // by node
};

// Attributes that stay true of a graph whose nodes are rewritten: all but what passes found out.
std::map<std::string, GraphAttribute, std::less<>> rewritten_attributes(const Graph& graph);

}  // namespace tw::graph
