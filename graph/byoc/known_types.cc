// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/known_types.h"

#include "graph/inference.h"
#include "graph/pass.h"

namespace tw::graph {

Graph known_types(Graph graph) {
  const size_t entries = GraphIndex(graph).num_entries();
  const auto has = [&](const char* name, auto element) {
    const auto* list = graph.find<std::vector<decltype(element)>>(name);
    return list != nullptr && list->size() == entries;
  };
  if (!has("shape", Shape())) graph = infer_shape(std::move(graph));
  if (!has("dtype", int64_t{})) graph = infer_type(std::move(graph));
  return graph;
}

}  // namespace tw::graph
