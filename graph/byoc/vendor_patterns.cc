// SPDX-License-Identifier: Apache-2.0
// The pattern tables of the code generators of codegens.def.
#include <algorithm>
#include <set>
#include <string>

#include "graph/byoc/codegens.h"
#include "graph/op.h"

namespace tw::graph {
namespace {

bool is_float32(const Match& m, const PatternGraph& graph) {
  return std::ranges::all_of(m.nodes, [&](uint32_t id) {
    const NodeRef& node = graph.index().nodes()[id];
    const auto is = [&](const Entry& e) { return graph.dtype(e) == float_type(32); };
    return is({node}) && std::ranges::all_of(node->inputs, is);
  });
}

bool has_text(const Node& node, std::string_view attribute, std::string_view wanted) {
  const AttributeValues a(node.op->attributes, node.attributes, node.name);
  return a.text(attribute) == wanted;
}

// Images in NCHW, and weights in OIHW.
bool is_plain_image(const Match& m, const PatternGraph& graph) {
  return is_float32(m, graph) && std::ranges::all_of(m.nodes, [&](uint32_t id) {
           const Node& node = *graph.index().nodes()[id];
           const auto schema = [&](std::string_view name) {
             return std::ranges::find(node.op->attributes, name, &AttributeSpec::name) !=
                    node.op->attributes.end();
           };
           return (!schema("layout") || has_text(node, "layout", "NCHW")) &&
                  (!schema("kernel_layout") || has_text(node, "kernel_layout", "OIHW"));
         });
}

// Windows without gaps, of which those that begin behind the image count too where others do.
bool is_plain_pool(const Match& m, const PatternGraph& graph) {
  return is_plain_image(m, graph) && std::ranges::all_of(m.nodes, [&](uint32_t id) {
           const Node& node = *graph.index().nodes()[id];
           if (node.op->name.starts_with("global")) return true;
           const AttributeValues a(node.op->attributes, node.attributes, node.name);
           const bool gaps =
               std::ranges::any_of(a.tuple("dilation"), [](int64_t d) { return d != 1; });
           return !gaps && (!a.flag("ceil_mode") || a.text("ceil_rule") == "tvm");
         });
}

// The second operand of an addition has the shape of the first: a residual.
bool adds_same_shape(const Match& m, const PatternGraph& graph) {
  return std::ranges::all_of(m.nodes, [&](uint32_t id) {
    const Node& node = *graph.index().nodes()[id];
    if (node.op->name != "broadcast_add") return true;
    const Shape *a = graph.shape(node.inputs[0]), *b = graph.shape(node.inputs[1]);
    return a != nullptr && b != nullptr && a->known() && *a == *b;
  });
}

// Means over the last dimension, and a scale and a shift as long as that.
bool is_layer_norm(const Match& m, const PatternGraph& graph) {
  const NodeRef& first = graph.index().nodes()[m.nodes.front()];
  const Shape* x = graph.shape(first->inputs[0]);
  if (!is_float32(m, graph) || x == nullptr || !x->known() || x->rank() == 0) return false;
  const auto last = static_cast<int64_t>(x->rank()) - 1;
  return std::ranges::all_of(m.nodes, [&](uint32_t id) {
    const Node& node = *graph.index().nodes()[id];
    const AttributeValues a(node.op->attributes, node.attributes, node.name);
    if (node.op->name == "mean") {
      const auto& axis = a.tuple("axis");
      return axis.size() == 1 && (axis[0] == last || axis[0] == -1) && a.flag("keepdims") &&
             !a.flag("exclude");
    }
    if (node.op->name.ends_with("_sub")) return true;  // of x, by the pattern
    const int64_t extent = (*x)[static_cast<size_t>(last)];
    return std::ranges::all_of(node.inputs, [&](const Entry& e) {
      const bool inside = std::ranges::any_of(
          m.nodes, [&](uint32_t other) { return graph.index().nodes()[other] == e.node; });
      const Shape* s = graph.shape(e);
      return inside || (s != nullptr && s->known() && s->rank() > 0 && s->elements() == extent &&
                        (*s)[s->rank() - 1] == extent);
    });
  });
}

// Of primitive operators: (x - mean) / sqrt(mean of its square + epsilon), as far as it goes.
std::vector<PatternRef> layer_norms() {
  const PatternRef x = wildcard();
  const PatternRef centred = is_op("subtract", {x, is_op("mean", {x})});
  const PatternRef variance = is_op("mean", {is_op("multiply", {centred, centred})});
  const PatternRef normal =
      is_op("divide", {centred, is_op("sqrt", {is_op("__add_scalar__", {variance})})});
  const PatternRef scaled = is_op("multiply", {normal, wildcard()});
  return {is_op("add", {scaled, wildcard()}), scaled, normal};
}

PatternRef with_activation(const PatternRef& p) {
  return either(is_op("nn.relu", {p}), either(is_op("clip", {p}), p));
}

}  // namespace

PatternTable openblas_patterns() {
  const PatternRef product = either(is_op("nn.dense"), is_op("nn.matmul"));
  return {"openblas",
          {{.name = "openblas.product",
            .pattern = either(is_op("nn.relu", {product}), product),
            .predicate = is_float32}}};
}

PatternTable csource_patterns() {
  PatternTable table{.compiler = "csource"};
  for (const char* op : {"nn.conv2d", "nn.dense", "nn.relu", "tanh", "sigmoid", "exp", "sqrt",
                         "negative", "abs", "copy", "nn.batch_flatten", "add", "subtract",
                         "multiply", "__add_scalar__", "__sub_scalar__", "__mul_scalar__"}) {
    table.patterns.push_back(
        {.name = std::string("csource.") + op, .pattern = is_op(op), .predicate = is_plain_image});
  }
  return table;
}

PatternTable onednn_patterns() {
  PatternTable table{.compiler = "onednn"};
  const PatternRef conv = is_op("nn.conv2d");
  const PatternRef norm = is_tuple_get_item(
      is_op("nn.batch_norm", {conv, is_constant(), is_constant(), is_constant(), is_constant()}),
      0);
  const PatternRef normed = either(norm, conv);
  const PatternRef sum = is_op("add", {normed, wildcard()});
  table.patterns.push_back({.name = "onednn.conv2d",
                            .pattern = with_activation(either(sum, normed)),
                            .predicate = [](const Match& m, const PatternGraph& g) {
                              return is_plain_image(m, g) && adds_same_shape(m, g);
                            }});
  // Where the addition is no residual.
  table.patterns.push_back(
      {.name = "onednn.conv2d", .pattern = with_activation(normed), .predicate = is_plain_image});
  for (const char* op : {"nn.dense", "nn.matmul"}) {
    table.patterns.push_back(
        {.name = "onednn.product", .pattern = with_activation(is_op(op)), .predicate = is_float32});
  }
  for (const char* op :
       {"nn.max_pool2d", "nn.avg_pool2d", "nn.global_max_pool2d", "nn.global_avg_pool2d"}) {
    table.patterns.push_back(
        {.name = "onednn.pool2d", .pattern = is_op(op), .predicate = is_plain_pool});
  }
  // In front of what they consist of.
  const PatternRef batch_norm = is_op("nn.batch_norm");
  table.patterns.push_back(
      {.name = "onednn.batch_norm",
       .pattern = either(is_op("nn.relu", {is_tuple_get_item(batch_norm, 0)}), batch_norm),
       .predicate = is_float32});
  for (const PatternRef& pattern : layer_norms()) {
    table.patterns.push_back(
        {.name = "onednn.layer_norm", .pattern = pattern, .predicate = is_layer_norm});
  }
  for (const char* op :
       {"nn.relu", "tanh", "sigmoid", "exp", "sqrt", "abs", "clip", "nn.softmax"}) {
    table.patterns.push_back(
        {.name = std::string("onednn.") + op, .pattern = is_op(op), .predicate = is_float32});
  }
  table.patterns.push_back({.name = "onednn.sum",
                            .pattern = is_op("add", {wildcard(), wildcard()}),
                            .predicate = [](const Match& m, const PatternGraph& g) {
                              return is_float32(m, g) && adds_same_shape(m, g);
                            }});
  table.patterns.push_back(
      {.name = "onednn.concat", .pattern = is_op("concatenate"), .predicate = is_float32});
  return table;
}

}  // namespace tw::graph
