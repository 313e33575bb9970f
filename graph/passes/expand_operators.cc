// SPDX-License-Identifier: Apache-2.0
// ExpandOperators: nodes whose operator is an expression of simpler ones and has no computation of
// its own, as that expression (Op::expand). Expressions may call such operators again, so shapes
// are inferred and nodes replaced until none is left; a graph without any stays as it is.
#include <algorithm>

#include "graph/dtypes.h"
#include "graph/expansion.h"
#include "graph/op.h"
#include "graph/pass.h"
#include "graph/rewrite.h"

namespace tw::graph {
namespace {

bool is_expression(const NodeRef& node) {
  return !node->is_variable() && node->op->expand && !node->op->compute;
}

}  // namespace

Graph expand_operators(Graph graph) {
  while (std::ranges::any_of(nodes_of(graph.outputs), is_expression)) {
    graph = infer_type(infer_shape(std::move(graph)));
    const GraphIndex index(graph);
    const auto& shapes = list_of<Shape>(graph, "shape", index.num_entries());
    const auto& numbers = list_of<int64_t>(graph, "dtype", index.num_entries());
    const auto replace = [&](size_t id, const NodeRef& node) -> Replacement {
      if (!is_expression(node)) return std::nullopt;
      std::vector<Shape> inputs;
      std::vector<KnownType> types;
      for (const Entry& e : index.nodes()[id]->inputs) {
        inputs.push_back(shapes[index.entry_id(e)]);
        types.push_back(type_of_number(static_cast<int>(numbers[index.entry_id(e)])));
      }
      return expanded(node, inputs, types);
    };
    graph = with_outputs(graph, rewrite(graph, replace).outputs);
  }
  return graph;
}

}  // namespace tw::graph
