// SPDX-License-Identifier: Apache-2.0
// Graphs and their functions as functional text, as Relay prints it:
//
//   fn (%x: Tensor[(1, 16), float32]) -> Tensor[(1, 16), float32] {
//     %0 = nn.relu(%x) /* ty=Tensor[(1, 16), float32] */;
//     add(%0, %0) /* ty=Tensor[(1, 16), float32] */
//   }
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"
#include "graph/inference.h"

namespace tw::graph {

// Types are those that the graph has, or that follow from its variables; what is unknown stands
// there as `?`. `show_meta_data`: behind the text, what it calls meta[…].
std::string to_functional_text(const Graph& graph, bool show_meta_data = false);

// What an operator is called there: nn.conv2d.
std::string_view printed_name(std::string_view op);

// "Tensor[(1, 16), float32]".
std::string type_text(const Shape& shape, const KnownType& type);

}  // namespace tw::graph
