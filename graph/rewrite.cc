// SPDX-License-Identifier: Apache-2.0
#include "graph/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "graph/pass.h"
#include "runtime/error.h"

namespace tw::graph {
namespace {

class Rewriter {
 public:
  Entry entry(const Entry& e) const {
    const auto known = replaced_.find(e.node.get());
    return known == replaced_.end() ? e : known->second[e.index];
  }

  NodeRef on_new_inputs(const NodeRef& node) const {
    Node next = *node;
    for (Entry& e : next.inputs) e = entry(e);
    next.control_dependencies.clear();
    for (const NodeRef& before : node->control_dependencies) {
      const auto known = replaced_.find(before.get());
      if (known == replaced_.end())
        next.control_dependencies.push_back(before);
      else
        for (const Entry& e : known->second) {
          if (!e.node->is_variable()) add_once(next.control_dependencies, e.node);
        }
    }
    const bool same =
        next.inputs == node->inputs && next.control_dependencies == node->control_dependencies;
    return same ? node : make_node(std::move(next));
  }

  void replace(const NodeRef& node, const NodeRef& next, Replacement by) {
    if (!by && next == node) return;
    if (!by) by = entries_of(next);
    TW_CHECK(by->size() == static_cast<size_t>(node->num_outputs()), node->name);
    replaced_[node.get()] = *std::move(by);
  }

 private:
  static void add_once(std::vector<NodeRef>& nodes, const NodeRef& node) {
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
  }
  std::unordered_map<const Node*, std::vector<Entry>> replaced_;  // look-ups only
};

// What a list over entries, or else one over inputs, says of variables which are there before and
// after.
template <class T>
void keep_of_variables(const Graph& graph, const GraphIndex& before, const GraphIndex& after,
                       Graph& result, const std::string& name, const T& unknown) {
  const auto* all = graph.find<std::vector<T>>(name);
  const auto* inputs = graph.find<std::vector<T>>(name + "_inputs");
  const bool of_entries = all != nullptr && all->size() == before.num_entries();
  if (!of_entries && inputs == nullptr) return;
  std::unordered_map<const Node*, const T*> values;  // look-ups only
  for (size_t k = 0; k < before.inputs().size(); ++k) {
    const uint32_t id = before.inputs()[k];
    if (of_entries) {
      values[before.nodes()[id].get()] = &(*all)[before.entry_id(id, 0)];
    } else if (k < inputs->size()) {
      values[before.nodes()[id].get()] = &(*inputs)[k];
    }
  }
  std::vector<T> kept;
  for (uint32_t id : after.inputs()) {
    const auto known = values.find(after.nodes()[id].get());
    kept.push_back(known == values.end() ? unknown : *known->second);
  }
  result.attributes[name + "_inputs"] = std::move(kept);
}

}  // namespace

Graph rewrite(const Graph& graph,
              const std::function<Replacement(size_t id, const NodeRef& node)>& replace) {
  Rewriter rewriter;
  const std::vector<NodeRef> nodes = nodes_of(graph.outputs);
  for (size_t id = 0; id < nodes.size(); ++id) {
    const NodeRef next = rewriter.on_new_inputs(nodes[id]);
    rewriter.replace(nodes[id], next, replace(id, next));
  }
  std::vector<Entry> outputs;
  for (const Entry& e : graph.outputs) outputs.push_back(rewriter.entry(e));
  return with_outputs(graph, std::move(outputs));
}

std::string take_name(const std::string& wanted, std::set<std::string>& taken) {
  std::string name = wanted;
  for (int k = 1; !taken.insert(name).second; ++k) name = fmt::format("{}_{}", wanted, k);
  return name;
}

Graph with_outputs(const Graph& graph, std::vector<Entry> outputs) {
  Graph result{.outputs = std::move(outputs)};
  for (const auto& [name, value] : graph.attributes) {
    const bool of_all =
        std::holds_alternative<int64_t>(value) || std::holds_alternative<std::string>(value);
    const bool found = std::ranges::any_of(passes(), [&](const Pass& pass) {
      return std::ranges::find(pass.gives, name) != pass.gives.end();
    });
    if (of_all && !found) result.attributes[name] = value;
  }
  const GraphIndex before(graph), after(result);
  keep_of_variables<Shape>(graph, before, after, result, "shape", {});
  keep_of_variables<int64_t>(graph, before, after, result, "dtype", -1);
  return result;
}

}  // namespace tw::graph
