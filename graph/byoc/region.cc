// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/region.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>
#include <utility>

#include "graph/byoc/function.h"
#include "graph/dtypes.h"
#include "graph/op.h"
#include "graph/pass.h"
#include "runtime/error.h"

namespace tw::graph {
namespace {

vendor::Attribute attribute_of(const AttributeValue& value) {
  return std::visit(
      [](const auto& v) -> vendor::Attribute {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, DType>) {
          return to_string(v);
        } else if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::vector<double>>) {
          return fmt::format("({})", fmt::join(v, ", "));  // regions have no lists of these
        } else {
          return v;
        }
      },
      value);
}

// A call without inputs and outputs.
vendor::Step step_of(const Node& node) {
  vendor::Step step{.op = std::string(node.op->name), .node = node.name};
  for (const AttributeSpec& spec : node.op->attributes) {
    const std::string* text = node.attributes.find(spec.name);
    const auto value =
        read_attribute(spec.type, text != nullptr ? *text : spec.initial.value_or(""));
    step.attributes[std::string(spec.name)] = value ? attribute_of(*value) : vendor::Attribute();
  }
  return step;
}

class Builder {
 public:
  vendor::Region build(const Node& call, std::span<const RegionInput> inputs) {
    region_.name = text_of(call, "ExternalSymbol");
    const GraphFunction& function = *call.function;
    std::vector<size_t> arguments;
    for (const RegionInput& in : inputs) {
      arguments.push_back(region_.values.size());
      region_.values.push_back({.shape = *in.shape.extents,
                                .dtype = to_string(in.dtype),
                                .constant = in.constant.defined() ? in.constant.data() : nullptr});
      if (!in.constant.defined()) region_.inputs.push_back(arguments.back());
    }
    region_.outputs = add(function, arguments, nullptr);
    return std::move(region_);
  }

 private:
  // The body on these values; of a composite its steps go into that. Gives the values of outputs.
  std::vector<size_t> add(const GraphFunction& function, const std::vector<size_t>& arguments,
                          vendor::Composite* composite) {
    std::unordered_map<const Node*, std::vector<size_t>> values;  // look-ups only
    for (size_t k = 0; k < arguments.size(); ++k)
      values[function.parameters[k].get()] = {arguments[k]};
    for (const NodeRef& node : nodes_of(function.outputs)) {
      if (node->is_variable()) continue;
      std::vector<size_t> inputs;
      for (const Entry& e : node->inputs) inputs.push_back(values.at(e.node.get())[e.index]);
      if (node->function) {
        vendor::Composite inner{.pattern = text_of(*node, "Composite")};
        values[node.get()] = add(*node->function, inputs, composite ? composite : &inner);
        if (composite == nullptr) region_.composites.push_back(std::move(inner));
        continue;
      }
      vendor::Step step = step_of(*node);
      step.inputs = std::move(inputs);
      infer(*node, AttributeValues(node->op->attributes, node->attributes, node->name), step);
      values[node.get()] = step.outputs;
      if (composite != nullptr) {
        composite->steps.push_back(std::move(step));
      } else {
        region_.composites.push_back({.steps = {std::move(step)}});
      }
    }
    std::vector<size_t> outputs;
    for (const Entry& e : function.outputs) outputs.push_back(values.at(e.node.get())[e.index]);
    return outputs;
  }

  // Shapes and types of the node's outputs, forward: a body stands in the order in which it runs.
  void infer(const Node& node, const AttributeValues& attributes, vendor::Step& step) {
    std::vector<Shape> shapes;
    std::vector<KnownType> types;
    for (size_t v : step.inputs) {
      shapes.emplace_back(region_.values[v].shape);
      types.emplace_back(parse_dtype(region_.values[v].dtype));
    }
    const auto count = static_cast<size_t>(node.num_outputs());
    std::vector<Shape> shape(count);
    std::vector<KnownType> type(count);
    ShapeInference s(node, attributes, shapes, shape, ErrorCode::ShapeConflict);
    if (node.op->infer_shape) node.op->infer_shape(s);
    TypeInference t(node, attributes, types, type, ErrorCode::TypeConflict);
    if (node.op->infer_type) node.op->infer_type(t);
    for (size_t k = 0; k < count; ++k) {
      if (!shape[k].known() || !type[k]) {
        raise({.code = ErrorCode::BadGraph,
               .what = fmt::format("the shape or type of '{}' is unknown", node.name),
               .legal = "a shape and a dtype for each input of the graph"});
      }
      step.outputs.push_back(region_.values.size());
      region_.values.push_back({.shape = *shape[k].extents, .dtype = to_string(*type[k])});
    }
  }

  vendor::Region region_;
};

}  // namespace

vendor::Region region_of(const Node& call, std::span<const RegionInput> inputs) {
  for (const RegionInput& in : inputs) {
    if (in.shape.known()) continue;
    raise({.code = ErrorCode::BadGraph,
           .what = fmt::format("the shape of an input of '{}' is unknown", call.name),
           .legal = "a shape and a dtype for each input of the graph"});
  }
  return Builder().build(call, inputs);
}

vendor::Region region_of(const Match& match, const PatternGraph& graph) {
  static const char kSomewhere = 0;
  vendor::Region region;
  std::map<size_t, size_t> values;  // by entry
  const auto value_of = [&](const Entry& e) {
    const auto [at, is_new] = values.try_emplace(graph.index().entry_id(e), region.values.size());
    if (is_new) {
      region.values.push_back({.shape = *graph.shape(e)->extents,
                               .dtype = to_string(*graph.dtype(e)),
                               .constant = graph.is_constant(*e.node) ? &kSomewhere : nullptr});
    }
    return at->second;
  };
  vendor::Composite& composite = region.composites.emplace_back();
  for (uint32_t id : match.nodes) {
    const NodeRef& node = graph.index().nodes()[id];
    vendor::Step& step = composite.steps.emplace_back(step_of(*node));
    for (const Entry& e : node->inputs) step.inputs.push_back(value_of(e));
    for (const Entry& e : entries_of(node)) {
      step.outputs.push_back(value_of(e));
      if (graph.is_read(e)) region.outputs.push_back(step.outputs.back());
    }
  }
  return region;
}

}  // namespace tw::graph
