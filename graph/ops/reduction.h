// SPDX-License-Identifier: Apache-2.0
// What families of reductions share.
#pragma once

#include <string_view>
#include <vector>

#include "graph/ops/common.h"

namespace tw::graph {

// `axis`, `keepdims` and `exclude`.
std::vector<AttributeSpec> reduction_attributes();
void infer_reduction(ShapeInference& s);
// Elements may be reduced in any order: blocks with their dimension.
void reduction_layout(LayoutChoice& c);

// Those of a node, as it has them.
Attributes dimensions_of(const Node& node);

// What a node gives, for each element that was reduced: the gradient of a sum.
Entry expanded(const GradientOf& n, const Entry& g, const Node& node);
// A reduction, over the dimensions of a node, of something of the shape of its data.
Entry reduced(const GradientOf& n, std::string_view op, const Entry& e, const Node& node);

}  // namespace tw::graph
