// SPDX-License-Identifier: Apache-2.0
// Operators that are about where values lie rather than what they are.
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {

std::vector<Op> memory_ops() {
  return {
      {.name = "_assign",
       .aliases = {"assign"},
       .doc = "Writes rhs to the variable lhs, and gives it.",
       .inputs = {{"lhs", "a variable of any shape"}, {"rhs", "the shape and type of lhs"}},
       .infer_shape = same_shape,
       .infer_type = same_type,
       .pattern = Pattern::Opaque,
       .compute = [](const AttributeValues&,
                     Tensors in) { return std::vector{topi::identity(in[1])}; },
       .gradient = [](const NodeRef& node,
                      const Entries& g) { return Entries{GradientOf(node).zeros(0), g[0]}; },
       .mutates = {0}},
      {.name = "__copy",
       .doc = "x on the device of the node; PlaceDevice puts it between devices.",
       .inputs = {{"data", "any shape and type"}},
       .infer_shape = same_shape,
       .infer_type = same_type,
       .pattern = Pattern::Opaque,
       .compute = [](const AttributeValues&,
                     Tensors in) { return std::vector{topi::identity(in[0])}; },
       .gradient = [](const NodeRef&, const Entries& g) { return g; }},
  };
}

}  // namespace tw::graph
