// SPDX-License-Identifier: Apache-2.0
// Convolutions of small integers with zero points: products and sums are exact, in int32.
#include <algorithm>

#include "graph/ops/arithmetic.h"
#include "graph/ops/convolution.h"
#include "graph/ops/families.h"
#include "graph/ops/image.h"
#include "ir/expr.h"
#include "schedule/topi/nn/conv_windows.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

using Family = ConvolutionFamily;

constexpr AttributeSpec kUseDataZeroPoint{"use_data_zero_point", AttributeType::Bool, "True",
                                          "whether there is one"};
constexpr AttributeSpec kUseWeightZeroPoint{"use_weight_zero_point", AttributeType::Bool, "True",
                                            "whether there is one"};

struct IntegerFamily {
  const Family& floating;
  std::string_view name, products;
};
const IntegerFamily& integer_family(size_t spatial) {
  static const IntegerFamily kFamilies[] = {
      {convolutions(1), "conv1d_integer", "_conv1d_integer_products"},
      {convolutions(2), "conv2d_integer", "_conv2d_integer_products"},
      {convolutions(3), "conv3d_integer", "_conv3d_integer_products"}};
  return kFamilies[spatial - 1];
}

// How windows lie, in natural layouts.
std::vector<AttributeSpec> window_attributes(const Family& f) {
  std::vector<AttributeSpec> attributes = convolution_attributes(f);
  std::erase_if(attributes, [](const AttributeSpec& a) {
    return a.name == "layout" || a.name == "kernel_layout" || a.name == "out_dtype" ||
           a.name == "use_bias";
  });
  return attributes;
}

bool is_number(const Shape& shape) {
  return !shape.has_rank() || shape.rank() == 0 ||
         (shape.rank() == 1 && (shape[0] == 1 || shape[0] == Shape::kUnknown));
}

// The rule of convolutions reads input 2 as a bias, so it is given data and weight alone.
void infer_images(ShapeInference& s, const Family& f) {
  std::vector<Shape> inputs{s.input(0), s.input(1)}, outputs{s.output(0)};
  ShapeInference two(s.node(), s.attributes(), inputs, outputs, ErrorCode::ShapeConflict);
  const Layout layout = Layout::parse(f.layout);
  infer_windows(two, layout, Layout::parse(f.kernel_layout), layout,
                s.attributes().integer("channels"));
  for (size_t k = 0; k < 2; ++k) s.narrow_input(k, inputs[k]);
  s.narrow_output(0, outputs[0]);
}

void require_number(ShapeInference& s, size_t k) {
  if (is_number(s.input(k))) return;
  s.fail(fmt::format("{} of shape {}", s.node().op->inputs[2].name, to_string(s.input(k))),
         "one number");
}

void infer_integer_convolution(ShapeInference& s, const Family& f) {
  infer_images(s, f);
  const AttributeValues& a = s.attributes();
  size_t next = 2;
  if (a.flag("use_data_zero_point")) require_number(s, next++);
  if (!a.flag("use_weight_zero_point") || is_number(s.input(next))) return;
  const Shape& points = s.input(next);
  const int64_t channels = a.integer("channels");
  if (points.rank() == 1 && points[0] == channels) return;
  s.fail(fmt::format("weight_zero_point of shape {}", to_string(points)),
         fmt::format("one number, or ({},)", channels));
}

void require_bytes(TypeInference& t) {
  t.narrow_output(0, int_type(32));
  for (size_t k = 0; k < 2; ++k) {
    if (t.input(k) && (!t.input(k)->is_integer() || t.input(k)->bits != 8)) {
      t.fail(fmt::format("{} of {}", t.node().op->inputs[k].name, to_string(*t.input(k))),
             "int8 or uint8");
    }
  }
}

void infer_integer_convolution_type(TypeInference& t) {
  require_bytes(t);
  size_t next = 2;
  for (size_t k = 0; k < 2; ++k) {
    if (!t.attributes().flag(k == 0 ? "use_data_zero_point" : "use_weight_zero_point")) continue;
    t.equate_inputs(next++, k);
  }
}

// Products and sums of what stands there; around images stands a number of their type.
std::vector<te::Tensor> compute_products(const Family& f, const AttributeValues& a, Tensors in) {
  te::Tensor data = in[0];
  topi::Padding padding(a.tuple("padding"));
  if (in.size() > 2) {
    std::vector<Expr> spans;
    for (size_t d = 0; d < f.spatial; ++d) {
      spans.push_back(in[1].shape()[d + 2]);
    }
    const topi::Border border = topi::normalize_padding({f.conv, "padding"}, padding, spans);
    const Expr around = in[2](std::vector<Expr>(static_cast<size_t>(in[2].rank()), Expr(0)));
    data = topi::nn::pad_images(data, border, around);
    padding = topi::Padding(std::vector<int64_t>{0});
  }
  return {topi::nn::conv(data, in[1], a.tuple("strides"), padding, a.tuple("dilation"),
                         a.integer("groups"), int_type(32))};
}

// An integer convolution as an expression, with d and w for data and weight without their zero
// points z and v:
//   sum(d w) = products - v * sum(data) - z * sum(weight) + count * z * v
// where products and sums are over padded windows, which have z around images: bytes are multiplied
// as they are, which processors have instructions for, and all but sum(data) is known for constant
// weights.
class Expansion {
 public:
  Expansion(const NodeRef& node, std::span<const Shape> shapes, const IntegerFamily& family)
      : n_(node),
        windows_(node->attributes),
        family_(family),
        groups_(n_.attributes().integer("groups")),
        channels_(n_.attributes().integer("channels")),
        weight_(n_.known(shapes, 1)) {
    size_t next = 2;
    if (n_.attributes().flag("use_data_zero_point")) data_point_ = n_.input(next++);
    if (n_.attributes().flag("use_weight_zero_point")) weight_point_ = n_.input(next);
  }

  Entry result() const {
    Entry sums = products(n_.input(1), channels_);
    if (weight_point_) sums = n_.sub(sums, of_windows());
    if (data_point_) sums = n_.add(sums, of_weights());
    return sums;
  }

 private:
  Entry whole(const Entry& e) const { return n_("cast", {e}, {{"dtype", "int32"}}); }
  Extents along_channels(const Extents& of_channels) const {
    Extents shape = of_channels;
    shape.resize(shape.size() + family_.floating.spatial, 1);
    return shape;
  }
  Entry products(const Entry& weight, int64_t channels) const {
    const std::vector<int64_t> around = n_.attributes().tuple("padding");
    const bool padded =
        data_point_ && std::ranges::any_of(around, [](int64_t width) { return width != 0; });
    Attributes attributes = windows_;
    attributes.erase("use_weight_zero_point");
    attributes.set("channels", fmt::format("{}", channels));
    attributes.set("use_data_zero_point", Arithmetic::text(padded));
    Entries inputs{n_.input(0), weight};
    if (padded) inputs.push_back(*data_point_);
    return n_(family_.products, inputs, attributes);
  }
  // A zero point of weights as (channels, 1, 1), or (1, 1, 1).
  Entry weight_point() const { return n_.reshape(whole(*weight_point_), along_channels({-1})); }

  // v * sum(data): one sum for all channels of a group.
  Entry of_windows() const {
    Extents ones = weight_;
    ones[0] = groups_;
    const Entry total =
        products(n_("ones", {}, {{"shape", tuple_text(ones)}, {"dtype", "int8"}}), groups_);
    const int64_t each = channels_ / groups_;
    if (groups_ == 1 || each == 1) return n_.mul(total, weight_point());
    const Attributes repeats{{"repeats", fmt::format("{}", each)}, {"axis", "1"}};
    return n_.mul(n_("repeat", {total}, repeats), weight_point());
  }

  // z * (count * v - sum(weight)), (channels, 1, 1).
  Entry of_weights() const {
    int64_t count = 1;
    for (size_t d = 1; d < weight_.size(); ++d) count *= weight_[d];
    Extents axes;
    for (size_t d = 1; d < weight_.size(); ++d) axes.push_back(static_cast<int64_t>(d));
    const Entry sums = n_("sum", {whole(n_.input(1))}, {{"axis", tuple_text(axes)}});
    Entry factor = n_("negative", {n_.reshape(sums, along_channels({channels_}))});
    if (weight_point_) {
      factor = n_.add(factor, n_.mul(weight_point(), static_cast<double>(count)));
    }
    return n_.mul(factor, n_.reshape(whole(*data_point_), along_channels({1})));
  }

  const Arithmetic n_;
  const Attributes windows_;
  const IntegerFamily& family_;
  const int64_t groups_, channels_;
  const Extents weight_;
  std::optional<Entry> data_point_, weight_point_;
};

std::vector<InputSpec> inputs_of_products(std::string_view zero_point) {
  return {{"data", "images (n, c, …), int8 or uint8"},
          {"weight", "(channels, c / groups, *kernel_size), int8 or uint8"},
          {"data_zero_point", zero_point, "use_data_zero_point"}};
}

Op integer_convolution(const IntegerFamily& family) {
  const Family& f = family.floating;
  std::vector<InputSpec> inputs =
      inputs_of_products("one number, which stands around images; else 0");
  inputs.push_back(
      {"weight_zero_point", "one number, or (channels,); else 0", "use_weight_zero_point"});
  std::vector<AttributeSpec> attributes = window_attributes(f);
  attributes.push_back(kUseDataZeroPoint);
  attributes.push_back(kUseWeightZeroPoint);
  return {.name = family.name,
          .doc =
              "Slides kernels over images: sums of (data - data_zero_point) * (weight - "
              "weight_zero_point), in int32.",
          .inputs = std::move(inputs),
          .attributes = std::move(attributes),
          .infer_shape = [&f](ShapeInference& s) { infer_integer_convolution(s, f); },
          .infer_type = infer_integer_convolution_type,
          .gradient = no_gradient,
          .expand = [&family](const NodeRef& node, std::span<const Shape> shapes) -> Entries {
            return {Expansion(node, shapes, family).result()};
          }};
}

Op integer_products(const IntegerFamily& family) {
  const Family& f = family.floating;
  std::vector<AttributeSpec> attributes = window_attributes(f);
  attributes.push_back(kUseDataZeroPoint);
  return {
      .name = family.products,
      .doc =
          "Slides kernels over images: sums of data * weight, in int32; data_zero_point "
          "stands around images.",
      .inputs = inputs_of_products("one number; else 0"),
      .attributes = std::move(attributes),
      .infer_shape =
          [&f](ShapeInference& s) {
            infer_images(s, f);
            if (s.num_inputs() > 2) require_number(s, 2);
          },
      .infer_type =
          [](TypeInference& t) {
            require_bytes(t);
            if (t.num_inputs() < 3) return;
            t.equate_inputs(2, 0);
          },
      .pattern = Pattern::OutEWiseFusable,
      .compute = [&f](const AttributeValues& a, Tensors in) { return compute_products(f, a, in); },
      .gradient = no_gradient};
}

}  // namespace

std::vector<Op> integer_convolution_ops() {
  std::vector<Op> ops;
  for (size_t spatial : {1, 2, 3}) {
    ops.push_back(integer_convolution(integer_family(spatial)));
    ops.push_back(integer_products(integer_family(spatial)));
  }
  return ops;
}

}  // namespace tw::graph
