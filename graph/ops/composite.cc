// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/composite.h"

#include <fmt/format.h>

#include <unordered_map>

#include "graph/graph.h"
#include "graph/pass.h"
#include "graph/rewrite.h"

namespace tw::graph {

Entries composite_gradient(const NodeRef& node, const std::vector<size_t>& moving,
                           const Composition& compose, const Entries& heads) {
  const GradientOf n(node);
  // Variables stand for inputs and heads, which may depend on each other.
  std::unordered_map<const Node*, Entry> meant;  // look-ups only
  const auto stand_in = [&](const Entry& e) {
    const Entry variable{make_variable(fmt::format("{}_part{}", node->name, meant.size()))};
    meant.emplace(variable.node.get(), e);
    return variable;
  };
  Entries inputs, of_outputs, xs;
  for (const Entry& e : node->inputs) inputs.push_back(stand_in(e));
  for (const Entry& e : heads) of_outputs.push_back(stand_in(e));
  for (size_t k : moving) xs.push_back(inputs[k]);

  Graph graph;
  graph.attributes["grad_ys"] = compose(n, inputs);
  graph.attributes["grad_xs"] = xs;
  graph.attributes["grad_ys_out_grad"] = of_outputs;
  const Graph gradients =
      rewrite(apply(std::move(graph), "Gradient"), [&](size_t, const NodeRef& part) -> Replacement {
        const auto known = meant.find(part.get());
        if (known == meant.end()) return std::nullopt;
        return Entries{known->second};
      });
  Entries of_inputs(node->inputs.size());
  for (size_t k = 0; k < moving.size(); ++k) of_inputs[moving[k]] = gradients.outputs[k];
  return of_inputs;
}

}  // namespace tw::graph
