// SPDX-License-Identifier: Apache-2.0
// How operators say that a node does nothing: what DeadNodes asks them.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "graph/inference.h"
#include "graph/node.h"

namespace tw::graph {

// What is known of a node's inputs and its first output.
struct Known {
  std::vector<Shape> inputs = {};
  Shape output = {};
  std::vector<KnownType> input_types = {};

  // Whether the output has the shape of the first input.
  bool same_shape() const { return output.known() && inputs[0] == output; }
};

// The entry that the node's only output is equal to; nothing where it has to be computed.
using IdentityRule = std::function<std::optional<Entry>(const Node& node, const Known& known)>;

// Rules that operators share.
// The first input, always.
std::optional<Entry> always_identity(const Node& node, const Known& known);
// The first input, where it has the shape of the output: of operators that keep the elements in
// their order.
std::optional<Entry> identity_if_same_shape(const Node& node, const Known& known);
// What the operator was applied to, where it is applied twice with the same attributes and undoes
// itself: -(-x).
std::optional<Entry> identity_if_twice(const Node& node, const Known& known);
// The input, where there is no other.
std::optional<Entry> identity_if_alone(const Node& node, const Known& known);
// The input, where the attribute `scalar` is 1.
std::optional<Entry> identity_if_one(const Node& node, const Known& known);

}  // namespace tw::graph
