// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/convolution.h"
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "graph/ops/image.h"
#include "schedule/topi/topi.h"

namespace tw::graph {

const ConvolutionFamily& convolutions(size_t spatial) {
  static constexpr ConvolutionFamily kFamilies[] = {
      {1, "conv1d", "conv1d_transpose", "_conv1d_grad", "_conv1d", "_conv1d_data_grad",
       "_conv1d_weight_grad", "NCW", "OIW", "(1,)", "(0,)"},
      {2, "conv2d", "conv2d_transpose", "_conv2d_grad", "_conv2d", "_conv2d_data_grad",
       "_conv2d_weight_grad", "NCHW", "OIHW", "(1, 1)", "(0, 0)"},
      {3, "conv3d", "conv3d_transpose", "_conv3d_grad", "_conv3d", "_conv3d_data_grad",
       "_conv3d_weight_grad", "NCDHW", "OIDHW", "(1, 1, 1)", "(0, 0, 0)"}};
  return kFamilies[spatial - 1];
}

Layout channels_in(const Layout& images) {
  const Layout channels = Layout::parse("C");
  return images.is_split('C') ? channels.split('C', 1, images.block('C')) : channels;
}

void infer_windows(ShapeInference& s, const Layout& layout, const Layout& kernel_layout,
                   const Layout& out_layout, int64_t channels) {
  const AttributeValues& a = s.attributes();
  const std::string letters = spatial_letters(layout);
  const size_t spatial = letters.size();
  const int64_t groups = a.integer("groups");
  const std::vector<int64_t> kernel = steps_of(s, "kernel_size", spatial),
                             stride = steps_of(s, "strides", spatial),
                             dilation = steps_of(s, "dilation", spatial);
  const Border border = border_of(s, "padding", spatial);
  if (groups < 1 || (channels != kUnknown && (channels < 1 || channels % groups != 0))) {
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
  s.narrow_input(0, shape(layout, {}));
  s.narrow_input(1, shape(kernel_layout, {}));
  s.narrow_output(0, shape(out_layout, {}));
  if (channels == kUnknown) channels = extents_of(s.input(1), kernel_layout)['O'];
  if (channels == kUnknown) channels = extents_of(s.output(0), out_layout)['C'];
  const int64_t of_data = extents_of(s.input(0), layout)['C'],
                of_weight = extents_of(s.input(1), kernel_layout)['I'];
  if (of_data != kUnknown && of_data % groups != 0) {
    s.fail(fmt::format("{} input channels in {} groups", of_data, groups),
           "a multiple of the number of groups");
  }
  LayoutExtents weight{{'O', channels}, {'I', of_data == kUnknown ? of_data : of_data / groups}};
  for (size_t d = 0; d < spatial; ++d) weight[letters[d]] = kernel[d];
  s.narrow_input(1, shape(kernel_layout, weight));
  s.narrow_input(0, shape(layout, {{'N', extents_of(s.output(0), out_layout)['N']},
                                   {'C', of_weight == kUnknown ? of_weight : of_weight * groups}}));
  if (s.num_inputs() > 2) {
    s.narrow_input(2, shape(channels_in(out_layout), {{'C', channels}}));
  }
  LayoutExtents data = extents_of(s.input(0), layout);
  LayoutExtents out{{'N', data['N']}, {'C', channels}};
  for (size_t d = 0; d < spatial; ++d) {
    out[letters[d]] =
        window_positions(s, data[letters[d]],
                         {kernel[d], stride[d], dilation[d], border.before[d], border.after[d]});
  }
  s.narrow_output(0, shape(out_layout, out));
}

void infer_convolution_type(TypeInference& t) {
  const bool same = t.attributes().is_none("out_dtype");
  KnownType in;
  for (size_t k = 0; k < t.num_inputs() && !in; ++k) in = t.input(k);
  if (same && !in) in = t.output(0);
  for (size_t k = 0; k < t.num_inputs(); ++k) t.narrow_input(k, in);
  t.narrow_output(0, same ? in : KnownType(t.attributes().dtype("out_dtype")));
}

std::vector<AttributeSpec> convolution_attributes(const ConvolutionFamily& f) {
  using enum AttributeType;
  const std::string_view ones = f.ones, zeros = f.zeros;
  return {{"channels", Int, {}, "output channels"},
          {"kernel_size", Tuple, {}, "extents of a kernel"},
          {"strides", Tuple, ones, "from one position of a kernel to the next"},
          {"padding", Tuple, zeros,
           "zeros around images: one number, one for each spatial dimension, or those before and "
           "then those behind each, as (top, left, bottom, right)"},
          {"dilation", Tuple, ones, "from one tap of a kernel to the next"},
          {"groups", Int, "1", "channels are in so many groups that do not mix"},
          {"layout", Text, f.layout, "order of the dimensions of data and output"},
          {"kernel_layout", Text, f.kernel_layout, "order of the dimensions of weight"},
          {"out_dtype", OptionalType, "same", "element type of the output"},
          {"use_bias", Bool, "True", "whether there is a bias"}};
}

void require_layouts(const ShapeInference& s, const ConvolutionFamily& f) {
  require_permutation(s, "layout", f.layout);
  require_permutation(s, "kernel_layout", f.kernel_layout);
}

void convolution_layout(LayoutChoice& c) {
  const Layout layout = c.attribute("layout");
  c.want(0, layout);
  c.want(1, c.attribute("kernel_layout"));
  if (c.num_inputs() > 2) c.want(2, channels_in(layout));
  c.give(0, layout);
}

std::string channel_axis(const Node& node) {
  const AttributeValues a(node.op->attributes, node.attributes, node.name);
  return fmt::format("({},)", a.text("layout").find('C'));
}

namespace {

using Family = ConvolutionFamily;

std::vector<te::Tensor> compute_convolution(const Family& f, const AttributeValues& a, Tensors in) {
  const std::string &layout = a.text("layout"), &kernel_layout = a.text("kernel_layout");
  const std::optional<DType> type =
      a.is_none("out_dtype") ? std::nullopt : std::optional(a.dtype("out_dtype"));
  te::Tensor out = topi::nn::conv(ordered(in[0], layout, f.layout),
                                  ordered(in[1], kernel_layout, f.kernel_layout),
                                  a.tuple("strides"), topi::Padding(a.tuple("padding")),
                                  a.tuple("dilation"), a.integer("groups"), type);
  if (in.size() > 2) out = topi::nn::bias_add(out, in[2]);
  return {ordered(out, f.layout, layout)};
}

// Output channels are those of weight and bias; input channels those of the weight.
std::vector<ScaleEquation> convolution_scales(const Node& node, std::span<const Shape> inputs,
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
  if (groups > 1 && groups == inputs[0][channel] && groups == inputs[1][o]) {
    in.inputs[1] = {Kind::Multiply, o};  // depthwise: one of the weight's channels for each
  }
  if (inputs.size() > 2) {
    out.inputs.push_back({Kind::Multiply, 0});
    in.inputs.emplace_back();
  }
  return {out, in};
}

Op convolution(const Family& f) {
  Op op{
      .name = f.conv,
      .doc =
          "Slides `channels` kernels over images and adds what they cover, times their "
          "weights.",
      .inputs = {{"data", "images, channels and spatial dimensions in the order of `layout`"},
                 {"weight", "(channels, c / groups, *kernel_size) in the order of `kernel_layout`"},
                 {"bias", "(channels,), added to each element of a channel", "use_bias"}},
      .attributes = convolution_attributes(f),
      .infer_type = infer_convolution_type,
      .layout = convolution_layout,
      .pattern = Pattern::OutEWiseFusable,
      .fold_scale = convolution_scales};
  op.infer_shape = [&f](ShapeInference& s) {
    require_layouts(s, f);
    const Layout layout = Layout::parse(s.attributes().text("layout"));
    infer_windows(s, layout, Layout::parse(s.attributes().text("kernel_layout")), layout,
                  s.attributes().integer("channels"));
  };
  op.compute = [&f](const AttributeValues& a, Tensors in) { return compute_convolution(f, a, in); };
  op.gradient = [&f](const NodeRef& node, const Entries& g) {
    return convolution_gradient(f, node, g);
  };
  if (f.spatial == 2) op.alter_layout = blocked_convolution;
  return op;
}

// The same without bias, whose weight says how many channels there are.
Op convolution_of_weight(const Family& f) {
  Op op = convolution(f);
  op.name = f.of_weight;
  op.doc = "A convolution with as many channels as its weight has; part of gradients.";
  op.inputs.pop_back();
  op.attributes.erase(op.attributes.begin());
  op.attributes.pop_back();
  op.alter_layout = {};
  op.gradient = [&f](const NodeRef& node, const Entries& g) {
    return of_weight_gradient(f, node, g);
  };
  op.infer_shape = [&f](ShapeInference& s) {
    require_layouts(s, f);
    const Layout layout = Layout::parse(s.attributes().text("layout"));
    infer_windows(s, layout, Layout::parse(s.attributes().text("kernel_layout")), layout,
                  Shape::kUnknown);
  };
  return op;
}

}  // namespace

std::vector<Op> convolution_ops() {
  std::vector<Op> ops;
  for (size_t spatial : {1, 2, 3}) {
    ops.push_back(convolution(convolutions(spatial)));
    ops.push_back(convolution_of_weight(convolutions(spatial)));
  }
  return ops;
}

}  // namespace tw::graph
