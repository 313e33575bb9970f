// SPDX-License-Identifier: Apache-2.0
// SimplifyInference: operators that training needs, as inference has them (Op::simplify).
//
//   batch_norm(x, gamma, beta, mean, var)  →  x * scale + shift
//     scale = gamma / sqrt(var + epsilon), shift = beta - mean * scale
//   dropout(x)                             →  x
//
// The new graph has no attributes, as NNVM's had none: shapes are given once more.
#include "graph/op.h"
#include "graph/pass.h"
#include "graph/rewrite.h"

namespace tw::graph {

Graph simplify_inference(Graph graph) {
  const GraphIndex index(graph);
  const auto& shapes = list_of<Shape>(graph, "shape", index.num_entries());
  const auto simpler = [&](size_t id, const NodeRef& node) -> Replacement {
    if (node->is_variable() || !node->op->simplify) return std::nullopt;
    std::vector<Shape> inputs;
    for (const Entry& e : index.nodes()[id]->inputs) inputs.push_back(shapes[index.entry_id(e)]);
    return node->op->simplify(node, inputs);
  };
  return {.outputs = rewrite(graph, simpler).outputs};
}

}  // namespace tw::graph
