// SPDX-License-Identifier: Apache-2.0
// Convolutions on blocks of channels, and when they take the place of others.
#include <fmt/format.h>

#include "graph/ops/common.h"
#include "graph/ops/convolution.h"
#include "graph/ops/families.h"
#include "graph/ops/image.h"
#include "ir/expr.h"
#include "schedule/te/text.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

// Layouts of a node: data, weight, output.
struct Layouts {
  Layout data, weight, out;
};

Layouts layouts_of(const Node& node, const AttributeValues& a) {
  const auto layout = [&](std::string_view name) {
    return Layout::parse(a.text(name), fmt::format("node '{}', {}", node.name, name));
  };
  const Layout data = layout("layout"), out = layout("out_layout");
  return {data, layout("kernel_layout"), out.known() ? out : data};
}

// The layout of the weights for given blocks; a block of 0: input channels are in none.
std::string kernel_layout(int64_t in, int64_t out) {
  return in == 0 ? fmt::format("OIHW{}o", out) : fmt::format("OIHW{}i{}o", in, out);
}

void infer_blocked(ShapeInference& s) {
  const AttributeValues& a = s.attributes();
  const Layouts l = layouts_of(s.node(), a);
  const bool depthwise = a.integer("groups") != 1;
  const int64_t in = l.data.is_split('C') ? l.data.block('C') : 0, out = l.out.block('C');
  const auto images = [](int64_t block) {
    return block == 0 ? "NCHW" : fmt::format("NCHW{}c", block);
  };
  const auto require = [&](std::string_view name, const Layout& layout, const std::string& legal) {
    if (layout.text() == legal) return;
    s.fail(fmt::format("{} is '{}'", name, layout.text()), legal);
  };
  require("layout", l.data, images(depthwise ? std::max(in, int64_t{1}) : in));
  require("out_layout", l.out, images(out));
  require("kernel_layout", l.weight, kernel_layout(depthwise ? 1 : in, out));
  infer_windows(s, l.data, l.weight, l.out, a.integer("channels"));
  const LayoutExtents weight = extents_of(s.input(1), l.weight);
  if (depthwise && weight.at('I') != 1 && weight.at('I') != Shape::kUnknown) {
    s.fail(fmt::format("{} input channels in a group", weight.at('I')),
           "groups of one channel each, or one group");
  }
}

std::vector<te::Tensor> compute_blocked(const AttributeValues& a, Tensors in) {
  const std::optional<DType> type =
      a.is_none("out_dtype") ? std::nullopt : std::optional(a.dtype("out_dtype"));
  const auto convolution =
      a.integer("groups") == 1 ? topi::nn::conv2d_nchwc : topi::nn::depthwise_conv2d_nchwc;
  te::Tensor out = convolution(in[0], in[1], a.tuple("strides"), topi::Padding(a.tuple("padding")),
                               a.tuple("dilation"), type);
  if (in.size() > 2) out = topi::nn::bias_add(out, in[2]);
  return {out};
}

constexpr int64_t kChannelsOfImages = 4;  // colours and opacity

// How many channels are in a block: those of a register; where these do not divide them all of
// them, if the last register is then filled well enough; or half a register's. 0: too few for any.
// Measured on AVX-512: 512 to 1000 channels at 13x13 take 1.64 ms in blocks of 8 and 1.15 ms in one
// of 1000; mobilenet_v2, which has 24 channels, 5.4 ms in blocks of 8 and 4.6 ms in one of 24.
int64_t block_of(int64_t channels, int64_t lanes) {
  if (channels % lanes == 0) return lanes;
  const int64_t registers = channels / lanes + 1;
  if (registers > 1 && 4 * channels >= 3 * registers * lanes) return channels;
  const int64_t half = std::max<int64_t>(lanes / 2, 4);
  return channels % half == 0 ? half : 0;
}

// The best record of a node alone, with inputs of these shapes; weights are constant.
std::optional<double> recorded_seconds(const AlterCandidate& c, const Node& node,
                                       const std::vector<Shape>& shapes) {
  std::vector<te::Tensor> inputs;
  for (size_t k = 0; k < shapes.size(); ++k) {
    std::vector<Expr> extents;
    for (int64_t e : *shapes[k].extents) extents.push_back(make_const(int_type(32), e));
    const bool constant = k > 0 && node.inputs[k].node->is_variable();
    inputs.push_back(te::placeholder(extents, *c.types[0], fmt::format("input{}", k), constant));
  }
  const AttributeValues attributes(node.op->attributes, node.attributes, node.name);
  te::Program program{.arguments = inputs, .outputs = node.op->compute(attributes, inputs)};
  program.arguments.push_back(program.outputs[0]);
  const auto record = c.log->best(te::workload_id(program), c.target.text(), c.threads,
                                  autotune::CacheState::ColdConstants);
  return record ? std::optional(record->median()) : std::nullopt;
}

// Whether the log has both, and the one without blocks is faster. The prior is not asked: it would
// climb twice for each convolution, 0.2 s each time.
bool log_prefers_plain(const AlterCandidate& c, const Node& blocked) {
  if (c.log == nullptr) return false;
  const AttributeValues a(blocked.op->attributes, blocked.attributes, blocked.name);
  const Layouts l = layouts_of(blocked, a);
  const Layout in_blocks[] = {l.data, l.weight, channels_in(l.out)};
  static const Layout plain[] = {Layout::parse("NCHW"), Layout::parse("OIHW"), Layout::parse("C")};
  std::vector<Shape> shapes, blocked_shapes;
  for (size_t k = 0; k < c.node->inputs.size(); ++k) {
    const LayoutExtents extents = extents_of(c.shapes[k], c.layouts[k]);
    shapes.push_back(*shape_in(plain[k], extents));
    blocked_shapes.push_back(*shape_in(in_blocks[k], extents));
  }
  const auto before = recorded_seconds(c, *c.node, shapes),
             after = recorded_seconds(c, blocked, blocked_shapes);
  return before && after && *before < *after;
}

// That of the conv2d of plain layouts, with transforms around it.
Entries blocked_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const Layouts l = layouts_of(*node, n.attributes());
  const auto moved = [&](const Entry& e, std::string_view from, std::string_view to) {
    if (from == to) return e;
    return n("__layout_transform__", {e},
             {{"src_layout", std::string(from)}, {"dst_layout", std::string(to)}});
  };
  Attributes attributes = windows_of(*node);
  attributes.set("layout", "NCHW");
  attributes.set("kernel_layout", "OIHW");
  const ConvolutionFamily& f = convolutions(2);
  const Entry grad = moved(g[0], l.out.text(), "NCHW"),
              data = moved(n.input(0), l.data.text(), "NCHW"),
              weight = moved(n.input(1), l.weight.text(), "OIHW");
  Entries of_inputs = {
      moved(n(f.data_gradient, {grad, weight, data}, attributes), "NCHW", l.data.text()),
      moved(n(f.weight_gradient, {grad, data}, attributes), "OIHW", l.weight.text())};
  // Channels of the output are dimension 1, and 4 within a block.
  if (node->inputs.size() > 2) of_inputs.push_back(n("sum", {g[0]}, {{"axis", "(0, 2, 3)"}}));
  return of_inputs;
}

}  // namespace

std::vector<Op> blocked_convolution_ops() {
  std::vector<AttributeSpec> attributes = convolution_attributes(convolutions(2));
  attributes.push_back({"out_layout", AttributeType::Text, Layout::kUnknown,
                        "of the output; __undef__: that of data"});
  return {
      {.name = "_contrib_conv2d_NCHWc",
       .doc = "conv2d on blocks of channels, groups being one or of one channel each; data of one "
              "group may also be NCHW. AlterOpLayout puts it in the place of a conv2d.",
       .inputs = {{"data", "in `layout`, such as NCHW16c"},
                  {"weight",
                   "in `kernel_layout`: OIHW16i16o, OIHW16o of NCHW data, OIHW1i16o of "
                   "groups of one channel"},
                  {"bias", "C16c: (channels / 16, 16)", "use_bias"}},
       .attributes = std::move(attributes),
       .infer_shape = infer_blocked,
       .infer_type = infer_convolution_type,
       .layout =
           [](LayoutChoice& c) {
             const Layouts l = layouts_of(c.node(), c.attributes());
             c.want(0, l.data);
             c.want(1, l.weight);
             if (c.num_inputs() > 2) c.want(2, channels_in(l.out));
             c.give(0, l.out);
           },
       .pattern = Pattern::OutEWiseFusable,
       .compute = compute_blocked,
       .gradient = blocked_gradient},
  };
}

NodeRef blocked_convolution(const AlterCandidate& c) {
  const AttributeValues& a = c.attributes;
  const Layout nchw = Layout::parse("NCHW"), oihw = Layout::parse("OIHW");
  if (a.text("layout") != "NCHW" || a.text("kernel_layout") != "OIHW") return nullptr;
  const Layout natural[] = {nchw, oihw, Layout::parse("C")};
  for (size_t k = 0; k < c.shapes.size(); ++k) {
    if (!c.layouts[k].convertible(natural[k]) || !c.shapes[k].known()) return nullptr;
    if (c.types[k] != KnownType(float_type(32))) return nullptr;
  }
  const int64_t groups = a.integer("groups"), filters = a.integer("channels"),
                channels = extents_of(c.shapes[0], c.layouts[0]).at('C');
  const int64_t lanes = c.target.vector_lanes(32);
  const int64_t in = block_of(channels, lanes), out = block_of(filters, lanes);
  const bool depthwise = groups > 1;
  if (out == 0 || (depthwise && (groups != channels || groups != filters))) return nullptr;
  // Images, whose channels fill no block, are read as they are: measured in turn on AVX-512, one
  // thread, 7x7/2 and 3x3 convolutions of 224x224 images take 1.23 and 1.00 ms so, in NCHW3c with
  // the transform that it needs 1.98 and 1.60 ms, all in NCHW 1.56 and 1.49 ms.
  if (in == 0 && channels > kChannelsOfImages) return nullptr;
  Node next = *c.node;
  next.op = &get_op("_contrib_conv2d_NCHWc");
  next.attributes.set("layout", in == 0 ? "NCHW" : fmt::format("NCHW{}c", in));
  next.attributes.set("out_layout", fmt::format("NCHW{}c", out));
  next.attributes.set("kernel_layout", kernel_layout(depthwise ? 1 : in, out));
  return log_prefers_plain(c, next) ? nullptr : make_node(std::move(next));
}

}  // namespace tw::graph
