// SPDX-License-Identifier: Apache-2.0
// Elementwise operators with attributes of their own.
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

void infer_prelu(ShapeInference& s) {
  s.narrow_output(0, s.input(0));
  s.narrow_input(0, s.output(0));
  s.narrow_input(1, channels_of(s, s.input(1)));
  narrow_by_channels(s, s.input(1));
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
       .identity = [](const Node& node, const Known& known) -> std::optional<Entry> {
         const AttributeValues a(node.op->attributes, node.attributes, node.name);
         if (known.input_types[0] != a.dtype("dtype")) return std::nullopt;
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
       .inplace = {{0, 0}}},
  };
}

}  // namespace tw::graph
