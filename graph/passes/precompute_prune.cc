// SPDX-License-Identifier: Apache-2.0
// PrecomputePrune: what depends on parameters alone is computed once, when the network is built.
//
//   %3 = broadcast_mul(%weight, %scale)    precomputed: 'broadcast_mul0'
//   %4 = conv2d(%x, %3)                →   %2 = conv2d(%x, %broadcast_mul0)
//
// Nodes without inputs, such as zeros, go with the parameters that they are computed with; alone
// they stay, since they cost less than the memory that they fill.
#include <set>

#include "graph/op.h"
#include "graph/pass.h"
#include "graph/rewrite.h"

namespace tw::graph {
namespace {

class Precomputation {
 public:
  explicit Precomputation(const Graph& graph)
      : index_(graph),
        written_(written_variables(index_.nodes())),
        kind_(index_.num_nodes()),
        variables_(index_.num_nodes()) {
    const auto* list = graph.find<std::vector<std::string>>("param_name_list");
    if (list == nullptr) {
      raise({.code = ErrorCode::BadArgument,
             .what = "the graph attribute 'param_name_list' is no list of texts",
             .legal = "the names of parameters"});
    }
    parameters_.insert(list->begin(), list->end());
    names_ = parameters_;
    for (const std::string& name : index_.input_names()) names_.insert(name);
    for (size_t id = 0; id < index_.num_nodes(); ++id) kind_[id] = kind_of(*index_.nodes()[id]);
    for (size_t id = 0; id < index_.num_nodes(); ++id) {
      if (kind_[id] == Kind::Computed) continue;  // its inputs are, too
      for (const Entry& e : index_.nodes()[id]->inputs) take(e);
    }
    for (const Entry& e : index_.outputs()) take(e);
  }

  Graph run(const Graph& graph) {
    Graph result = rewrite(graph, [&](size_t id, const NodeRef& node) -> Replacement {
      if (variables_[id].empty()) return std::nullopt;
      std::vector<Entry> outputs(static_cast<size_t>(node->num_outputs()), {node});
      for (const auto& [output, variable] : variables_[id]) outputs[output] = {variable};
      return outputs;
    });
    result.attributes["precompute_graph"] = std::move(computed_);
    result.attributes["output_names"] = std::move(computed_names_);
    return result;
  }

 private:
  // Constants depend on no variable.
  enum class Kind : uint8_t { Varying, Constant, Parameter, Computed };

  Kind kind_of(const Node& node) const {
    if (node.is_variable()) {
      const bool constant = parameters_.contains(node.name) && !written_.contains(&node);
      return constant ? Kind::Parameter : Kind::Varying;
    }
    if (!node.control_dependencies.empty()) return Kind::Varying;
    Kind kind = Kind::Constant;
    for (const Entry& e : node.inputs) {
      const Kind input = kind_[index_.node_id(*e.node)];
      if (input == Kind::Varying) return Kind::Varying;
      if (input != Kind::Constant) kind = Kind::Computed;
    }
    return kind;
  }

  // What is read of computed nodes becomes a variable.
  void take(const Entry& e) {
    const uint32_t id = index_.node_id(*e.node);
    if (kind_[id] != Kind::Computed || variables_[id].contains(e.index)) return;
    std::string name = e.node->name;
    if (e.node->num_outputs() > 1) name += fmt::format("_output{}", e.index);
    name = take_name(name, names_);
    variables_[id][e.index] = make_variable(name);
    computed_.push_back(e);
    computed_names_.push_back(name);
  }

  GraphIndex index_;
  std::set<const Node*> written_;
  std::set<std::string> parameters_;
  std::set<std::string> names_;  // of variables, old and new
  std::vector<Kind> kind_;
  std::vector<std::map<uint32_t, NodeRef>> variables_;  // by node and output
  std::vector<Entry> computed_;
  std::vector<std::string> computed_names_;
};

}  // namespace

Graph precompute_prune(Graph graph) { return Precomputation(graph).run(graph); }

}  // namespace tw::graph
