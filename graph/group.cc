// SPDX-License-Identifier: Apache-2.0
#include "graph/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "graph/byoc/function.h"
#include "graph/dtypes.h"
#include "graph/group_view.h"
#include "graph/op.h"
#include "graph/pass.h"
#include "ir/expr.h"
#include "runtime/error.h"
#include "schedule/te/operation.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

std::vector<te::Tensor> compute(const Node& node, const std::vector<te::Tensor>& inputs) {
  if (node.function) {
    std::map<std::string, te::Tensor> arguments;
    for (size_t k = 0; k < inputs.size(); ++k)
      arguments[node.function->parameters[k]->name] = inputs[k];
    return computations(node.function->outputs, arguments);
  }
  if (!node.op->compute) {
    raise({.code = ErrorCode::BadGraph,
           .what = fmt::format("operator '{}' has no computation", node.op->name),
           .where = fmt::format("node '{}'", node.name),
           .legal = "a graph that passes have rewritten without it"});
  }
  const AttributeValues attributes(node.op->attributes, node.attributes, node.name);
  try {
    return node.op->compute(attributes, inputs);
  } catch (const UserError& e) {
    ErrorInfo placed = e.info();
    if (placed.where.empty()) placed.where = fmt::format("node '{}'", node.name);
    raise(std::move(placed));
  }
}

// A kernel writes each output: what is an input, or another output, is copied; so is a part of what
// an operation gives, the rest of which is not among the outputs.
te::Tensor stored(const te::Tensor& t, const std::vector<te::Tensor>& outputs,
                  const te::Program& program) {
  const bool is_part = [&] {
    for (int k = 0; k < t.op()->num_outputs(); ++k) {
      if (std::ranges::find(outputs, t.op().output(k)) == outputs.end()) return true;
    }
    return false;
  }();
  const bool is_copy = is_part || t.op()->is_placeholder() ||
                       std::ranges::find(program.outputs, t) != program.outputs.end();
  return is_copy ? topi::identity(t) : t;
}

// A variable that the node writes to is what its output lies in, and no argument.
bool is_only_written(const Node& node, size_t input) {
  return std::ranges::find(node.op->mutates, input) != node.op->mutates.end();
}

// What the group reads of others, each once, in the order in which a walk from its root meets
// them.
std::vector<Entry> inputs_of(const std::vector<NodeRef>& nodes) {
  std::unordered_set<const Node*> unseen;  // look-ups only
  for (const NodeRef& node : nodes) unseen.insert(node.get());
  const std::unordered_set<const Node*> members = unseen;
  std::vector<Entry> inputs;
  std::vector<std::pair<const Node*, size_t>> path;  // nodes, and which input comes next
  const auto enter = [&](const NodeRef& node) {
    if (unseen.erase(node.get()) != 0) path.emplace_back(node.get(), 0);
  };
  enter(nodes.back());
  while (!path.empty()) {
    auto& [node, next] = path.back();
    if (next == node->inputs.size()) {
      path.pop_back();
      continue;
    }
    const size_t number = next++;
    if (is_only_written(*node, number)) continue;
    const Entry& e = node->inputs[number];
    if (members.contains(e.node.get())) {
      enter(e.node);
    } else if (std::ranges::find(inputs, e) == inputs.end()) {
      inputs.push_back(e);
    }
  }
  return inputs;
}

}  // namespace

GroupBuilder::GroupBuilder(const Graph& graph, const std::set<std::string>& parameters)
    : index_(graph),
      parameters_(parameters),
      written_(written_variables(index_.nodes())),
      shapes_(list_of<Shape>(graph, "shape", index_.num_entries())),
      types_(list_of<int64_t>(graph, "dtype", index_.num_entries())) {
  const auto* fusion = graph.find<std::string>("fusion");
  has_views_ = fusion != nullptr && *fusion != "nnvm";
}

Group GroupBuilder::group(std::vector<NodeRef> nodes) const {
  Group group{.nodes = std::move(nodes)};
  std::map<size_t, te::Tensor> values;  // by entry
  group.inputs = inputs_of(group.nodes);
  group.is_external = group.nodes.back()->function && group.nodes.back()->function->module;
  if (group.is_external) {
    group.name = group.nodes.back()->name;
    return group;
  }
  if (has_views_) group.parts = parts_of(group.nodes, index_, shapes_, types_);
  for (const Entry& e : group.inputs) {
    const te::Tensor tensor = placeholder(e, group.program.arguments.size());
    values[index_.entry_id(e)] = tensor;
    group.program.arguments.push_back(tensor);
  }
  group.name = "fuse";
  std::vector<te::Tensor> outputs;
  for (const NodeRef& node : group.nodes) {
    group.name += fmt::format("_{}", node->op->name);
    std::vector<te::Tensor> inputs;
    for (size_t k = 0; k < node->inputs.size(); ++k) {
      const Entry& e = node->inputs[k];
      inputs.push_back(is_only_written(*node, k) ? placeholder(e, k)
                                                 : values.at(index_.entry_id(e)));
    }
    outputs = compute(*node, inputs);
    for (uint32_t k = 0; k < outputs.size(); ++k) {
      values[index_.entry_id({node, k})] = outputs[k];
    }
  }
  for (const te::Tensor& t : outputs)
    group.program.outputs.push_back(stored(t, outputs, group.program));
  group.program.arguments.insert(group.program.arguments.end(), group.program.outputs.begin(),
                                 group.program.outputs.end());
  return group;
}

te::Tensor GroupBuilder::placeholder(const Entry& e, size_t number) const {
  const size_t id = index_.entry_id(e);
  const auto type = type_of_number(static_cast<int>(types_[id]));
  if (!shapes_[id].known() || !type) {
    raise({.code = ErrorCode::BadGraph,
           .what = fmt::format("the {} of '{}' is unknown",
                               shapes_[id].known() ? "element type" : "shape", e.node->name),
           .legal = "a shape and a dtype for each input of the graph"});
  }
  std::vector<Expr> extents;
  for (int64_t extent : *shapes_[id].extents) {
    if (extent < 0 || extent > INT32_MAX) {
      raise({.code = ErrorCode::BadShape,
             .what = fmt::format("the shape of '{}' is {}", e.node->name, to_string(shapes_[id])),
             .legal = fmt::format("extents from 0 to {}, as kernels compute them", INT32_MAX)});
    }
    extents.push_back(make_const(int_type(32), extent));
  }
  const bool constant = e.node->is_variable() && parameters_.contains(e.node->name) &&
                        !written_.contains(e.node.get());
  return te::placeholder(extents, *type, fmt::format("input{}", number), constant);
}

std::vector<te::Tensor> computations(std::span<const Entry> outputs,
                                     const std::map<std::string, te::Tensor>& variables) {
  std::unordered_map<const Node*, std::vector<te::Tensor>> values;  // look-ups only
  for (const NodeRef& node : nodes_of(outputs)) {
    std::vector<te::Tensor> inputs;
    for (const Entry& e : node->inputs) inputs.push_back(values.at(e.node.get())[e.index]);
    if (!node->is_variable()) {
      values[node.get()] = compute(*node, inputs);
      continue;
    }
    const auto given = variables.find(node->name);
    if (given == variables.end()) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("no tensor for variable '{}'", node->name),
             .legal = "a tensor for each of symbol.list_input_names()"});
    }
    values[node.get()] = {given->second};
  }
  std::vector<te::Tensor> result;
  for (const Entry& e : outputs) result.push_back(values.at(e.node.get())[e.index]);
  return result;
}

std::vector<Group> groups_of(const Graph& graph, const std::set<std::string>& parameters) {
  const GraphIndex index(graph);
  const auto& roots = list_of<int64_t>(graph, "group_root", index.num_nodes());
  const GroupBuilder builder(graph, parameters);
  std::map<int64_t, std::vector<NodeRef>> by_root;
  for (size_t id = 0; id < index.num_nodes(); ++id) {
    const NodeRef& node = index.nodes()[id];
    if (!node->is_variable()) by_root[roots[id]].push_back(node);
  }
  std::vector<Group> groups;
  for (auto& [root, nodes] : by_root) groups.push_back(builder.group(std::move(nodes)));
  return groups;
}

}  // namespace tw::graph
