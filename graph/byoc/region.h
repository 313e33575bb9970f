// SPDX-License-Identifier: Apache-2.0
// Functions of a graph as regions that code generators read.
#pragma once

#include <span>
#include <vector>

#include "graph/byoc/pattern.h"
#include "graph/graph.h"
#include "graph/inference.h"
#include "runtime/codegen.h"
#include "runtime/ndarray.h"

namespace tw::graph {

struct RegionInput {
  Shape shape;
  DType dtype;
  NDArray constant;  // undefined where it is none
};

// The function that a node calls, on these inputs. BadGraph where a shape or type inside is
// unknown.
vendor::Region region_of(const Node& call, std::span<const RegionInput> inputs);

// What a pattern matched as one composite. Constants point to no elements, and outputs are all that
// anyone reads. Shapes and types of the
// graph have to be known.
vendor::Region region_of(const Match& match, const PatternGraph& graph);

}  // namespace tw::graph
