// SPDX-License-Identifier: Apache-2.0
#include "graph/expansion.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "graph/graph.h"
#include "graph/group.h"
#include "graph/op.h"
#include "graph/rewrite.h"
#include "runtime/error.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

constexpr std::string_view kPrefix = "of_";

Shape shape_of_tensor(const te::Tensor& tensor) {
  std::vector<int64_t> extents;
  for (const Expr& e : tensor.shape()) extents.push_back(as_const_int(e).value_or(Shape::kUnknown));
  return extents;
}

bool is_narrow(const KnownType& type) { return type && topi::accumulation_type(*type) != *type; }

// By the operator's rule, from the types of inputs.
std::vector<KnownType> types_of_outputs(const Node& node, std::span<const KnownType> types) {
  std::vector<KnownType> inputs(types.begin(), types.end()),
      outputs(static_cast<size_t>(node.num_outputs()));
  const AttributeValues attributes(node.op->attributes, node.attributes, node.name);
  for (bool changed = static_cast<bool>(node.op->infer_type); changed;) {
    TypeInference inference(node, attributes, inputs, outputs, ErrorCode::TypeConflict);
    node.op->infer_type(inference);
    changed = inference.changed();
  }
  return outputs;
}

}  // namespace

std::vector<Entry> expanded(const NodeRef& node, std::span<const Shape> shapes,
                            std::span<const KnownType> types) {
  const auto expand = [&](const NodeRef& which) {
    std::vector<Entry> outputs = which->op->expand(which, shapes);
    TW_CHECK(static_cast<int>(outputs.size()) == which->num_outputs(), which->op->name);
    return outputs;
  };
  if (!node->op->rounds_once || std::ranges::none_of(types, is_narrow)) return expand(node);
  const auto cast = [&](const Entry& e, std::string_view when, DType type) {
    return make_call("cast", fmt::format("{}_{}", node->name, when), {e},
                     {{"dtype", to_string(type)}});
  };
  Node wide = *node;
  for (size_t k = 0; k < types.size(); ++k) {
    if (is_narrow(types[k])) {
      wide.inputs[k] = cast(node->inputs[k], "wide", topi::accumulation_type(*types[k]));
    }
  }
  std::vector<Entry> outputs = expand(make_node(std::move(wide)));
  const std::vector<KnownType> results = types_of_outputs(*node, types);
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (is_narrow(results[k])) outputs[k] = cast(outputs[k], "rounded", *results[k]);
  }
  return outputs;
}

std::vector<te::Tensor> compute_expanded(const Node& node, const std::vector<te::Tensor>& inputs) {
  Node same = node;
  std::map<std::string, te::Tensor> values;
  std::vector<Shape> shapes;
  std::vector<KnownType> types;
  for (size_t k = 0; k < inputs.size(); ++k) {
    same.inputs[k] = {.node = make_variable(fmt::format("input{}", k))};
    values[same.inputs[k].node->name] = inputs[k];
    shapes.push_back(shape_of_tensor(inputs[k]));
    types.emplace_back(inputs[k].dtype());
  }
  std::vector<te::Tensor> outputs = computations(expanded(make_node(same), shapes, types), values);
  for (te::Tensor& t : outputs) {
    // A node computes what it gives, though it may be an input as it is.
    if (std::ranges::find(inputs, t) != inputs.end()) t = topi::identity(t);
  }
  return outputs;
}

std::vector<Entry> gradient_of_expression(const NodeRef& node,
                                          const std::vector<Entry>& of_outputs) {
  Attributes attributes{{"op", std::string(node->op->name)},
                        {"count", fmt::format("{}", node->inputs.size())}};
  for (const auto& [name, text] : node->attributes) {
    attributes.set(std::string(kPrefix) + name, text);
  }
  std::vector<Entry> inputs = node->inputs;
  inputs.insert(inputs.end(), of_outputs.begin(), of_outputs.end());
  return entries_of(
      make_call("_gradient_of", node->name + "_grad", std::move(inputs), std::move(attributes))
          .node);
}

std::vector<Entry> substitute(const std::vector<Entry>& outputs,
                              const std::vector<Entry>& variables,
                              const std::vector<Entry>& values) {
  std::unordered_map<const Node*, Entry> by_variable;  // look-ups only
  for (size_t k = 0; k < variables.size(); ++k) {
    by_variable.emplace(variables[k].node.get(), values[k]);
  }
  const auto replace = [&](size_t, const NodeRef& node) -> Replacement {
    const auto value = by_variable.find(node.get());
    if (value == by_variable.end()) return std::nullopt;
    return std::vector{value->second};
  };
  return rewrite({.outputs = outputs}, replace).outputs;
}

}  // namespace tw::graph
