// SPDX-License-Identifier: Apache-2.0
// What families of operators share.
#pragma once

#include <vector>

#include "graph/op.h"

namespace tw::graph {

// `axis` of a tensor of that rank, counted from its end where negative. The inference's error where
// there is no such axis.
size_t axis_of(const ShapeInference& s, int64_t axis, size_t rank);
// One value for both directions, or one each.
struct Pair {
  int64_t h, w;
};
Pair pair_of(const ShapeInference& s, std::string_view attribute);
// Amounts around images: one, (vertical, horizontal), or (top, left, bottom, right).
struct Border {
  int64_t top, left, bottom, right;
};
Border border_of(const ShapeInference& s, std::string_view attribute);

// What gradients are written with.
using Entries = std::vector<Entry>;
// Nodes of a gradient: `grad("exp", {x})` is named after the node whose gradient it is part of.
class GradientOf {
 public:
  explicit GradientOf(const NodeRef& node) : node_(node) {}
  Entry operator()(std::string_view op, Entries inputs, Attributes attributes = {}) const {
    return make_call(op, node_->name + "_grad_" + std::string(op), std::move(inputs),
                     std::move(attributes));
  }
  const Entry& input(size_t k) const { return node_->inputs[k]; }
  Entry output(uint32_t k = 0) const { return {.node = node_, .index = k}; }

 private:
  const NodeRef& node_;
};

std::vector<int> to_ints(const std::vector<int64_t>& values);

}  // namespace tw::graph
