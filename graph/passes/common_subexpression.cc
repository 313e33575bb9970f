// SPDX-License-Identifier: Apache-2.0
// CommonSubexpression: nodes that compute the same become one.
//
//   %1 = expand_dims(%s, axis='1')    →  %1 = expand_dims(%s, axis='1')
//   %2 = expand_dims(%s, axis='1')       %2 = elemwise_add(%1, %1)
//   %3 = elemwise_add(%1, %2)
//
// The same is the same operator, of the same entries, with attributes that read the same in
// whatever order and spelling they stand. The first of such nodes stays, with its name.
#include <map>
#include <tuple>

#include "graph/op.h"
#include "graph/pass.h"
#include "graph/rewrite.h"

namespace tw::graph {
namespace {

// What decides the outputs of a node. Inputs are told apart by their nodes, each of which is the
// first of its kind already.
struct Key {
  const Op* op = nullptr;
  std::vector<std::tuple<const Node*, uint32_t, uint32_t>> inputs = {};
  std::vector<std::string> attributes = {};        // of the schema, in its order
  std::map<std::string, std::string> others = {};  // that the schema does not know
  auto operator<=>(const Key&) const = default;    // for look-ups only
};

std::string spelled(const AttributeValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return "None";
        } else if constexpr (std::is_same_v<T, DType>) {
          return to_string(v);
        } else if constexpr (std::is_same_v<T, std::vector<std::vector<int64_t>>>) {
          std::string text;
          for (const auto& part : v) text += fmt::format("({})", fmt::join(part, ","));
          return text;
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          return fmt::format("({})", fmt::join(v, ","));
        } else {
          return fmt::format("{}", v);
        }
      },
      value);
}

Key key_of(const Node& node) {
  Key key{.op = node.op};
  for (const Entry& e : node.inputs) key.inputs.emplace_back(e.node.get(), e.index, e.version);
  for (const auto& [name, text] : node.attributes) key.others[name] = text;
  for (const AttributeSpec& spec : node.op->attributes) {
    const std::string* text = node.attributes.find(spec.name);
    const auto value = read_attribute(spec.type, text ? *text : spec.initial.value_or(""));
    key.attributes.push_back(value ? spelled(*value) : *text);
    key.others.erase(std::string(spec.name));
  }
  return key;
}

}  // namespace

Graph common_subexpression(Graph graph) {
  std::map<Key, NodeRef> first;  // keeps its nodes, so that no other has their address
  return rewrite(graph, [&](size_t, const NodeRef& node) -> Replacement {
    const bool merges = !node->is_variable() && node->op->mutates.empty() &&
                        node->control_dependencies.empty() && !node->function;
    if (!merges) return std::nullopt;
    const NodeRef& same = first.try_emplace(key_of(*node), node).first->second;
    if (same == node) return std::nullopt;
    std::vector<Entry> outputs;
    for (int k = 0; k < node->num_outputs(); ++k)
      outputs.push_back({same, static_cast<uint32_t>(k)});
    return outputs;
  });
}

}  // namespace tw::graph
