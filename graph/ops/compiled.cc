// SPDX-License-Identifier: Apache-2.0
// Calls of compiled kernels, as GraphFuseCompile leaves them in a graph.
#include "graph/ops/common.h"
#include "graph/ops/families.h"

namespace tw::graph {

std::vector<Op> compiled_ops() {
  using enum AttributeType;
  return {
      {.name = "tvm_op",
       .doc = "Calls the function `func_name` of a module: its arguments are the inputs, then "
              "the outputs.",
       .inputs = {{"args", "what the function takes"}},
       .variadic = true,
       .least_inputs = 0,
       .attributes = {{"num_outputs", Int, "1", "how many outputs the function fills"},
                      {"num_inputs", Int, "0", "how many inputs it takes"},
                      {"flatten_data", Bool, "0", "NNVM's; kernels here take shapes as they are"},
                      {"func_name", Text, {}, "the function"}},
       .num_outputs = [](const AttributeValues& a) { return a.integer("num_outputs"); },
       .gradient = no_gradient}};
}

}  // namespace tw::graph
