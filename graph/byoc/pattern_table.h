// SPDX-License-Identifier: Apache-2.0
// What a code generator computes, as patterns of networks, and which nodes of a graph they take.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/byoc/pattern.h"

namespace tw::graph {

struct TablePattern {
  std::string name;  // "dnnl.conv2d_relu"
  PatternRef pattern;
  // Why the code generator does not take this match; empty: it does. Null: it takes any.
  std::function<std::string(const Match&, const PatternGraph&)> refusal = {};
  // Whether `refusal` looks at shapes and types: what they are unknown of is refused before.
  bool of_known_types = false;
  // Those of a greater one are tried first, those of the same in the order of the table.
  int priority = 0;
};
struct PatternTable {
  std::string compiler;
  std::vector<TablePattern> patterns;
};

// In the place of an earlier one of that compiler.
void register_pattern_table(PatternTable table);
// BadArgument with the nearest name.
PatternTable find_pattern_table(std::string_view compiler);
std::vector<std::string> pattern_table_names();
// Of the compiler that the graph attribute 'compiler' names. PassRequirement without it.
PatternTable pattern_table_of(const Graph& graph);

// An instance of a pattern that becomes a function.
struct Composite {
  size_t pattern;               // of the table
  uint32_t root;                // node
  std::vector<uint32_t> nodes;  // in order
};
// Why an instance of a pattern is none.
struct Refusal {
  size_t pattern;
  uint32_t root;
  std::string why;
  bool is_unknown = false;  // a shape or type was needed
};
struct CompositeChoice {
  std::vector<Composite> composites;
  std::vector<Refusal> refusals;
};
// Matches that share no node, whose inside nobody else reads, and that are not refused.
CompositeChoice choose_composites(const PatternTable& table, const PatternGraph& graph);
// The same for a pass, whose graph has shapes and types (known_types): PassRequirement where
// nothing is chosen and a shape or type that is unknown may be why.
CompositeChoice require_composites(const PatternTable& table, const PatternGraph& graph);

// The graph in which each composite is a function, named after its pattern.
Graph with_composites(const Graph& graph, const PatternTable& table, const GraphIndex& index,
                      const CompositeChoice& choice);

// Which regions of one compiler become one: as many as can, so that none depends on itself.
struct MergedRegions {
  std::vector<int64_t> region_of;  // of nodes; numbers are not consecutive
  struct Refusal {
    uint32_t from, to;  // nodes, of regions that stay two
    uint32_t through;   // a node on a way between them that is in neither
  };
  std::vector<Refusal> refusals;
};
struct Annotations;
MergedRegions merge_regions(const GraphIndex& index, const Annotations& annotations);

// Of each node that computes its name, and which pattern took it and in which region it is, or why
// none did, and why a region ended there.
struct PartitionNote {
  std::string node, text;
};
std::vector<PartitionNote> explain_partition(const Graph& graph, const PatternTable& table);

}  // namespace tw::graph
