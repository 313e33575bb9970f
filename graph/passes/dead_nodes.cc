// SPDX-License-Identifier: Apache-2.0
// DeadNodes: nodes that do nothing (Op::identity) leave the graph: copies, reshapes to the same
// shape, casts to the same type, transpositions and flips of which the second undoes the first.
//
//   %1 = transpose(%x, axes='(1, 2, 0)')     →  ret %x
//   %2 = transpose(%1, axes='(2, 0, 1)')
//   ret %2
#include "graph/dtypes.h"
#include "graph/op.h"
#include "graph/pass.h"
#include "graph/rewrite.h"

namespace tw::graph {

Graph dead_nodes(Graph graph) {
  const GraphIndex index(graph);
  const auto& shapes = list_of<Shape>(graph, "shape", index.num_entries());
  const auto& types = list_of<int64_t>(graph, "dtype", index.num_entries());
  const std::set<const Node*> written = written_variables(index.nodes());
  return rewrite(graph, [&](size_t id, const NodeRef& node) -> Replacement {
    if (node->is_variable() || !node->op->identity || node->num_outputs() != 1 ||
        !node->control_dependencies.empty()) {
      return std::nullopt;
    }
    Known known{.output = shapes[index.entry_id(static_cast<uint32_t>(id), 0)]};
    for (const Entry& e : index.nodes()[id]->inputs) {
      known.inputs.push_back(shapes[index.entry_id(e)]);
      known.input_types.push_back(type_of_number(static_cast<int>(types[index.entry_id(e)])));
    }
    const auto same = node->op->identity(*node, known);
    // A copy of a variable that is written to is what the variable was.
    if (!same || written.contains(same->node.get())) return std::nullopt;
    return std::vector{*same};
  });
}

}  // namespace tw::graph
