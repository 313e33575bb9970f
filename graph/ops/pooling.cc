// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/pooling.h"

#include <algorithm>

#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "graph/ops/image.h"
#include "schedule/topi/topi.h"

namespace tw::graph {

using topi::nn::PoolType;
using topi::nn::Rounding;

const PoolingFamily& poolings(size_t spatial) {
#define FAMILY(d, layout, ones, zeros) \
  {d,                                  \
   "max_pool" #d "d",                  \
   "avg_pool" #d "d",                  \
   "lp_pool" #d "d",                   \
   "_sum_pool" #d "d",                 \
   "global_max_pool" #d "d",           \
   "global_avg_pool" #d "d",           \
   "adaptive_max_pool" #d "d",         \
   "adaptive_avg_pool" #d "d",         \
   "_max_pool" #d "d_grad",            \
   "_avg_pool" #d "d_grad",            \
   "_sum_pool" #d "d_grad",            \
   "_max_pool" #d "d_select",          \
   layout,                             \
   ones,                               \
   zeros}
  static constexpr PoolingFamily kFamilies[] = {FAMILY(1, "NCW", "(1,)", "(0,)"),
                                                FAMILY(2, "NCHW", "(1, 1)", "(0, 0)"),
                                                FAMILY(3, "NCDHW", "(1, 1, 1)", "(0, 0, 0)")};
#undef FAMILY
  return kFamilies[spatial - 1];
}

std::string_view PoolingFamily::gradient(PoolType type) const {
  if (type == PoolType::Max) return max_gradient;
  return type == PoolType::Average ? average_gradient : sum_gradient;
}

std::string_view PoolingFamily::sliding(PoolType type) const {
  if (type == PoolType::Max) return max;
  return type == PoolType::Average ? average : sum;
}

AttributeSpec pool_layout(const PoolingFamily& f) {
  return {"layout", AttributeType::Text, f.layout,
          "of data and output; channels may be in blocks, as in NCHW16c"};
}

AttributeSpec output_size() {
  return {"output_size",
          AttributeType::Tuple,
          {},
          "how many windows: one number, or one for each "
          "spatial dimension"};
}

std::vector<AttributeSpec> pool_windows(const PoolingFamily& f, PoolType type) {
  using enum AttributeType;
  std::vector<AttributeSpec> attributes = {
      {"pool_size", Tuple, {}, "extents of a window"},
      {"strides", Tuple, f.ones, "from one window to the next"},
      {"padding", Tuple, f.zeros,
       "around images: one number, one for each spatial dimension, or those before and then those "
       "behind each, as (top, left, bottom, right)"},
      pool_layout(f),
      {"ceil_mode", Bool, "False", "whether a last window that does not fit whole counts too"},
      {"dilation", Tuple, f.ones, "from one tap of a window to the next"},
      {"ceil_rule", Text, "tvm",
       "what ceil_mode does of a window that begins in the padding behind the image: tvm keeps it, "
       "pytorch leaves it out"}};
  if (type == PoolType::Average) {
    attributes.push_back(
        {"count_include_pad", Bool, "False", "whether means are over padding too"});
  }
  return attributes;
}

namespace {

bool has(const Op& op, std::string_view name) {
  return std::ranges::any_of(op.attributes, [&](const AttributeSpec& s) { return s.name == name; });
}

}  // namespace

void infer_pool(ShapeInference& s, const PoolingFamily& f, size_t input) {
  const Layout layout = image_layout_of(s, "layout", f.layout);
  const AttributeValues& a = s.attributes();
  const Op& op = *s.node().op;
  const std::string letters = spatial_letters(layout);
  s.narrow_input(input, Shape::of_rank(layout.rank()));
  s.narrow_output(0, Shape::of_rank(layout.rank()));
  LayoutExtents in = extents_of(s.input(input), layout), out = extents_of(s.output(0), layout);
  LayoutExtents pooled{{'N', in['N']}, {'C', in['C']}};
  if (has(op, "pool_size") && !a.tuple("pool_size").empty()) {
    const auto kernel = steps_of(s, "pool_size", f.spatial),
               stride = steps_of(s, "strides", f.spatial),
               dilation = steps_of(s, "dilation", f.spatial);
    const Border border = border_of(s, "padding", f.spatial);
    const std::string& rule = a.text("ceil_rule");
    if (rule != "tvm" && rule != "pytorch") {
      s.fail(fmt::format("ceil_rule '{}'", rule), "tvm, pytorch");
    }
    for (size_t d = 0; d < f.spatial; ++d) {
      pooled[letters[d]] =
          window_positions(s, in[letters[d]],
                           {kernel[d], stride[d], dilation[d], border.before[d], border.after[d],
                            a.flag("ceil_mode"), rule == "pytorch"});
    }
  } else {
    std::vector<int64_t> windows(f.spatial, 1);
    if (has(op, "output_size") && !a.tuple("output_size").empty()) {
      windows = steps_of(s, "output_size", f.spatial);
    }
    for (size_t d = 0; d < f.spatial; ++d) pooled[letters[d]] = windows[d];
  }
  const auto shape = [&](const LayoutExtents& extents) {
    const auto result = shape_in(layout, extents);
    if (result) return *result;
    s.fail(fmt::format("{} channels in layout {}", extents.at('C'), layout.text()),
           "blocks that divide the channels");
  };
  s.narrow_output(0, shape(pooled));
  s.narrow_input(input, shape({{'N', out['N']}, {'C', out['C']}}));
}

topi::nn::Pooling pooling_of(const AttributeValues& a, PoolType type) {
  topi::nn::Pooling p{.kernel = a.tuple("pool_size"),
                      .stride = a.tuple("strides"),
                      .dilation = a.tuple("dilation"),
                      .padding = topi::Padding(a.tuple("padding")),
                      .type = type};
  if (a.flag("ceil_mode")) {
    p.rounding = a.text("ceil_rule") == "pytorch" ? Rounding::UpInside : Rounding::Up;
  }
  if (type == PoolType::Average) p.count_include_pad = a.flag("count_include_pad");
  return p;
}

namespace {

using Family = PoolingFamily;
using Pooled = std::function<te::Tensor(const AttributeValues&, const te::Tensor& images)>;

// Images and channels do not mix; the greatest stays the greatest for factors of 0 or more.
ScaleRule pool_scales(bool any_sign) {
  return [any_sign](const Node& node, std::span<const Shape>, const Shape&) {
    const AttributeValues a(node.op->attributes, node.attributes, node.name);
    std::vector<ScaleEquation> equations;
    for (char c : {'N', 'C'}) {
      const size_t axis = a.text("layout").find(c);
      equations.push_back(
          {.output = axis, .inputs = {{ScaledInput::Kind::Pass, axis}}, .any_sign = any_sign});
    }
    return equations;
  };
}

Op pooling(const Family& f, std::string_view name, std::string_view doc,
           std::vector<AttributeSpec> attributes, PoolType type, Pooled pooled) {
  Op op{.name = name,
        .doc = doc,
        .inputs = {{"data", "images, channels and spatial dimensions in the order of `layout`"}},
        .attributes = std::move(attributes),
        .infer_shape = [&f](ShapeInference& s) { infer_pool(s, f); },
        .infer_type = same_type,
        .layout = image_layout,
        .pattern = Pattern::OutEWiseFusable};
  op.compute = [pooled](const AttributeValues& a, Tensors in) {
    return std::vector{on_images(in[0], a.text("layout"),
                                 [&](const te::Tensor& images) { return pooled(a, images); })};
  };
  // Attributes are those of the pooling.
  op.gradient = [&f, type](const NodeRef& node, const Entries& g) {
    const GradientOf n(node);
    return Entries{n(f.gradient(type), {g[0], n.input(0)}, Attributes(node->attributes))};
  };
  op.fold_scale = pool_scales(type != PoolType::Max);
  return op;
}

Op sliding(const Family& f, std::string_view doc, PoolType type) {
  return pooling(f, f.sliding(type), doc, pool_windows(f, type), type,
                 [&f, type](const AttributeValues& a, const te::Tensor& images) {
                   return topi::nn::pool(images, f.spatial, pooling_of(a, type));
                 });
}

Op global(const Family& f, std::string_view name, std::string_view doc, PoolType type) {
  return pooling(f, name, doc, {pool_layout(f)}, type,
                 [&f, type](const AttributeValues&, const te::Tensor& images) {
                   return topi::nn::global_pool(images, type, f.spatial);
                 });
}

Op adaptive(const Family& f, std::string_view name, std::string_view doc, PoolType type) {
  return pooling(f, name, doc, {output_size(), pool_layout(f)}, type,
                 [&f, type](const AttributeValues& a, const te::Tensor& images) {
                   return topi::nn::pool(images, f.spatial,
                                         {.type = type, .output_size = a.tuple("output_size")});
                 });
}

te::Tensor power(const te::Tensor& x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 2) return topi::multiply(x, x);
  if (exponent == 0.5) return topi::sqrt(x);
  return topi::power(x, constant_of(x.dtype(), exponent));
}

// With y = (sum of |x|^p)^(1/p): what a window's gradient times y^(1 - p) is spread to, times
// |x|^(p - 1) and the sign of x. Where y is 0 so is every x, and the gradient.
Entries lp_gradient(const Family& f, const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const int64_t p = n.attributes().integer("p");
  Attributes windows(node->attributes);
  windows.erase("p");
  const Entry &x = n.input(0), y = n.output(), sign = n("sign", {x});
  const auto power = [&](const Entry& base, int64_t exponent) {
    return n("__pow_scalar__", {base}, {{"scalar", fmt::format("{}", exponent)}});
  };
  Entry of_window = g[0], slope = sign;
  if (p > 1) {
    const Entry none = n("__rsub_scalar__", {n("sign", {y})}, {{"scalar", "1"}});
    of_window = n.product(g[0], power(n("elemwise_add", {y, none}), 1 - p));
    slope = n.product(power(n("abs", {x}), p - 1), sign);
  }
  return {n.product(n(f.sum_gradient, {of_window, x}, windows), slope)};
}

Op lp(const Family& f) {
  std::vector<AttributeSpec> attributes = pool_windows(f, PoolType::Sum);
  attributes.push_back({"p", AttributeType::Int, "2", "the power, 1 or more"});
  Op op = pooling(f, f.lp, "The p-norm of each window, floating: (sum of |x| ** p) ** (1 / p).",
                  std::move(attributes), PoolType::Sum,
                  [&f](const AttributeValues& a, const te::Tensor& images) {
                    topi::require_float({f.lp, "data"}, images);
                    // Powers of numbers of 16 bits are beyond what these hold.
                    const DType type = images.dtype();
                    const te::Tensor wide =
                        type.bits < 32 ? topi::cast(images, float_type(32)) : images;
                    const auto p = static_cast<double>(a.integer("p"));
                    const te::Tensor sums = topi::nn::pool(power(topi::abs(wide), p), f.spatial,
                                                           pooling_of(a, PoolType::Sum));
                    const te::Tensor norms = power(sums, 1 / p);
                    return type.bits < 32 ? topi::cast(norms, type) : norms;
                  });
  op.aliases = {};
  op.infer_shape = [&f](ShapeInference& s) {
    const int64_t p = s.attributes().integer("p");
    if (p < 1) s.fail(fmt::format("a power of {}", p), "1 or more");
    infer_pool(s, f);
  };
  op.gradient = [&f](const NodeRef& node, const Entries& g) { return lp_gradient(f, node, g); };
  op.fold_scale = pool_scales(false);
  return op;
}

}  // namespace

std::vector<Op> pooling_ops() {
  std::vector<Op> ops;
  for (size_t spatial : {1, 2, 3}) {
    const Family& f = poolings(spatial);
    for (Op& op : std::vector<Op>{
             sliding(f, "The greatest of each window; padding does not count.", PoolType::Max),
             sliding(f, "The mean of each window; floating.", PoolType::Average),
             sliding(f, "The sum of each window.", PoolType::Sum), lp(f),
             global(f, f.global_max, "The greatest of each image: spatial extents are 1.",
                    PoolType::Max),
             global(f, f.global_average, "The mean of each image, floating: spatial extents are 1.",
                    PoolType::Average),
             adaptive(f, f.adaptive_max,
                      "The greatest of windows that cover the image: window i of n reaches from "
                      "floor(i * extent / n) to ceil((i + 1) * extent / n).",
                      PoolType::Max),
             adaptive(f, f.adaptive_average,
                      "The mean of windows that cover the image, floating: window i of n reaches "
                      "from floor(i * extent / n) to ceil((i + 1) * extent / n).",
                      PoolType::Average)}) {
      ops.push_back(std::move(op));
    }
  }
  return ops;
}

}  // namespace tw::graph
