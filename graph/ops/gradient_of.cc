// SPDX-License-Identifier: Apache-2.0
// The gradients of operators that are expressions of simpler ones.
#include "graph/expansion.h"
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "graph/passes/differentiate.h"
#include "runtime/error.h"

namespace tw::graph {
namespace {

constexpr std::string_view kPrefix = "of_";

AttributeValues values_of(const Node& node) {
  return {node.op->attributes, node.attributes, node.name};
}

size_t count_of(const AttributeValues& a) {
  return static_cast<size_t>(std::max<int64_t>(a.integer("count"), 0));
}

void infer_shape_of_gradient(ShapeInference& s) {
  for (size_t k = 0; k < s.num_outputs() && k < s.num_inputs(); ++k) {
    s.equate(k, k);
  }
}

void infer_type_of_gradient(TypeInference& t) {
  for (size_t k = 0; k < t.num_outputs() && k < t.num_inputs(); ++k) {
    t.equate(k, k);
  }
}

// A node of the operator whose gradients these are, on variables.
NodeRef differentiated(const Node& node, const AttributeValues& a) {
  const auto refuse = [&](std::string what, std::string legal) {
    raise({.code = ErrorCode::BadGraph,
           .what = std::move(what),
           .where = fmt::format("node '{}'", node.name),
           .legal = std::move(legal)});
  };
  const Op& op = get_op(a.text("op"));
  if (!op.expand) {
    refuse(fmt::format("_gradient_of '{}'", op.name), "an operator that has an expression");
  }
  Node inner;
  inner.op = &op;
  inner.name = node.name;
  for (const auto& [name, text] : node.attributes) {
    if (name.starts_with(kPrefix)) inner.attributes.set(name.substr(kPrefix.size()), text);
  }
  for (size_t k = 0; k < std::min(count_of(a), node.inputs.size()); ++k) {
    inner.inputs.push_back({.node = make_variable(fmt::format("input{}", k))});
  }
  const auto outputs = static_cast<size_t>(inner.num_outputs());
  if (count_of(a) + outputs != node.inputs.size()) {
    refuse(fmt::format("{} inputs where {} of '{}' and its {} outputs are needed",
                       node.inputs.size(), count_of(a), op.name, outputs),
           "the inputs, and a gradient for each output");
  }
  return make_node(inner);
}

Entries expand_gradient_of(const NodeRef& node, std::span<const Shape> shapes) {
  const NodeRef inner = differentiated(*node, values_of(*node));
  const size_t count = inner->inputs.size();
  const Entries outputs = expanded(inner, shapes.first(count));
  Entries variables = inner->inputs, heads;
  for (size_t k = count; k < node->inputs.size(); ++k) {
    heads.push_back({.node = make_variable(fmt::format("input{}", k))});
  }
  const Entries gradients = differentiate(outputs, variables, heads, WhereItEnds::Zero);
  variables.insert(variables.end(), heads.begin(), heads.end());
  return substitute(gradients, variables, node->inputs);
}

}  // namespace

std::vector<Op> gradient_of_ops() {
  using enum AttributeType;
  return {{.name = "_gradient_of",
           .doc = "The gradients of the inputs of an operator that is an expression of simpler "
                  "ones. Inputs: those of the operator, then a gradient for each of its outputs. "
                  "Attributes of the operator have the prefix of_.",
           .inputs = {{"args", "any shape and type"}},
           .variadic = true,
           .attributes = {{"op", Text, {}, "the operator"},
                          {"count", Int, {}, "how many inputs the operator has"}},
           .num_outputs = [](const AttributeValues& a) { return static_cast<int>(count_of(a)); },
           .infer_shape = infer_shape_of_gradient,
           .infer_type = infer_type_of_gradient,
           .expand = expand_gradient_of,
           .rounds_once = true}};
}

}  // namespace tw::graph
