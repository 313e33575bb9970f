// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/pooling.h"
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "graph/ops/image.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

using topi::nn::PoolType;
using topi::nn::Rounding;

const AttributeSpec kLayout{"layout", AttributeType::Text, "NCHW",
                            "of data and output; channels may be in blocks, as in NCHW16c"};

// Images and channels are those of the data; `rows` and `columns` are of known data.
void infer_image(ShapeInference& s, const Layout& layout, int64_t rows, int64_t columns) {
  LayoutExtents in = extents_of(s.input(0), layout), out = extents_of(s.output(0), layout);
  narrow_images(s, layout, {{'N', out['N']}, {'C', out['C']}},
                {{'N', in['N']}, {'C', in['C']}, {'H', rows}, {'W', columns}});
}

void infer_global(ShapeInference& s) {
  const Layout layout = image_layout_of(s, "layout");
  s.narrow_input(0, Shape::of_rank(layout.rank()));
  s.narrow_output(0, Shape::of_rank(layout.rank()));
  infer_image(s, layout, 1, 1);
}

}  // namespace

void infer_pool(ShapeInference& s) {
  const Layout layout = image_layout_of(s, "layout");
  const AttributeValues& a = s.attributes();
  if (a.tuple("pool_size").empty()) return infer_global(s);
  const Pair kernel = pair_of(s, "pool_size"), stride = pair_of(s, "strides");
  const Border border = border_of(s, "padding");
  const bool up = a.flag("ceil_mode");
  s.narrow_input(0, Shape::of_rank(layout.rank()));
  s.narrow_output(0, Shape::of_rank(layout.rank()));
  LayoutExtents in = extents_of(s.input(0), layout);
  infer_image(s, layout,
              window_positions(s, in['H'], {kernel.h, stride.h, 1, border.top, border.bottom, up}),
              window_positions(s, in['W'], {kernel.w, stride.w, 1, border.left, border.right, up}));
}

std::vector<AttributeSpec> window_attributes(PoolType type) {
  using enum AttributeType;
  std::vector<AttributeSpec> attributes = {
      {"pool_size", Tuple, {}, "rows and columns of a window"},
      {"strides", Tuple, "(1, 1)", "from one window to the next"},
      {"padding", Tuple, "(0, 0)",
       "around images: all sides, (vertical, horizontal), or (top, left, bottom, right)"},
      kLayout,
      {"ceil_mode", Bool, "False", "whether a last window that does not fit whole counts too"}};
  if (type == PoolType::Average) {
    attributes.push_back(
        {"count_include_pad", Bool, "False", "whether means are over padding too"});
  }
  return attributes;
}

std::string_view pool_gradient_of(PoolType type) {
  return type == PoolType::Max ? "_max_pool2d_grad" : "_avg_pool2d_grad";
}

namespace {

// Images and channels do not mix; the greatest stays the greatest for factors of 0 or more.
ScaleRule pool_scales(PoolType type) {
  return [type](const Node& node, std::span<const Shape>, const Shape&) {
    const AttributeValues a(node.op->attributes, node.attributes, node.name);
    std::vector<ScaleEquation> equations;
    for (char c : {'N', 'C'}) {
      const size_t axis = a.text("layout").find(c);
      equations.push_back({.output = axis,
                           .inputs = {{ScaledInput::Kind::Pass, axis}},
                           .any_sign = type == PoolType::Average});
    }
    return equations;
  };
}

const InputSpec kData{"data", "(n, c, h, w) in the order of `layout`"};
// Attributes are those of the pooling.
Entries pool_gradient(const NodeRef& node, const Entries& g, PoolType type) {
  const GradientOf n(node);
  return {n(pool_gradient_of(type), {g[0], n.input(0)}, Attributes(node->attributes))};
}

Op windows(std::string_view name, std::string_view doc, PoolType type) {
  Op op{.name = name,
        .doc = doc,
        .inputs = {kData},
        .attributes = window_attributes(type),
        .infer_shape = infer_pool,
        .infer_type = same_type,
        .layout = image_layout,
        .pattern = Pattern::OutEWiseFusable};
  op.compute = [type](const AttributeValues& a, Tensors in) {
    return std::vector{on_images(in[0], a.text("layout"), [&](const te::Tensor& images) {
      return topi::nn::pool2d(images, a.tuple("pool_size"), a.tuple("strides"), {1},
                              topi::Padding(a.tuple("padding")), type,
                              a.flag("ceil_mode") ? Rounding::Up : Rounding::Down,
                              type == PoolType::Average && a.flag("count_include_pad"));
    })};
  };
  op.gradient = [type](const NodeRef& node, const Entries& g) {
    return pool_gradient(node, g, type);
  };
  op.fold_scale = pool_scales(type);
  return op;
}

Op global(std::string_view name, std::string_view doc, PoolType type) {
  return {.name = name,
          .doc = doc,
          .inputs = {kData},
          .attributes = {kLayout},
          .infer_shape = infer_global,
          .infer_type = same_type,
          .layout = image_layout,
          .pattern = Pattern::OutEWiseFusable,
          .compute =
              [type](const AttributeValues& a, Tensors in) {
                return std::vector{on_images(
                    in[0], a.text("layout"),
                    [&](const te::Tensor& images) { return topi::nn::global_pool(images, type); })};
              },
          .gradient = [type](const NodeRef& node,
                             const Entries& g) { return pool_gradient(node, g, type); },
          .fold_scale = pool_scales(type)};
}

}  // namespace

std::vector<Op> pooling_ops() {
  return {
      windows("max_pool2d", "The greatest of each window; padding does not count.", PoolType::Max),
      windows("avg_pool2d", "The mean of each window; floating.", PoolType::Average),
      global("global_max_pool2d", "The greatest of each image: (n, c, 1, 1).", PoolType::Max),
      global("global_avg_pool2d", "The mean of each image, floating: (n, c, 1, 1).",
             PoolType::Average)};
}

}  // namespace tw::graph
