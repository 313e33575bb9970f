// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/convolution.h"
#include "graph/ops/common.h"
#include "graph/ops/conv2d_gradient.h"
#include "graph/ops/families.h"
#include "graph/ops/image.h"
#include "schedule/topi/topi.h"

namespace tw::graph {

Layout channels_in(const Layout& images) {
  const Layout channels = Layout::parse("C");
  return images.is_split('C') ? channels.split('C', 1, images.block('C')) : channels;
}

void infer_windows(ShapeInference& s, const Layout& layout, const Layout& kernel_layout,
                   const Layout& out_layout) {
  const AttributeValues& a = s.attributes();
  const int64_t channels = a.integer("channels"), groups = a.integer("groups");
  const Pair kernel = pair_of(s, "kernel_size"), stride = pair_of(s, "strides"),
             dilation = pair_of(s, "dilation");
  const Border border = border_of(s, "padding");
  if (groups < 1 || channels < 1 || channels % groups != 0) {
    s.fail(fmt::format("{} channels in {} groups", channels, groups),
           "a multiple of the number of groups");
  }
  const auto shape = [&](const Layout& in, const LayoutExtents& extents) {
    const auto result = shape_in(in, extents);
    if (result) return *result;
    s.fail(fmt::format("{} channels in layout {}",
                       extents.contains('C') ? extents.at('C') : channels, in.text()),
           "blocks that divide the channels");
  };
  constexpr int64_t kUnknown = Shape::kUnknown;
  s.narrow_input(0, shape(layout, {}));
  s.narrow_input(1, shape(kernel_layout, {}));
  s.narrow_output(0, shape(out_layout, {}));
  const int64_t of_data = extents_of(s.input(0), layout)['C'],
                of_weight = extents_of(s.input(1), kernel_layout)['I'];
  if (of_data != Shape::kUnknown && of_data % groups != 0) {
    s.fail(fmt::format("{} input channels in {} groups", of_data, groups),
           "a multiple of the number of groups");
  }
  s.narrow_input(1, shape(kernel_layout, {{'O', channels},
                                          {'I', of_data == kUnknown ? of_data : of_data / groups},
                                          {'H', kernel.h},
                                          {'W', kernel.w}}));
  s.narrow_input(0, shape(layout, {{'N', extents_of(s.output(0), out_layout)['N']},
                                   {'C', of_weight == kUnknown ? of_weight : of_weight * groups}}));
  if (s.num_inputs() > 2) {
    s.narrow_input(2, shape(channels_in(out_layout), {{'C', channels}}));
  }
  LayoutExtents data = extents_of(s.input(0), layout);
  s.narrow_output(
      0,
      shape(
          out_layout,
          {{'N', data['N']},
           {'C', channels},
           {'H', window_positions(s, data['H'],
                                  {kernel.h, stride.h, dilation.h, border.top, border.bottom})},
           {'W', window_positions(s, data['W'],
                                  {kernel.w, stride.w, dilation.w, border.left, border.right})}}));
}

void infer_convolution_type(TypeInference& t) {
  const bool same = t.attributes().is_none("out_dtype");
  KnownType in;
  for (size_t k = 0; k < t.num_inputs() && !in; ++k) in = t.input(k);
  if (same && !in) in = t.output(0);
  for (size_t k = 0; k < t.num_inputs(); ++k) t.narrow_input(k, in);
  t.narrow_output(0, same ? in : KnownType(t.attributes().dtype("out_dtype")));
}

std::vector<AttributeSpec> conv2d_attributes() {
  using enum AttributeType;
  return {{"channels", Int, {}, "output channels"},
          {"kernel_size", Tuple, {}, "rows and columns of a kernel"},
          {"strides", Tuple, "(1, 1)", "from one position of a kernel to the next"},
          {"padding", Tuple, "(0, 0)",
           "zeros around images: all sides, (vertical, horizontal), or (top, left, "
           "bottom, right)"},
          {"dilation", Tuple, "(1, 1)", "from one tap of a kernel to the next"},
          {"groups", Int, "1", "channels are in so many groups that do not mix"},
          {"layout", Text, "NCHW", "order of the dimensions of data and output"},
          {"kernel_layout", Text, "OIHW", "order of the dimensions of weight"},
          {"out_dtype", OptionalType, "same", "element type of the output"},
          {"use_bias", Bool, "True", "whether there is a bias"}};
}

namespace {

void infer_conv2d(ShapeInference& s) {
  require_permutation(s, "layout", "NCHW");
  require_permutation(s, "kernel_layout", "OIHW");
  const Layout layout = Layout::parse(s.attributes().text("layout"));
  infer_windows(s, layout, Layout::parse(s.attributes().text("kernel_layout")), layout);
}

void conv2d_layout(LayoutChoice& c) {
  const Layout layout = c.attribute("layout");
  c.want(0, layout);
  c.want(1, c.attribute("kernel_layout"));
  if (c.num_inputs() > 2) c.want(2, channels_in(layout));
  c.give(0, layout);
}

void gradient_layout(LayoutChoice& c) {
  const Layout layout = c.attribute("layout"), kernel = c.attribute("kernel_layout");
  c.want(0, layout);
  c.want(1, layout);
  c.want(2, kernel);
  c.give(0, layout);
  c.give(1, kernel);
}

std::vector<te::Tensor> compute_conv2d(const AttributeValues& a, Tensors in) {
  const std::string &layout = a.text("layout"), &kernel_layout = a.text("kernel_layout");
  const std::optional<DType> type =
      a.is_none("out_dtype") ? std::nullopt : std::optional(a.dtype("out_dtype"));
  te::Tensor out = topi::nn::conv2d_nchw(
      ordered(in[0], layout, "NCHW"), ordered(in[1], kernel_layout, "OIHW"), a.tuple("strides"),
      topi::Padding(a.tuple("padding")), a.tuple("dilation"), a.integer("groups"), type);
  if (in.size() > 2) out = topi::nn::bias_add(out, in[2]);
  return {ordered(out, "NCHW", layout)};
}

// Of the data, the weight, and of the bias, which is added to every element of a channel.
Entries conv2d_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const Entry both =
      n("_conv2d_grad", {g[0], n.input(0), n.input(1)}, Attributes(node->attributes));
  Entries of_inputs{both, {.node = both.node, .index = 1}};
  if (node->inputs.size() > 2) {
    const AttributeValues a(node->op->attributes, node->attributes, node->name);
    const std::string channel = fmt::format("({},)", a.text("layout").find('C'));
    of_inputs.push_back(n("sum", {g[0]}, {{"axis", channel}, {"exclude", "true"}}));
  }
  return of_inputs;
}

// The two gradients are linear in `grad` and one of data and weight each.
Entries second_conv2d_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  Attributes forward(node->attributes);
  forward.set("use_bias", "False");
  const auto conv = [&](const Entry& data, const Entry& weight) {
    return n("conv2d", {data, weight}, forward);
  };
  const auto back = [&](const Entry& data, const Entry& weight, uint32_t output) {
    const Entry both = n("_conv2d_grad", {n.input(0), data, weight}, Attributes(node->attributes));
    return Entry{.node = both.node, .index = output};
  };
  const Entry &data = n.input(1), &weight = n.input(2);
  return {n("elemwise_add", {conv(g[0], weight), conv(data, g[1])}), back(data, g[1], 0),
          back(g[0], weight, 1)};
}

// Output channels are those of weight and bias; input channels those of the weight.
std::vector<ScaleEquation> conv2d_scales(const Node& node, std::span<const Shape> inputs,
                                         const Shape&) {
  using Kind = ScaledInput::Kind;
  const AttributeValues a(node.op->attributes, node.attributes, node.name);
  // Weights of another type may not hold the products.
  if (!a.is_none("out_dtype")) return {};
  const size_t channel = a.text("layout").find('C'), o = a.text("kernel_layout").find('O'),
               i = a.text("kernel_layout").find('I');
  const int64_t groups = a.integer("groups");
  ScaleEquation out{.output = channel, .inputs = {{}, {Kind::Multiply, o}}};
  ScaleEquation in{.inputs = {{Kind::Pass, channel}, {Kind::Multiply, i, groups, o}}};
  if (groups > 1 && groups == inputs[0][channel] && groups == a.integer("channels")) {
    in.inputs[1] = {Kind::Multiply, o};  // depthwise: one of the weight's channels for each
  }
  if (inputs.size() > 2) {
    out.inputs.push_back({Kind::Multiply, 0});
    in.inputs.emplace_back();
  }
  return {out, in};
}

topi::Pair pair_of(const AttributeValues& a, std::string_view name) {
  const std::vector<int64_t>& v = a.tuple(name);
  return {v[0], v.back()};
}

std::vector<te::Tensor> compute_gradients(const AttributeValues& a, Tensors in) {
  const std::string &layout = a.text("layout"), &kernel_layout = a.text("kernel_layout");
  const te::Tensor grad = ordered(in[0], layout, "NCHW"), data = ordered(in[1], layout, "NCHW"),
                   weight = ordered(in[2], kernel_layout, "OIHW");
  const topi::Pair stride = pair_of(a, "strides"), dilation = pair_of(a, "dilation");
  const std::vector<int64_t>& padding = a.tuple("padding");
  const Convolution conv{.stride = stride,
                         .dilation = dilation,
                         .top = padding[0],
                         .left = padding.size() > 1 ? padding[1] : padding[0],
                         .groups = a.integer("groups")};
  return {ordered(conv2d_data_gradient(grad, weight, data.shape()[2], data.shape()[3], conv),
                  "NCHW", layout),
          ordered(conv2d_weight_gradient(grad, data, weight.shape()[2], weight.shape()[3], conv),
                  "OIHW", kernel_layout)};
}

void shapes_of_inputs(ShapeInference& s) {
  for (size_t k = 0; k < 2; ++k) {
    s.narrow_output(k, s.input(k + 1));
    s.narrow_input(k + 1, s.output(k));
  }
}

}  // namespace

std::vector<Op> convolution_ops() {
  using enum AttributeType;
  return {
      {.name = "conv2d",
       .doc =
           "Slides `channels` kernels over images and adds what they cover, times their weights.",
       .inputs = {{"data", "(n, c, h, w) in the order of `layout`"},
                  {"weight",
                   "(channels, c / groups, *kernel_size) in the order of `kernel_layout`"},
                  {"bias", "(channels,), added to each element of a channel", "use_bias"}},
       .attributes = conv2d_attributes(),
       .infer_shape = infer_conv2d,
       .infer_type = infer_convolution_type,
       .layout = conv2d_layout,
       .pattern = Pattern::OutEWiseFusable,
       .compute = compute_conv2d,
       .gradient = conv2d_gradient,
       .fold_scale = conv2d_scales,
       .alter_layout = blocked_convolution},
      {.name = "_conv2d_grad",
       .doc = "The gradients of conv2d's data and weight; attributes are those of the conv2d.",
       .inputs = {{"grad", "the gradient of the output"},
                  {"data", "what conv2d was given"},
                  {"weight", "what conv2d was given"}},
       .attributes = conv2d_attributes(),
       .num_outputs = [](const AttributeValues&) { return 2; },
       .infer_shape = shapes_of_inputs,
       .infer_type =
           [](TypeInference& t) {
             for (size_t k = 0; k < 2; ++k) {
               t.narrow_output(k, t.input(k + 1));
               t.narrow_input(k + 1, t.output(k));
             }
           },
       .layout = gradient_layout,
       .pattern = Pattern::Opaque,
       .compute = compute_gradients,
       .gradient = second_conv2d_gradient},
  };
}

}  // namespace tw::graph
