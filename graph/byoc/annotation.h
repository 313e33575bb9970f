// SPDX-License-Identifier: Apache-2.0
// Annotations: `compiler_begin` on each edge that enters what another code generator computes,
// `compiler_end` on each that leaves it. Nodes between them that are connected are one region, also
// where one mark is read by several regions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace tw::graph {

enum class FaultKind : uint8_t {
#define ANNOTATION_FAULT(name, text, doc) name,
#include "graph/byoc/annotation_faults.def"
#undef ANNOTATION_FAULT
};
std::string_view to_string(FaultKind kind);  // "missing-begin"

struct AnnotationFault {
  FaultKind kind;
  std::string from, to;  // the nodes of the edge; `to` is empty for an output of the graph
  std::string what;      // in words, with the region
  std::string repair;    // what would be right: "compiler_begin(relu0, compiler='dnnl')"
  std::string source;    // the line that built the node; empty where it is not known
  std::vector<std::string> path =
      {};  // NotConvex: nodes of which the first and last are in the region
  // Where a mark is missing: the node that reads, none for an output of the graph, and which input
  // or output it is.
  const Node* reader = nullptr;
  size_t input = 0;
  std::string compiler;  // of the mark

  bool is_repairable() const {
    return kind == FaultKind::MissingBegin || kind == FaultKind::MissingEnd;
  }
};

struct AnnotatedRegion {
  std::string compiler;
  std::vector<uint32_t> nodes;  // in the graph's order, without marks
};
struct Annotations {
  std::vector<AnnotatedRegion> regions;  // in the order of their last nodes
  std::vector<int64_t> region_of;        // of each node; kNoRegion for marks
  std::vector<AnnotationFault> faults;
};
// `index` is that of the graph.
Annotations find_annotations(const Graph& graph, const GraphIndex& index);

// The graph attribute with the names of compiler_ends that a file had and no output needs.
inline constexpr const char* kUnreadEnds = "unread_ends";

bool is_begin(const Node& node);
bool is_end(const Node& node);
Entry make_begin(const Entry& entry, const std::string& compiler);
Entry make_end(const Entry& entry, const std::string& compiler);

// Inserts the marks that are missing, as far as faults are repairable, and says of each what it is.
Graph repair_annotations(Graph graph, std::vector<std::string>& inserted);

// BadGraph with the first fault, if there is one.
void require_no_faults(const Annotations& annotations);

}  // namespace tw::graph
