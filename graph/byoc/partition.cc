// SPDX-License-Identifier: Apache-2.0
// PartitionGraph: what lies between annotations becomes functions, which stand side by side.
//
//   %1 = compiler_begin(%x, 'dnnl')         %2 = fn (%dnnl_input0, Compiler="dnnl", …) {
//   %2 = relu(%1)                      →      relu(%dnnl_input0)
//   %3 = compiler_end(%2, 'dnnl')           };
//                                           %3 = %2(%x)
//
// The graph attribute `repair`, where it is not 0, has missing marks inserted; 'partition_repairs'
// says which.
#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "graph/byoc/annotation.h"
#include "graph/byoc/function.h"
#include "graph/pass.h"
#include "graph/rewrite.h"

namespace tw::graph {
namespace {

// A repair may show what was hidden behind it.
Graph repaired(Graph graph, std::vector<std::string>& inserted) {
  for (size_t before = inserted.size() + 1; inserted.size() != before;) {
    before = inserted.size();
    graph = repair_annotations(std::move(graph), inserted);
  }
  return graph;
}

}  // namespace

Graph partition_graph(Graph graph) {
  std::vector<std::string> inserted;
  const auto* repair = graph.find<int64_t>("repair");
  if (repair != nullptr && *repair != 0) graph = repaired(std::move(graph), inserted);
  const GraphIndex index(graph);
  const Annotations found = find_annotations(graph, index);
  require_no_faults(found);

  std::unordered_map<const Node*, int64_t> region_of;  // of new nodes; look-ups only
  const Graph plain = rewrite(graph, [&](size_t id, const NodeRef& node) -> Replacement {
    if (is_begin(*node) || is_end(*node)) return std::vector{node->inputs[0]};
    region_of[node.get()] = found.region_of[id];
    return std::nullopt;
  });
  std::vector<int64_t> regions;
  for (const NodeRef& node : nodes_of(plain.outputs)) regions.push_back(region_of.at(node.get()));
  std::map<std::string, int> count;  // by compiler
  Graph result = extract_functions(plain, regions, [&](size_t region) {
    const std::string& compiler = found.regions[region].compiler;
    const std::string symbol = fmt::format("{}_{}", compiler, count[compiler]++);
    return FunctionHead{
        .name = symbol,
        .attributes = {{"Compiler", compiler}, {"ExternalSymbol", symbol}, {"Primitive", "1"}},
        .parameters = compiler + "_input"};
  });
  result.attributes["partition_repairs"] = std::move(inserted);
  return result;
}

}  // namespace tw::graph
