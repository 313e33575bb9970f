// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions, and the gradients of convolutions. A convolution is linear in its data
// and in its weight; so are the gradient of its data, in that of the output and in the weight, and
// the gradient of its weight, in that of the output and in the data. The gradients of each are the
// two others.
#include "graph/ops/common.h"
#include "graph/ops/convolution.h"
#include "graph/ops/families.h"
#include "graph/ops/image.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

using Family = ConvolutionFamily;

std::vector<AttributeSpec> window_attributes(const Family& f) {
  std::vector<AttributeSpec> attributes = convolution_attributes(f);
  attributes.erase(attributes.begin());                      // channels
  attributes.erase(attributes.end() - 2, attributes.end());  // out_dtype, use_bias
  return attributes;
}

// Nodes of the three, as parts of the gradient of a node that has the attributes of their windows.
struct Linear {
  const Family& f;
  GradientOf n;
  Attributes attributes;

  Linear(const Family& f, const NodeRef& node) : f(f), n(node), attributes(windows_of(*node)) {}
  Entry conv(const Entry& data, const Entry& weight) const {
    return n(f.of_weight, {data, weight}, attributes);
  }
  // `like` is that data, or has its shape.
  Entry of_data(const Entry& grad, const Entry& weight, const Entry& like) const {
    return n(f.data_gradient, {grad, weight, like}, attributes);
  }
  Entry of_weight(const Entry& grad, const Entry& data) const {
    return n(f.weight_gradient, {grad, data}, attributes);
  }
};

// The sum over all that has the bias's channel.
void add_bias_gradient(Entries& of_inputs, const NodeRef& node, const Entry& g) {
  if (node->inputs.size() < 3) return;
  const GradientOf n(node);
  of_inputs.push_back(n("sum", {g}, {{"axis", channel_axis(*node)}, {"exclude", "true"}}));
}

te::Tensor as_type(const te::Tensor& tensor, DType type) {
  return tensor.dtype() == type ? tensor : topi::cast(tensor, type);
}

std::vector<Expr> spatial_extents(const te::Tensor& images) {
  const std::vector<Expr> shape = images.shape();
  return {shape.begin() + 2, shape.end()};
}

Op data_gradient(const Family& f) {
  Op op{.name = f.data_gradient,
        .doc =
            "The gradient of a convolution's data, from that of its output; attributes are "
            "those of the convolution.",
        .inputs = {{"grad", "the gradient of the output"},
                   {"weight", "what the convolution was given"},
                   {"data", "lends its shape and type"}},
        .attributes = window_attributes(f),
        .pattern = Pattern::OutEWiseFusable};
  op.infer_shape = [](ShapeInference& s) { s.equate(2, 0); };
  op.infer_type = [](TypeInference& t) { t.equate(2, 0); };
  op.layout = [](LayoutChoice& c) {
    const Layout layout = c.attribute("layout");
    c.want(0, layout);
    c.want(1, c.attribute("kernel_layout"));
    c.want(2, layout);
    c.give(0, layout);
  };
  op.compute = [&f](const AttributeValues& a, Tensors in) {
    const std::string &layout = a.text("layout"), &kernel_layout = a.text("kernel_layout");
    const te::Tensor out = topi::nn::conv_data_gradient(
        ordered(in[0], layout, f.layout), ordered(in[1], kernel_layout, f.kernel_layout),
        spatial_extents(ordered(in[2], layout, f.layout)), a.tuple("strides"),
        topi::Padding(a.tuple("padding")), a.tuple("dilation"), a.integer("groups"));
    return std::vector{ordered(as_type(out, in[2].dtype()), f.layout, layout)};
  };
  op.gradient = [&f](const NodeRef& node, const Entries& g) {
    const Linear make(f, node);
    return Entries{make.conv(g[0], make.n.input(1)), make.of_weight(make.n.input(0), g[0]),
                   make.n.zeros(2)};
  };
  return op;
}

// (channels of grad, channels of data / groups, *kernel_size).
void infer_weight(ShapeInference& s) {
  const AttributeValues& a = s.attributes();
  const Layout layout = Layout::parse(a.text("layout")),
               kernel_layout = Layout::parse(a.text("kernel_layout"));
  for (size_t k = 0; k < 2; ++k) s.narrow_input(k, *shape_in(layout, {}));
  LayoutExtents grad = extents_of(s.input(0), layout), data = extents_of(s.input(1), layout);
  const int64_t groups = a.integer("groups");
  LayoutExtents weight{{'O', grad['C']},
                       {'I', data['C'] == kUnknown ? kUnknown : data['C'] / groups}};
  const std::string letters = spatial_letters(layout);
  const std::vector<int64_t> kernel = steps_of(s, "kernel_size", letters.size());
  for (size_t d = 0; d < letters.size(); ++d) weight[letters[d]] = kernel[d];
  s.narrow_output(0, *shape_in(kernel_layout, weight));
  LayoutExtents out = extents_of(s.output(0), kernel_layout);
  s.narrow_input(0, *shape_in(layout, {{'N', data['N']}, {'C', out['O']}}));
  s.narrow_input(
      1, *shape_in(layout,
                   {{'N', grad['N']}, {'C', out['I'] == kUnknown ? kUnknown : out['I'] * groups}}));
}

Op weight_gradient(const Family& f) {
  Op op{.name = f.weight_gradient,
        .doc =
            "The gradient of a convolution's weight, from that of its output; attributes are "
            "those of the convolution.",
        .inputs = {{"grad", "the gradient of the output"},
                   {"data", "what the convolution was given"}},
        .attributes = window_attributes(f),
        .pattern = Pattern::OutEWiseFusable};
  op.infer_shape = [&f](ShapeInference& s) {
    require_layouts(s, f);
    infer_weight(s);
  };
  op.infer_type = [](TypeInference& t) { t.equate(1, 0); };
  op.layout = [](LayoutChoice& c) {
    const Layout layout = c.attribute("layout");
    c.want(0, layout);
    c.want(1, layout);
    c.give(0, c.attribute("kernel_layout"));
  };
  op.compute = [&f](const AttributeValues& a, Tensors in) {
    const std::string &layout = a.text("layout"), &kernel_layout = a.text("kernel_layout");
    std::vector<Expr> kernel;
    for (int64_t e : a.tuple("kernel_size")) kernel.push_back(make_const(int_type(32), e));
    kernel.resize(f.spatial, kernel.front());
    const te::Tensor out = topi::nn::conv_weight_gradient(
        ordered(in[0], layout, f.layout), ordered(in[1], layout, f.layout), kernel,
        a.tuple("strides"), topi::Padding(a.tuple("padding")), a.tuple("dilation"),
        a.integer("groups"), in[0].dtype());
    return std::vector{ordered(as_type(out, in[1].dtype()), f.kernel_layout, kernel_layout)};
  };
  op.gradient = [&f](const NodeRef& node, const Entries& g) {
    const Linear make(f, node);
    const Entry &grad = make.n.input(0), &data = make.n.input(1);
    return Entries{make.conv(data, g[0]), make.of_data(grad, g[0], data)};
  };
  return op;
}

// Outputs 0 and 1: of data and weight.
Op both_gradients(const Family& f) {
  const Op data = data_gradient(f), weight = weight_gradient(f);
  Op op{.name = f.both_gradients,
        .doc =
            "The gradients of a convolution's data and weight; attributes are those of the "
            "convolution. A build takes them apart.",
        .inputs = {{"grad", "the gradient of the output"},
                   {"data", "what the convolution was given"},
                   {"weight", "what the convolution was given"}},
        .attributes = convolution_attributes(f),
        .num_outputs = [](const AttributeValues&) { return 2; },
        .pattern = Pattern::Opaque};
  op.infer_shape = [](ShapeInference& s) {
    for (size_t k = 0; k < 2; ++k) {
      s.equate(k + 1, k);
    }
  };
  op.infer_type = [](TypeInference& t) {
    for (size_t k = 0; k < 2; ++k) {
      t.equate(k + 1, k);
    }
  };
  op.layout = [](LayoutChoice& c) {
    const Layout layout = c.attribute("layout"), kernel = c.attribute("kernel_layout");
    c.want(0, layout);
    c.want(1, layout);
    c.want(2, kernel);
    c.give(0, layout);
    c.give(1, kernel);
  };
  op.compute = [of_data = data.compute, of_weight = weight.compute](const AttributeValues& a,
                                                                    Tensors in) {
    const te::Tensor for_data[] = {in[0], in[2], in[1]}, for_weight[] = {in[0], in[1]};
    return std::vector{of_data(a, for_data)[0], of_weight(a, for_weight)[0]};
  };
  op.simplify = [&f](const NodeRef& node, std::span<const Shape>) {
    const Linear make(f, node);
    const Entry &grad = make.n.input(0), &data = make.n.input(1), &weight = make.n.input(2);
    return Entries{make.of_data(grad, weight, data), make.of_weight(grad, data)};
  };
  op.gradient = [&f](const NodeRef& node, const Entries& g) {
    const Linear make(f, node);
    const Entry &grad = make.n.input(0), &data = make.n.input(1), &weight = make.n.input(2);
    return Entries{make.n("elemwise_add", {make.conv(g[0], weight), make.conv(data, g[1])}),
                   make.of_data(grad, g[1], data), make.of_weight(grad, g[0])};
  };
  return op;
}

std::vector<AttributeSpec> transposed_attributes(const Family& f) {
  std::vector<AttributeSpec> attributes = convolution_attributes(f);
  for (AttributeSpec& a : attributes) {
    if (a.name == "padding")
      a.doc = "elements that are taken off around the output: as conv has them";
    if (a.name == "kernel_layout") {
      a.doc = "order of the dimensions of weight, of which O are the channels of data";
    }
  }
  attributes.insert(attributes.begin() + 4,
                    {"output_padding", AttributeType::Tuple, f.zeros,
                     "more elements at the end of each spatial dimension, less than its stride or "
                     "its dilation"});
  return attributes;
}

// Extents of a spatial dimension, in and out.
struct Spread {
  int64_t stride, off;  // out = in * stride + off
  int64_t out(int64_t in) const { return in == kUnknown ? kUnknown : in * stride + off; }
  int64_t in(int64_t out) const { return out == kUnknown ? kUnknown : (out - off) / stride; }
};

std::vector<Spread> spreads(const ShapeInference& s, size_t spatial) {
  const std::vector<int64_t> kernel = steps_of(s, "kernel_size", spatial),
                             stride = steps_of(s, "strides", spatial),
                             dilation = steps_of(s, "dilation", spatial),
                             more = steps_of(s, "output_padding", spatial, 0);
  const Border border = border_of(s, "padding", spatial);
  std::vector<Spread> result;
  for (size_t d = 0; d < spatial; ++d) {
    if (more[d] >= std::max(stride[d], dilation[d])) {
      s.fail(fmt::format("output_padding {}", more[d]),
             fmt::format("less than the stride {} or the dilation {}", stride[d], dilation[d]));
    }
    result.push_back({stride[d], dilation[d] * (kernel[d] - 1) + 1 + more[d] - stride[d] -
                                     border.before[d] - border.after[d]});
  }
  return result;
}

void infer_transposed(ShapeInference& s) {
  const AttributeValues& a = s.attributes();
  const Layout layout = Layout::parse(a.text("layout")),
               kernel_layout = Layout::parse(a.text("kernel_layout"));
  const std::string letters = spatial_letters(layout);
  const int64_t channels = a.integer("channels"), groups = a.integer("groups");
  if (groups < 1 || channels < 1 || channels % groups != 0) {
    s.fail(fmt::format("{} channels in {} groups", channels, groups),
           "a multiple of the number of groups");
  }
  const std::vector<Spread> spread = spreads(s, letters.size());
  const std::vector<int64_t> kernel = steps_of(s, "kernel_size", letters.size());
  for (size_t k = 0; k < 2; ++k) s.narrow_input(k, *shape_in(k == 0 ? layout : kernel_layout, {}));
  s.narrow_output(0, *shape_in(layout, {}));
  LayoutExtents in = extents_of(s.input(0), layout), out = extents_of(s.output(0), layout);
  if (in['C'] != kUnknown && in['C'] % groups != 0) {
    s.fail(fmt::format("{} input channels in {} groups", in['C'], groups),
           "a multiple of the number of groups");
  }
  LayoutExtents weight{{'O', in['C']}, {'I', channels / groups}};
  LayoutExtents data{{'N', out['N']}, {'C', extents_of(s.input(1), kernel_layout)['O']}};
  LayoutExtents result{{'N', in['N']}, {'C', channels}};
  for (size_t d = 0; d < letters.size(); ++d) {
    const char letter = letters[d];
    weight[letter] = kernel[d];
    data[letter] = spread[d].in(out[letter]);
    result[letter] = spread[d].out(in[letter]);
    if (in[letter] != kUnknown && result[letter] < 1) {
      s.fail(fmt::format("an output of {} elements in dimension {}", result[letter], letter),
             "padding that leaves elements");
    }
  }
  s.narrow_input(1, *shape_in(kernel_layout, weight));
  s.narrow_output(0, *shape_in(layout, result));
  s.narrow_input(0, *shape_in(layout, data));
  if (s.num_inputs() > 2) s.narrow_input(2, Shape({channels}));
}

// Output channels are those of the weight's I, input channels those of its O.
std::vector<ScaleEquation> transposed_scales(const Node& node, std::span<const Shape> inputs,
                                             const Shape&) {
  using Kind = ScaledInput::Kind;
  const AttributeValues a(node.op->attributes, node.attributes, node.name);
  if (!a.is_none("out_dtype") || a.integer("groups") != 1) return {};
  const size_t channel = a.text("layout").find('C'), o = a.text("kernel_layout").find('O'),
               i = a.text("kernel_layout").find('I');
  ScaleEquation out{.output = channel, .inputs = {{}, {Kind::Multiply, i}}};
  ScaleEquation in{.inputs = {{Kind::Pass, channel}, {Kind::Multiply, o}}};
  if (inputs.size() > 2) {
    out.inputs.push_back({Kind::Multiply, 0});
    in.inputs.emplace_back();
  }
  return {out, in};
}

Op transposed(const Family& f) {
  Op op{.name = f.transpose,
        .doc =
            "The transpose of a convolution: adds each element of data, times a kernel, to the "
            "window that a convolution would have computed it from.",
        .inputs = {{"data", "images, channels and spatial dimensions in the order of `layout`"},
                   {"weight",
                    "(c, channels / groups, *kernel_size) in the order of `kernel_layout`: that of "
                    "the convolution"},
                   {"bias", "(channels,), added to each element of a channel", "use_bias"}},
        .attributes = transposed_attributes(f),
        .infer_type = infer_convolution_type,
        .layout = convolution_layout,
        .pattern = Pattern::OutEWiseFusable,
        .fold_scale = transposed_scales};
  op.infer_shape = [&f](ShapeInference& s) {
    require_layouts(s, f);
    infer_transposed(s);
  };
  op.compute = [&f](const AttributeValues& a, Tensors in) {
    const std::string& layout = a.text("layout");
    te::Tensor out = topi::nn::conv_transpose(
        ordered(in[0], layout, f.layout), ordered(in[1], a.text("kernel_layout"), f.kernel_layout),
        a.tuple("strides"), topi::Padding(a.tuple("padding")), a.tuple("output_padding"),
        a.tuple("dilation"), a.integer("groups"),
        a.is_none("out_dtype") ? std::nullopt : std::optional(a.dtype("out_dtype")));
    if (in.size() > 2) out = topi::nn::bias_add(out, in[2]);
    return std::vector{ordered(out, f.layout, layout)};
  };
  op.gradient = [&f](const NodeRef& node, const Entries& g) {
    return transposed_gradient(f, node, g);
  };
  return op;
}

}  // namespace

Attributes windows_of(const Node& node) {
  Attributes attributes(node.attributes);
  for (const char* name : {"channels", "use_bias", "out_dtype", "output_padding", "out_layout"}) {
    attributes.erase(name);
  }
  return attributes;
}

Entries convolution_gradient(const Family& f, const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const Entry both =
      n(f.both_gradients, {g[0], n.input(0), n.input(1)}, Attributes(node->attributes));
  Entries of_inputs{both, {.node = both.node, .index = 1}};
  add_bias_gradient(of_inputs, node, g[0]);
  return of_inputs;
}

Entries of_weight_gradient(const Family& f, const NodeRef& node, const Entries& g) {
  const Linear make(f, node);
  const Entry &data = make.n.input(0), &weight = make.n.input(1);
  return {make.of_data(g[0], weight, data), make.of_weight(g[0], data)};
}

Entries transposed_gradient(const Family& f, const NodeRef& node, const Entries& g) {
  const Linear make(f, node);
  const Entry &data = make.n.input(0), &weight = make.n.input(1);
  Entries of_inputs{make.conv(g[0], weight), make.of_weight(data, g[0])};
  add_bias_gradient(of_inputs, node, g[0]);
  return of_inputs;
}

std::vector<Op> convolution_gradient_ops() {
  std::vector<Op> ops;
  for (size_t spatial : {1, 2, 3}) {
    const Family& f = convolutions(spatial);
    ops.push_back(transposed(f));
    ops.push_back(both_gradients(f));
    ops.push_back(data_gradient(f));
    ops.push_back(weight_gradient(f));
  }
  return ops;
}

}  // namespace tw::graph
