// SPDX-License-Identifier: Apache-2.0
// Groups of nodes as te programs: what is scheduled, tuned and built. Nothing below this folder
// learns an operator's name.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "schedule/te/text.h"

namespace tw::graph {

struct Group {
  std::string name;            // of its operators: fuse_conv2d_relu_broadcast_add
  std::vector<NodeRef> nodes;  // in the graph's order, the root last
  // Entries of other groups and variables, each once, as a walk from the root meets them: NNVM's.
  std::vector<Entry> inputs;
  // Of a view the inputs whose bytes, one after the other, are those of its outputs: it needs no
  // kernel, under any 'fusion' but NNVM's. Else none.
  std::vector<Entry> parts;
  bool is_view() const { return !parts.empty(); }
  // Whether another code generator has built it; then there is no program.
  bool is_external = false;
  // Arguments: a placeholder for each input, in order, then the outputs of the root. Those of
  // parameters are constant placeholders, whose packing a schedule may leave to the build.
  te::Program program;
};

// Makes groups of a graph that InferShape and InferType were applied to. The graph and
// `parameters`, names of variables whose values do not change, outlive it.
class GroupBuilder {
 public:
  GroupBuilder(const Graph& graph, const std::set<std::string>& parameters);
  const GraphIndex& index() const { return index_; }
  // What the last of the nodes gives, whose order is the graph's. BadGraph with the node where a
  // shape or type is unknown or an operator cannot be computed.
  Group group(std::vector<NodeRef> nodes) const;

 private:
  te::Tensor placeholder(const Entry& e, size_t number) const;

  GraphIndex index_;
  const std::set<std::string>& parameters_;
  std::set<const Node*> written_;  // whatever `parameters_` says, they are not constant
  const std::vector<Shape>& shapes_;
  const std::vector<int64_t>& types_;
  bool has_views_;
};

// The groups of a graph that GraphFusePartition, InferShape and InferType were applied to, in the
// order of their roots. `parameters`: names of variables whose values do not change. Throws
// PassRequirement where one of these passes is missing, BadGraph with the node where a shape or
// type is unknown or an operator cannot be computed.
std::vector<Group> groups_of(const Graph& graph, const std::set<std::string>& parameters = {});

// Outputs of a network as computations of the tensors that its variables are, by name: its te
// program before any fusion. BadArgument where a variable has no tensor.
std::vector<te::Tensor> computations(std::span<const Entry> outputs,
                                     const std::map<std::string, te::Tensor>& variables);

}  // namespace tw::graph
