// SPDX-License-Identifier: Apache-2.0
// Functions of other code generators become code.
#pragma once

#include <string>
#include <vector>

#include "graph/build.h"
#include "graph/graph.h"

namespace tw::graph {

struct BuiltRegions {
  Graph graph;
  std::vector<std::string> refused;  // a line each
};
// The graph in which functions that have the attribute 'Compiler' carry their code
// (GraphFunction::module), and others are inlined: those of no known code generator, and those that
// it refuses, fails or crashes on. `parameters` are values of variables that do not change.
// PassRequirement where shapes and types were not inferred.
BuiltRegions build_regions(const Graph& graph, const Parameters& parameters, int threads);

}  // namespace tw::graph
