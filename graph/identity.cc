// SPDX-License-Identifier: Apache-2.0
#include "graph/identity.h"

#include "graph/op.h"

namespace tw::graph {

std::optional<Entry> always_identity(const Node& node, const Known&) { return node.inputs[0]; }

std::optional<Entry> identity_if_same_shape(const Node& node, const Known& known) {
  return known.same_shape() ? std::optional(node.inputs[0]) : std::nullopt;
}

std::optional<Entry> identity_if_twice(const Node& node, const Known&) {
  const Node& before = *node.inputs[0].node;
  const bool twice = before.op == node.op && before.attributes == node.attributes;
  return twice ? std::optional(before.inputs[0]) : std::nullopt;
}

std::optional<Entry> identity_if_alone(const Node& node, const Known&) {
  return node.inputs.size() == 1 ? std::optional(node.inputs[0]) : std::nullopt;
}

std::optional<Entry> identity_if_one(const Node& node, const Known&) {
  const AttributeValues a(node.op->attributes, node.attributes, node.name);
  return a.real("scalar") == 1 ? std::optional(node.inputs[0]) : std::nullopt;
}

}  // namespace tw::graph
