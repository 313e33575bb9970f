// SPDX-License-Identifier: Apache-2.0
// AnnotateTarget: each instance of a pattern is marked as a region of its own: those that
// MergeComposite found, or, where there are none, nodes of the graph.
#include <algorithm>
#include <vector>

#include "graph/byoc/annotation.h"
#include "graph/byoc/function.h"
#include "graph/byoc/known_types.h"
#include "graph/byoc/pattern_table.h"
#include "graph/pass.h"
#include "graph/rewrite.h"

namespace tw::graph {
namespace {

// What region each node is in.
struct Instances {
  std::vector<int64_t> region_of;
  std::vector<uint32_t> roots;  // of regions, whose outputs others read
};

Instances composites_of(const GraphIndex& index, const PatternTable& table) {
  Instances found{.region_of = std::vector<int64_t>(index.num_nodes(), kNoRegion), .roots = {}};
  for (uint32_t id = 0; id < index.num_nodes(); ++id) {
    const Node& node = *index.nodes()[id];
    if (!node.function) continue;
    const std::string& name = text_of(node, "Composite");
    if (std::ranges::find(table.patterns, name, &TablePattern::name) == table.patterns.end())
      continue;
    found.region_of[id] = static_cast<int64_t>(found.roots.size());
    found.roots.push_back(id);
  }
  return found;
}

Instances matches_of(const Graph& graph, const PatternTable& table) {
  const PatternGraph patterns(known_types(graph));
  Instances found{.region_of = std::vector<int64_t>(patterns.index().num_nodes(), kNoRegion),
                  .roots = {}};
  for (const Composite& c : require_composites(table, patterns).composites) {
    for (uint32_t id : c.nodes) found.region_of[id] = static_cast<int64_t>(found.roots.size());
    found.roots.push_back(c.root);
  }
  return found;
}

}  // namespace

Graph annotate_target(Graph graph) {
  const PatternTable table = pattern_table_of(graph);
  const GraphIndex index(graph);
  Instances found = composites_of(index, table);
  if (found.roots.empty()) found = matches_of(graph, table);
  return rewrite(graph, [&](size_t id, const NodeRef& node) -> Replacement {
    const int64_t region = found.region_of[id];
    if (region == kNoRegion) return std::nullopt;
    Node next = *node;
    const std::vector<Entry>& before = index.nodes()[id]->inputs;
    for (size_t k = 0; k < before.size(); ++k) {
      if (found.region_of[index.node_id(*before[k].node)] != region)
        next.inputs[k] = make_begin(next.inputs[k], table.compiler);
    }
    std::vector<Entry> outputs = entries_of(make_node(std::move(next)));
    if (found.roots[static_cast<size_t>(region)] != id) return outputs;
    for (Entry& e : outputs) e = make_end(e, table.compiler);
    return outputs;
  });
}

}  // namespace tw::graph
