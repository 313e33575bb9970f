// SPDX-License-Identifier: Apache-2.0
// AnnotateTarget: each instance of a pattern that MergeComposite found is marked as a region of its
// own.
#include <algorithm>
#include <map>

#include "graph/byoc/annotation.h"
#include "graph/byoc/function.h"
#include "graph/byoc/pattern_table.h"
#include "graph/pass.h"
#include "graph/rewrite.h"

namespace tw::graph {

Graph annotate_target(Graph graph) {
  const PatternTable table = pattern_table_of(graph);
  return rewrite(graph, [&](size_t, const NodeRef& node) -> Replacement {
    if (!node->function) return std::nullopt;
    const std::string& name = text_of(*node, "Composite");
    const bool known =
        std::ranges::any_of(table.patterns, [&](const TablePattern& p) { return p.name == name; });
    if (!known) return std::nullopt;
    Node next = *node;
    for (Entry& e : next.inputs) e = make_begin(e, table.compiler);
    std::vector<Entry> outputs = entries_of(make_node(std::move(next)));
    for (Entry& e : outputs) e = make_end(e, table.compiler);
    return outputs;
  });
}

}  // namespace tw::graph
