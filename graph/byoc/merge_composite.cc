// SPDX-License-Identifier: Apache-2.0
// MergeComposite: instances of a table's patterns become functions, named after the pattern.
//
//   %2 = conv2d(%x, %w)        %2 = fn (%FunctionVar_0, %FunctionVar_1,
//   Composite="dnnl.conv2d_relu") { %3 = relu(%2)         →      …
//                              }
//                              %3 = %2(%x, %w)
#include <vector>

#include "graph/byoc/function.h"
#include "graph/byoc/known_types.h"
#include "graph/byoc/pattern_table.h"
#include "graph/pass.h"

namespace tw::graph {

Graph with_composites(const Graph& graph, const PatternTable& table, const GraphIndex& index,
                      const CompositeChoice& choice) {
  std::vector<int64_t> region_of(index.num_nodes(), kNoRegion);
  for (size_t r = 0; r < choice.composites.size(); ++r) {
    for (uint32_t id : choice.composites[r].nodes) region_of[id] = static_cast<int64_t>(r);
  }
  return extract_functions(graph, region_of, [&](size_t region) {
    const Composite& c = choice.composites[region];
    return FunctionHead{.name = index.nodes()[c.root]->name,
                        .attributes = {{"Composite", table.patterns[c.pattern].name}},
                        .parameters = "FunctionVar_"};
  });
}

Graph merge_composite(Graph graph) {
  const PatternTable table = pattern_table_of(graph);
  graph = known_types(std::move(graph));
  const PatternGraph patterns(graph);
  return with_composites(graph, table, patterns.index(), require_composites(table, patterns));
}

}  // namespace tw::graph
