// SPDX-License-Identifier: Apache-2.0
// Gradient: reverse-mode differentiation. Each operator says what the gradients of its inputs are,
// in the graph's own operators (Op::gradient); this pass walks the nodes from the outputs back and
// adds up what several readers of one entry contribute. An operator may say that a gradient ends at
// an input: casts to integers, positions. That is an error where no other way leads to an x.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "graph/expansion.h"
#include "graph/op.h"
#include "graph/pass.h"
#include "graph/passes/differentiate.h"
#include "runtime/error.h"

namespace tw::graph {
namespace {

const std::vector<Entry>& symbols(const Graph& graph, std::string_view name) {
  if (const auto* list = graph.find<std::vector<Entry>>(name)) return *list;
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("the graph attribute '{}' is no list of symbols", name),
         .legal = "symbols, as graph_util.gradients gives"});
}

class Differentiation {
 public:
  Differentiation(const std::vector<Entry>& ys, const std::vector<Entry>& xs, WhereItEnds ends)
      : ys_(ys),
        xs_(xs),
        where_it_ends_(ends),
        index_({.outputs = ys}),
        moves_(index_.num_nodes(), false) {
    find_moving();
  }

  std::vector<Entry> run(const std::vector<Entry>& of_ys) {
    if (!of_ys.empty() && of_ys.size() != ys_.size()) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("{} gradients for {} outputs", of_ys.size(), ys_.size()),
             .legal = "one for each, or none"});
    }
    for (size_t k = 0; k < ys_.size(); ++k) {
      const std::string name = ys_[k].node->name + "_ones";
      add(ys_[k], of_ys.empty() ? make_call("ones_like", name, {ys_[k]}) : of_ys[k]);
    }
    for (size_t id = index_.num_nodes(); id-- > 0;) {
      if (moves_[id]) propagate(static_cast<uint32_t>(id));
    }
    std::vector<Entry> result;
    for (const Entry& x : xs_) {
      const auto known = contributions_.find(key(x));
      if (known == contributions_.end() && where_it_ends_ == WhereItEnds::Raise) {
        require_independent(x);
      }
      // What no output depends on does not change them.
      result.push_back(known == contributions_.end()
                           ? make_call("zeros_like", x.node->name + "_zeros", {x})
                           : sum_of(known->second, x.node->name));
    }
    return result;
  }

 private:
  using Key = std::pair<const Node*, uint32_t>;
  static Key key(const Entry& e) { return {e.node.get(), e.index}; }

  // Nodes that depend on an x: only their gradients are needed, and must exist.
  void find_moving() {
    std::set<const Node*> sources;
    for (const Entry& x : xs_) sources.insert(x.node.get());
    for (size_t id = 0; id < index_.num_nodes(); ++id) {
      const Node& node = *index_.nodes()[id];
      moves_[id] = sources.contains(&node);
      for (const Entry& e : node.inputs) {
        moves_[id] = moves_[id] || moves_[index_.node_id(*e.node)];
      }
    }
  }

  void add(const Entry& e, Entry gradient) {
    contributions_[key(e)].push_back(std::move(gradient));
  }

  static bool adds_nothing(const Entry& term) {
    return !term.node->is_variable() && term.node->op->name == "zeros_like";
  }

  static Entry sum_of(std::vector<Entry> terms, const std::string& name) {
    const Entry first = terms[0];
    std::erase_if(terms, adds_nothing);
    if (terms.empty()) return first;
    if (terms.size() == 1) return terms[0];
    return make_call("elemwise_sum", name + "_grad_sum", terms,
                     {{"num_args", fmt::format("{}", terms.size())}});
  }

  void propagate(uint32_t id) {
    const NodeRef& node = index_.nodes()[id];
    if (node->is_variable()) return;
    bool needed = false;  // nothing below an x is
    for (const Entry& e : node->inputs) needed = needed || moves_[index_.node_id(*e.node)];
    if (!needed) return;
    std::vector<Entry> of_outputs;
    bool any = false;
    for (uint32_t k = 0; k < static_cast<uint32_t>(node->num_outputs()); ++k) {
      const auto known = contributions_.find({node.get(), k});
      any = any || known != contributions_.end();
      of_outputs.push_back(
          known != contributions_.end()
              ? sum_of(known->second, node->name)
              : make_call("zeros_like", node->name + "_zeros", {{.node = node, .index = k}}));
      if (known != contributions_.end()) known->second = {of_outputs.back()};
    }
    if (!any) return;
    if (!node->op->gradient && !node->op->expand) {
      raise({.code = ErrorCode::NoGradient,
             .what = fmt::format("operator '{}' has no gradient", node->op->name),
             .where = fmt::format("node '{}'", node->name),
             .legal = "operators that have one, or inputs that do not lie below this node"});
    }
    const std::vector<Entry> of_inputs = node->op->gradient
                                             ? node->op->gradient(node, of_outputs)
                                             : gradient_of_expression(node, of_outputs);
    TW_CHECK(of_inputs.size() == node->inputs.size(), node->op->name);
    for (size_t k = 0; k < of_inputs.size(); ++k) {
      const Entry& input = node->inputs[k];
      if (!moves_[index_.node_id(*input.node)]) continue;
      if (of_inputs[k].node) {
        add(input, of_inputs[k]);
      } else {
        ends_.emplace(key(input), node.get());
      }
    }
  }

  // Nothing has reached x: either no output depends on it, or every way to it ends.
  void require_independent(const Entry& x) const {
    std::vector<const Node*> way;
    if (const Node* end = find_end(x, way)) {
      std::string names = x.node->name;
      for (const Node* node : way) names += fmt::format(" -> {}", node->name);
      raise(
          {.code = ErrorCode::NoGradient,
           .what = fmt::format("no gradient reaches '{}': it ends at operator '{}', on the way {}",
                               x.node->name, end->op->name, names),
           .where = fmt::format("node '{}'", end->name),
           .legal = "an x with a way to the outputs through operators that pass gradients on"});
    }
  }
  // The node at which the gradient of what depends on x ended, and the nodes from x to it.
  const Node* find_end(const Entry& x, std::vector<const Node*>& way) const {
    std::map<const Node*, const Node*> before;  // on the way from x; look-ups only
    std::set<Key> reached = {key(x)};
    for (const NodeRef& node : index_.nodes()) {
      for (const Entry& input : node->inputs) {
        if (!reached.contains(key(input))) continue;
        before.emplace(node.get(), input.node.get());
        for (const Entry& output : entries_of(node)) reached.insert(key(output));
        const auto end = ends_.find(key(input));
        if (end == ends_.end()) continue;
        before[end->second] = input.node.get();
        for (const Node* n = end->second; n != x.node.get(); n = before.at(n)) way.push_back(n);
        std::ranges::reverse(way);
        return end->second;
      }
    }
    return nullptr;
  }

  const std::vector<Entry>&ys_, &xs_;
  WhereItEnds where_it_ends_;
  GraphIndex index_;
  std::vector<bool> moves_;
  std::map<Key, std::vector<Entry>> contributions_;  // look-ups only
  std::map<Key, const Node*> ends_;                  // inputs whose gradient ends at that reader
};

}  // namespace

std::vector<Entry> differentiate(const std::vector<Entry>& ys, const std::vector<Entry>& xs,
                                 const std::vector<Entry>& of_ys, WhereItEnds where_it_ends) {
  return Differentiation(ys, xs, where_it_ends).run(of_ys);
}

Graph gradient(Graph graph) {
  const auto* given = graph.find<std::vector<Entry>>("grad_ys_out_grad");
  return {.outputs = differentiate(symbols(graph, "grad_ys"), symbols(graph, "grad_xs"),
                                   given ? *given : std::vector<Entry>())};
}

}  // namespace tw::graph
