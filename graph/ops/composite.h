// SPDX-License-Identifier: Apache-2.0
// Gradients of operators that compute in one piece what simpler ones compute in several.
#pragma once

#include <functional>

#include "graph/ops/common.h"

namespace tw::graph {

// The same computation of simpler operators, of entries that stand for the inputs.
using Composition = std::function<Entries(const GradientOf& n, const Entries& inputs)>;
// The gradients of a node's inputs, by those of the operators that `compose` writes it with:
// `heads` are the gradients of what it gives. Those of inputs that are not in `moving` end.
Entries composite_gradient(const NodeRef& node, const std::vector<size_t>& moving,
                           const Composition& compose, const Entries& heads);

}  // namespace tw::graph
