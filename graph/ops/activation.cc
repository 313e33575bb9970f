// SPDX-License-Identifier: Apache-2.0
// Elementwise operators with attributes of their own.
#include <fmt/format.h>

#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

void infer_prelu(ShapeInference& s) {
  s.equate(0, 0);
  s.narrow_input(1, channels_of(s, s.input(1)));
  narrow_by_channels(s, s.input(1));
}

// 1 where data is positive, 0 elsewhere.
Entry positive(const GradientOf& n) { return n("broadcast_greater", {n.input(0), n.zeros(0)}); }
Entry rest_of(const GradientOf& n, const Entry& mask) {
  return n("__rsub_scalar__", {mask}, {{"scalar", "1"}});
}

Entries leaky_relu_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const Entry above = positive(n);
  const std::string alpha = fmt::format("{}", n.attributes().real("alpha"));
  const Entry below = n("__mul_scalar__", {rest_of(n, above)}, {{"scalar", alpha}});
  return {n.product(g[0], n("elemwise_add", {above, below}))};
}

Entries prelu_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const std::string axis = tuple_text({n.attributes().integer("axis")});
  const Entry above = positive(n), below = n.product(g[0], rest_of(n, above));
  const Entry alpha =
      n("expand_like", {n.input(1), n.input(0)}, {{"axis", axis}, {"exclude", "True"}});
  const Entry of_data = n("elemwise_add", {n.product(g[0], above), n.product(below, alpha)});
  return {of_data, n("sum", {n.product(below, n.input(0))}, {{"axis", axis}, {"exclude", "True"}})};
}

// Limits belong to what is passed on, as in PyTorch.
Entries clip_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const auto limit = [&](std::string_view name) {
    return n("full_like", {n.input(0)},
             {{"fill_value", fmt::format("{}", n.attributes().real(name))}});
  };
  const Entry above = n("broadcast_greater_equal", {n.input(0), limit("a_min")}),
              below = n("broadcast_less_equal", {n.input(0), limit("a_max")});
  return {n.product(g[0], n.product(above, below))};
}

// Whole numbers do not change a little.
Entries cast_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  if (!n.attributes().dtype("dtype").is_float()) return no_gradient(node, g);
  return {n("cast_like", {g[0], n.input(0)})};
}

}  // namespace

std::vector<Op> activation_ops() {
  using enum AttributeType;
  return {
      {.name = "leaky_relu",
       .doc = "x where positive, else alpha * x",
       .inputs = {{"data", "any shape, floating"}},
       .attributes = {{"alpha", Float, "0.25", "the slope below 0"}},
       .infer_shape = same_shape,
       .infer_type = same_type,
       .layout = one_layout,
       .pattern = Pattern::ElementWise,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::nn::leaky_relu(in[0], a.real("alpha"))};
           },
       .gradient = leaky_relu_gradient,
       .fold_scale = scales_as_positive,
       .inplace = {{0, 0}}},
      {.name = "prelu",
       .doc = "x where positive, else alpha * x, with an alpha for each channel",
       .inputs = {{"data", "any shape"},
                  {"alpha",
                   "(c,), with c the extent of data along `axis`; (c / b, b) where blocks of b "
                   "channels are the last dimension of data"}},
       .attributes = {{"axis", Int, "1", "the dimension of channels"}},
       .infer_shape = infer_prelu,
       .infer_type = same_type,
       .layout = channel_layout,
       .pattern = Pattern::Broadcast,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::nn::prelu(in[0], in[1], static_cast<int>(a.integer("axis")))};
           },
       .gradient = prelu_gradient,
       .fold_scale = scales_as_positive,
       .inplace = {{0, 0}}},
      {.name = "clip",
       .doc = "max(a_min, min(x, a_max))",
       .inputs = {{"data", "any shape, numbers"}},
       .attributes = {{"a_min", Float, {}, "the least"}, {"a_max", Float, {}, "the greatest"}},
       .infer_shape = same_shape,
       .infer_type = same_type,
       .layout = one_layout,
       .pattern = Pattern::ElementWise,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::clip(in[0], a.real("a_min"), a.real("a_max"))};
           },
       .gradient = clip_gradient,
       .inplace = {{0, 0}}},
      {.name = "cast",
       .doc = "x in another element type; floats go towards zero where that is an integer type",
       .inputs = {{"data", "any shape and type"}},
       .attributes = {{"dtype", Type, {}, "the element type of the output"}},
       .infer_shape = same_shape,
       .infer_type = [](TypeInference& t) { t.narrow_output(0, t.attributes().dtype("dtype")); },
       .layout = one_layout,
       .pattern = Pattern::ElementWise,
       .compute = [](const AttributeValues& a,
                     Tensors in) { return std::vector{topi::cast(in[0], a.dtype("dtype"))}; },
       .gradient = cast_gradient,
       .identity = [](const Node& node, const Known& known) -> std::optional<Entry> {
         const AttributeValues a(node.op->attributes, node.attributes, node.name);
         if (known.input_types[0] != a.dtype("dtype")) return std::nullopt;
         return node.inputs[0];
       },
       .inplace = {{0, 0}}},
      {.name = "cast_like",
       .doc = "data in the element type of dtype_like",
       .inputs = {{"data", "any shape and type"}, {"dtype_like", "any shape and type"}},
       .infer_shape = first_shape,
       .infer_type = [](TypeInference& t) { t.equate(1, 0); },
       .pattern = Pattern::ElementWise,
       .compute = [](const AttributeValues&,
                     Tensors in) { return std::vector{topi::cast(in[0], in[1].dtype())}; },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return first_gradient(n, n("cast_like", {g[0], n.input(0)}));
           },
       .identity = [](const Node& node, const Known& known) -> std::optional<Entry> {
         if (!known.input_types[0] || known.input_types[0] != known.input_types[1]) {
           return std::nullopt;
         }
         return node.inputs[0];
       },
       .inplace = {{0, 0}}},
      {.name = "full_like",
       .doc = "fill_value for each element of x",
       .inputs = {{"data", "any shape"}},
       .attributes = {{"fill_value", Float, {}, "a number, taken in the type of data"}},
       .infer_shape = same_shape,
       .infer_type = same_type,
       .layout = one_layout,
       .pattern = Pattern::ElementWise,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{
                 topi::full_like(in[0], constant_of(in[0].dtype(), a.real("fill_value")))};
           },
       .gradient = flat_gradient,
       .inplace = {{0, 0}}},
  };
}

}  // namespace tw::graph
