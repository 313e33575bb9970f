// SPDX-License-Identifier: Apache-2.0
#include "graph/node.h"

#include <unordered_set>
#include <utility>

#include "graph/byoc/function.h"
#include "graph/op.h"

namespace tw::graph {
namespace {

// The k-th node that must run before this one; null behind the last.
const NodeRef* dependency(const Node& node, size_t k) {
  if (k < node.inputs.size()) return &node.inputs[k].node;
  k -= node.inputs.size();
  return k < node.control_dependencies.size() ? &node.control_dependencies[k] : nullptr;
}

void take_dependencies(Node& node, std::vector<NodeRef>& into) {
  for (Entry& e : node.inputs) into.push_back(std::move(e.node));
  for (NodeRef& n : node.control_dependencies) into.push_back(std::move(n));
}

}  // namespace

Node::~Node() {
  std::vector<NodeRef> freed;
  take_dependencies(*this, freed);
  while (!freed.empty()) {
    const NodeRef node = std::move(freed.back());
    freed.pop_back();
    if (node.use_count() == 1) take_dependencies(*node, freed);
  }
}

int Node::num_outputs() const {
  if (function) return static_cast<int>(function->outputs.size());
  if (is_variable() || !op->num_outputs) return 1;
  return op->num_outputs(AttributeValues(op->attributes, attributes, name));
}

NodeRef make_node(Node node) { return std::make_shared<Node>(std::move(node)); }

NodeRef make_variable(std::string name, Attributes attributes) {
  Node node;
  node.name = std::move(name);
  node.attributes = std::move(attributes);
  return make_node(std::move(node));
}

std::vector<Entry> entries_of(const NodeRef& node) {
  std::vector<Entry> entries;
  for (uint32_t k = 0; k < static_cast<uint32_t>(node->num_outputs()); ++k)
    entries.push_back({node, k});
  return entries;
}

std::vector<NodeRef> nodes_of(std::span<const Entry> outputs) {
  struct Visit {
    NodeRef node;
    size_t next = 0;  // dependency to look at
  };
  std::vector<NodeRef> order;
  std::unordered_set<const Node*> seen;
  std::vector<Visit> stack;
  const auto enter = [&](const NodeRef& node) {
    if (seen.insert(node.get()).second) stack.push_back({node});
  };
  for (const Entry& output : outputs) {
    enter(output.node);
    while (!stack.empty()) {
      const NodeRef* next = dependency(*stack.back().node, stack.back().next++);
      if (next != nullptr) {
        enter(*next);
      } else {
        order.push_back(std::move(stack.back().node));
        stack.pop_back();
      }
    }
  }
  return order;
}

}  // namespace tw::graph
