// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "graph/op.h"
#include "graph/pass.h"
#include "graph/rewrite.h"
#include "runtime/error.h"

namespace tw::graph {
namespace {

[[noreturn]] void fail(std::string what, std::string legal, const std::string& node) {
  raise({.code = ErrorCode::BadGraph,
         .what = std::move(what),
         .where = fmt::format("node '{}'", node),
         .legal = std::move(legal)});
}

// Regions and the nodes outside of them are units, which are made anew in an order in which each
// comes behind those that it reads.
class Extraction {
 public:
  Extraction(const Graph& graph, std::span<const int64_t> region_of,
             const std::function<FunctionHead(size_t)>& head)
      : graph_(graph), index_(graph), region_of_(region_of), head_(head) {
    TW_CHECK(region_of.size() == index_.num_nodes(), "a region for each node");
    for (uint32_t id = 0; id < index_.num_nodes(); ++id) {
      units_.resize(std::max(units_.size(), unit_of(id) + 1));
      units_[unit_of(id)].members.push_back(id);
    }
    find_outputs();
  }

  Graph run() {
    for (const Entry& e : index_.outputs()) visit(unit_of(index_.node_id(*e.node)));
    std::vector<Entry> outputs;
    for (const Entry& e : index_.outputs()) outputs.push_back(new_entry(e));
    return with_outputs(graph_, std::move(outputs));
  }

 private:
  enum class State : uint8_t { New, Open, Made };
  struct Unit {
    std::vector<uint32_t> members;
    std::set<std::pair<uint32_t, uint32_t>> outputs;  // node and output that others read
    State state = State::New;
  };

  // Nodes have their own numbers, regions those behind them.
  size_t unit_of(uint32_t id) const {
    const int64_t region = region_of_[id];
    return region == kNoRegion ? id : index_.num_nodes() + static_cast<size_t>(region);
  }
  bool is_region(size_t unit) const { return unit >= index_.num_nodes(); }

  void find_outputs() {
    const auto read = [&](const Entry& e) {
      const uint32_t id = index_.node_id(*e.node);
      units_[unit_of(id)].outputs.emplace(id, e.index);
    };
    for (uint32_t id = 0; id < index_.num_nodes(); ++id) {
      for (const Entry& e : index_.nodes()[id]->inputs) {
        if (unit_of(index_.node_id(*e.node)) != unit_of(id)) read(e);
      }
    }
    for (const Entry& e : index_.outputs()) read(e);
  }

  std::vector<size_t> dependencies(size_t unit) const {
    std::vector<size_t> result;
    const auto add = [&](const NodeRef& node) {
      const size_t from = unit_of(index_.node_id(*node));
      if (from != unit) result.push_back(from);
    };
    for (uint32_t id : units_[unit].members) {
      for (const Entry& e : index_.nodes()[id]->inputs) add(e.node);
      std::ranges::for_each(index_.nodes()[id]->control_dependencies, add);
    }
    return result;
  }

  void visit(size_t first) {
    struct Visit {
      size_t unit;
      std::vector<size_t> dependencies;
      size_t next = 0;
    };
    std::vector<Visit> stack;
    const auto enter = [&](size_t unit) {
      if (units_[unit].state == State::Open) {
        fail("a region depends on itself through nodes outside of it",
             "regions that nothing leaves and enters again",
             index_.nodes()[units_[unit].members.back()]->name);
      }
      if (units_[unit].state == State::Made) return;
      units_[unit].state = State::Open;
      stack.push_back({unit, dependencies(unit)});
    };
    enter(first);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < top.dependencies.size()) {
        enter(top.dependencies[top.next++]);
        continue;
      }
      const size_t unit = top.unit;
      is_region(unit) ? make_call_of(unit) : make_again(static_cast<uint32_t>(unit));
      units_[unit].state = State::Made;
      stack.pop_back();
    }
  }

  Entry new_entry(const Entry& e) const {
    const auto known = entries_.find(index_.node_id(*e.node));
    if (known == entries_.end()) return e;
    const auto by = known->second.find(e.index);
    TW_CHECK(by != known->second.end(), e.node->name);
    return {by->second.node, by->second.index, e.version};
  }

  // What has to run before: of a region's node the region.
  NodeRef new_dependency(const NodeRef& node) const {
    const auto known = entries_.find(index_.node_id(*node));
    return known == entries_.end() ? node : known->second.begin()->second.node;
  }

  void make_again(uint32_t id) {
    const NodeRef& node = index_.nodes()[id];
    Node next = *node;
    for (Entry& e : next.inputs) e = new_entry(e);
    for (NodeRef& n : next.control_dependencies) n = new_dependency(n);
    if (next.inputs == node->inputs && next.control_dependencies == node->control_dependencies)
      return;
    const NodeRef made = make_node(std::move(next));
    for (uint32_t k = 0; k < static_cast<uint32_t>(made->num_outputs()); ++k)
      entries_[id][k] = {made, k};
  }

  void make_call_of(size_t unit) {
    FunctionHead head = head_(unit - index_.num_nodes());
    GraphFunction function;
    Node call;
    std::map<size_t, NodeRef> parameters;             // by entry of the graph
    std::unordered_map<const Node*, NodeRef> bodies;  // of members; look-ups only
    for (uint32_t id : units_[unit].members) {
      const NodeRef& node = index_.nodes()[id];
      if (node->is_variable() || !node->op->mutates.empty() || !node->control_dependencies.empty())
        fail("a region has a variable, a node that writes to one, or one that waits for others",
             "nodes that compute", node->name);
      Node next = *node;
      for (Entry& e : next.inputs) {
        const auto member = bodies.find(e.node.get());
        if (member != bodies.end()) {
          e.node = member->second;
          continue;
        }
        NodeRef& parameter = parameters[index_.entry_id(e)];
        if (!parameter) {
          parameter = make_variable(
              fmt::format("{}{}", head.parameters, next_parameter_[head.parameters]++));
          function.parameters.push_back(parameter);
          call.inputs.push_back(new_entry(e));
        }
        e = {parameter};
      }
      bodies[node.get()] = make_node(std::move(next));
    }
    for (const auto& [id, output] : units_[unit].outputs)
      function.outputs.push_back({bodies.at(index_.nodes()[id].get()), output});
    call.op = &get_op("_call_function");
    call.name = head.name;
    call.attributes = std::move(head.attributes);
    call.function = std::make_shared<const GraphFunction>(std::move(function));
    const NodeRef made = make_node(std::move(call));
    uint32_t k = 0;
    for (const auto& [id, output] : units_[unit].outputs) entries_[id][output] = {made, k++};
  }

  const Graph& graph_;
  GraphIndex index_;
  std::span<const int64_t> region_of_;
  const std::function<FunctionHead(size_t)>& head_;
  std::vector<Unit> units_;
  std::unordered_map<uint32_t, std::map<uint32_t, Entry>> entries_;  // new ones; look-ups only
  std::map<std::string, int> next_parameter_;
};

// The outputs of a function on these inputs.
std::vector<Entry> applied(const GraphFunction& function, const std::vector<Entry>& inputs,
                           const std::function<bool(const Node&)>& wanted) {
  std::unordered_map<const Node*, std::vector<Entry>> values;  // look-ups only
  for (size_t k = 0; k < inputs.size(); ++k) values[function.parameters[k].get()] = {inputs[k]};
  for (const NodeRef& node : nodes_of(function.outputs)) {
    if (values.contains(node.get())) continue;
    Node next = *node;
    for (Entry& e : next.inputs) e = values.at(e.node.get())[e.index];
    if (next.function && wanted(next)) {
      values[node.get()] = applied(*next.function, next.inputs, wanted);
      continue;
    }
    values[node.get()] = entries_of(make_node(std::move(next)));
  }
  std::vector<Entry> outputs;
  for (const Entry& e : function.outputs) outputs.push_back(values.at(e.node.get())[e.index]);
  return outputs;
}

}  // namespace

void verify_function(const Node& node) {
  if (node.is_variable() || node.op->name != "_call_function") return;
  if (!node.function) fail("a call of no function", "what a pass or a file made", node.name);
  const GraphFunction& f = *node.function;
  if (f.parameters.size() != node.inputs.size()) {
    fail(fmt::format("{} inputs of a function of {} parameters", node.inputs.size(),
                     f.parameters.size()),
         "one for each", node.name);
  }
  for (const NodeRef& inner : nodes_of(f.outputs)) {
    if (inner->is_variable() && std::ranges::find(f.parameters, inner) == f.parameters.end())
      fail(fmt::format("its function reads '{}', which is no parameter", inner->name),
           "parameters alone", node.name);
  }
}

Graph extract_functions(const Graph& graph, std::span<const int64_t> region_of,
                        const std::function<FunctionHead(size_t region)>& head) {
  return Extraction(graph, region_of, head).run();
}

Graph inline_functions(const Graph& graph, const std::function<bool(const Node& call)>& wanted) {
  return rewrite(graph, [&](size_t, const NodeRef& node) -> Replacement {
    if (!node->function || !wanted(*node)) return std::nullopt;
    return applied(*node->function, node->inputs, wanted);
  });
}

// A pass of passes.def.
Graph inline_all_functions(Graph graph) {
  return inline_functions(graph, [](const Node&) { return true; });
}

const std::string& text_of(const Node& node, std::string_view attribute) {
  static const std::string kNone;
  const std::string* text = node.attributes.find(attribute);
  return text != nullptr ? *text : kNone;
}

}  // namespace tw::graph
