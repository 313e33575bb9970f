// SPDX-License-Identifier: Apache-2.0
// Parts of a network between which one may choose: our kernels, or another code generator's. They
// are sets of composites, nodes that MergeComposite made, and, where the part is the network, of
// what no pattern took; numbers are those of GraphIndex.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "graph/byoc/codegens.h"
#include "graph/graph.h"

namespace tw::graph {

// The nodes of a part, in the order in which they run.
using Part = std::vector<uint32_t>;

// Of each of the largest regions of a graph that MergeComposite made, the smallest parts that are
// worth a choice, in the order in which they run: a region is cut where one value alone goes from
// what is before to what is behind, so that a border costs one change of layouts at most. Any of
// them that are consecutive are convex.
std::vector<std::vector<Part>> pieces_of(const Graph& merged);

// The graph in which these composites alone are left; others are inlined.
Graph keep_composites(const Graph& merged, const std::set<uint32_t>& kept);

// A part as a graph of its own, in which only the `kept` ones of its composites are not inlined.
// Variables that the attribute 'param_name_list' names stay; what else is read is a variable
// "part_input0", …, that says its shape and type. PassRequirement where shapes and types were not
// inferred.
Graph graph_of_part(const Graph& merged, std::span<const uint32_t> part,
                    const std::set<uint32_t>& kept);

// What such a graph computes as 16 hex digits: operators, attributes, shapes, which variables are
// constant; nothing of names or values.
std::string part_hash(const Graph& part, const std::set<std::string>& constants);

// What its kernels compute with, as the code generator says: "oneDNN 2.6.3". ModuleLoad, in one
// line, where it cannot be loaded.
std::string codegen_version(const Codegen& codegen);

}  // namespace tw::graph
