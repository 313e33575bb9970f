// SPDX-License-Identifier: Apache-2.0
// Images of another size. The gradient of each is one operator, which is linear: its own gradient
// makes images of that size again.
#include <fmt/format.h>

#include <algorithm>

#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "graph/ops/image.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

using topi::image::Resize;
using enum AttributeType;

struct Family {
  size_t spatial;
  std::string_view resize, like, gradient, sum_pool, layout;
};
constexpr Family kFamilies[] = {
    {1, "resize1d", "_resize1d_like", "_resize1d_grad", "_sum_pool1d", "NCW"},
    {2, "resize2d", "_resize2d_like", "_resize2d_grad", "_sum_pool2d", "NCHW"},
    {3, "resize3d", "_resize3d_like", "_resize3d_grad", "_sum_pool3d", "NCDHW"}};
const Family& family(size_t spatial) { return kFamilies[spatial - 1]; }

AttributeSpec layout_of(const Family& f) {
  return {"layout", Text, f.layout, "of data and output; channels may be in blocks, as in NCHW16c"};
}
const InputSpec kData{"data", "images, channels and spatial dimensions in the order of `layout`"};

std::vector<AttributeSpec> how_attributes() {
  return {{"method", Text, "linear", "nearest_neighbor, linear or cubic"},
          {"coordinate_transformation_mode", Text, "half_pixel",
           "half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric, "
           "tf_half_pixel_for_nn or tf_crop_and_resize"},
          {"rounding_method", Text, "round",
           "of nearest_neighbor: round, round_prefer_floor, round_prefer_ceil, floor or ceil"},
          {"cubic_alpha", Float, "-0.5", "coefficient of the cubic filter"},
          {"cubic_exclude", Bool, "False",
           "whether taps outside of the image count nothing, else they are its border"},
          {"antialias", Bool, "False",
           "whether filters are as wide as pixels of the output where it is smaller"},
          {"extrapolation_value", Float, "0",
           "of what tf_crop_and_resize takes from outside of the image"},
          {"scales", Reals, "()",
           "extents of the output in parts of those of data, where they have been rounded; (): as "
           "they are"},
          {"roi", Reals, "()",
           "of tf_crop_and_resize: where each spatial dimension begins, and then where each ends, "
           "in parts of it"}};
}

Resize how_of(const AttributeValues& a) {
  return {.method = a.text("method"),
          .coordinates = a.text("coordinate_transformation_mode"),
          .rounding = a.text("rounding_method"),
          .cubic_alpha = a.real("cubic_alpha"),
          .exclude_outside = a.flag("cubic_exclude"),
          .antialias = a.flag("antialias"),
          .extrapolation_value = a.real("extrapolation_value"),
          .scales = a.reals("scales"),
          .roi = a.reals("roi")};
}

// What is wrong with words and numbers of attributes, before there is anything to compute.
void require_how(const ShapeInference& s, const Family& f) {
  require_word(s, "method", {"nearest_neighbor", "linear", "cubic"});
  require_word(s, "coordinate_transformation_mode",
               {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  require_word(s, "rounding_method",
               {"round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  const auto require_numbers = [&](std::string_view name, size_t count, bool may_be_none) {
    const std::vector<double>& values = s.attributes().reals(name);
    if (values.size() == count || (may_be_none && values.empty())) return;
    s.fail(fmt::format("{} '{}'", name, reals_text(values)),
           fmt::format("a tuple of {} numbers", count));
  };
  require_numbers("scales", f.spatial, true);
  const bool crops = s.attributes().text("coordinate_transformation_mode") == "tf_crop_and_resize";
  require_numbers("roi", 2 * f.spatial, !crops);
}

// Images and channels of the input of that number and of the output are the same; `size` are the
// output's spatial extents.
void infer_images(ShapeInference& s, const Layout& layout, size_t input,
                  const std::vector<int64_t>& size) {
  s.narrow_input(input, Shape::of_rank(layout.rank()));
  s.narrow_output(0, Shape::of_rank(layout.rank()));
  LayoutExtents in = extents_of(s.input(input), layout), out = extents_of(s.output(0), layout);
  LayoutExtents made{{'N', in['N']}, {'C', in['C']}};
  const std::string letters = spatial_letters(layout);
  for (size_t d = 0; d < letters.size(); ++d) made[letters[d]] = size[d];
  const auto shape = [&](const LayoutExtents& extents) {
    const auto result = shape_in(layout, extents);
    if (result) return *result;
    s.fail(fmt::format("{} channels in layout {}", extents.at('C'), layout.text()),
           "blocks that divide the channels");
  };
  s.narrow_output(0, shape(made));
  s.narrow_input(input, shape({{'N', out['N']}, {'C', out['C']}}));
}

// Texts of attributes that say the same, for the nodes of a gradient.
Attributes texts_of(const Resize& how, const std::string& layout) {
  return {{"method", how.method},
          {"coordinate_transformation_mode", how.coordinates},
          {"rounding_method", how.rounding},
          {"cubic_alpha", fmt::format("{}", how.cubic_alpha)},
          {"cubic_exclude", how.exclude_outside ? "True" : "False"},
          {"antialias", how.antialias ? "True" : "False"},
          {"scales", reals_text(how.scales)},
          {"roi", reals_text(how.roi)},
          {"layout", layout}};
}

using How = std::function<Resize(const AttributeValues&)>;
using Check = std::function<void(const ShapeInference&)>;

// An operator whose attribute `size` are the extents of the output.
Op sized(const Family& f, std::string_view name, std::string_view doc,
         std::vector<AttributeSpec> attributes, const How& how, const Check& check) {
  Op op{.name = name,
        .doc = doc,
        .inputs = {kData},
        .attributes = std::move(attributes),
        .infer_type = same_type,
        .layout = image_layout,
        .pattern = Pattern::OutEWiseFusable};
  op.infer_shape = [&f, check](ShapeInference& s) {
    check(s);
    infer_images(s, image_layout_of(s, "layout", f.layout), 0, steps_of(s, "size", f.spatial));
  };
  op.compute = [&f, how](const AttributeValues& a, Tensors in) {
    std::vector<int64_t> size = a.tuple("size");
    size.resize(f.spatial, size.front());
    return std::vector{on_images(in[0], a.text("layout"), [&](const te::Tensor& images) {
      return topi::image::resize(images, size, how(a));
    })};
  };
  op.gradient = [&f, how](const NodeRef& node, const Entries& g) {
    const GradientOf n(node);
    const AttributeValues a = n.attributes();
    return Entries{n(f.gradient, {g[0], n.input(0)}, texts_of(how(a), a.text("layout")))};
  };
  return op;
}

Op resize(const Family& f) {
  std::vector<AttributeSpec> attributes = {{"size", Tuple, {}, "spatial extents of the output"},
                                           layout_of(f)};
  for (AttributeSpec& a : how_attributes()) attributes.push_back(a);
  return sized(f, f.resize,
               "Images of another size, interpolated along one spatial dimension after the other; "
               "integers are interpolated as float32 and rounded. Words are those of ONNX Resize.",
               std::move(attributes), how_of, [&f](const ShapeInference& s) { require_how(s, f); });
}

// NNVM's, of two dimensions: pixel i lies at i / scale of the image.
Resize nnvm_how(bool nearest, bool align_corners) {
  return {.method = nearest ? "nearest_neighbor" : "linear",
          .coordinates = align_corners ? "align_corners" : "asymmetric",
          .rounding = align_corners ? "round" : "floor"};
}

Op nnvm_resize() {
  const Family& f = family(2);
  return sized(
      f, "resize", "Images of another size; pixel i of the output lies at i / scale of the image.",
      {{"size", Tuple, {}, "rows and columns of the output"},
       layout_of(f),
       {"method", Text, "BILINEAR", "BILINEAR or NEAREST_NEIGHBOR"},
       {"align_corners", Bool, "False",
        "whether the outermost pixels of both images lie on each other"}},
      [](const AttributeValues& a) {
        return nnvm_how(a.text("method") == "NEAREST_NEIGHBOR", a.flag("align_corners"));
      },
      [](const ShapeInference& s) { require_word(s, "method", {"BILINEAR", "NEAREST_NEIGHBOR"}); });
}

te::Tensor images_of(const te::Tensor& tensor, const std::string& layout) {
  te::Tensor images;
  on_images(tensor, layout, [&](const te::Tensor& t) { return images = t; });
  return images;
}

std::vector<int64_t> spatial_extents(const te::Tensor& images, size_t spatial) {
  const Shape shape = shape_of(images);
  return {shape.extents->begin() + 2, shape.extents->begin() + 2 + static_cast<int64_t>(spatial)};
}

// Parts of gradients, of two inputs: what is computed from, and images whose extents the output
// has.
Op with_like(const Family& f, std::string_view name, std::string_view doc, InputSpec first,
             InputSpec second) {
  std::vector<AttributeSpec> attributes = how_attributes();
  attributes.push_back(layout_of(f));
  return {.name = name,
          .doc = doc,
          .inputs = {first, second},
          .attributes = std::move(attributes),
          .infer_type = same_type,
          .pattern = Pattern::OutEWiseFusable};
}

Op like(const Family& f) {
  Op op = with_like(f, f.like, "Images of the size of others, as resize makes them.", kData,
                    {"like", "lends its spatial extents"});
  op.infer_shape = [&f](ShapeInference& s) {
    const Layout layout = image_layout_of(s, "layout", f.layout);
    LayoutExtents like = extents_of(s.input(1), layout);
    std::vector<int64_t> size;
    for (char letter : spatial_letters(layout)) size.push_back(like[letter]);
    infer_images(s, layout, 0, size);
  };
  op.compute = [&f](const AttributeValues& a, Tensors in) {
    const std::string& layout = a.text("layout");
    const auto size = spatial_extents(images_of(in[1], layout), f.spatial);
    return std::vector{on_images(in[0], layout, [&](const te::Tensor& images) {
      return topi::image::resize(images, size, how_of(a));
    })};
  };
  op.gradient = [&f](const NodeRef& node, const Entries& g) {
    const GradientOf n(node);
    return first_gradient(n, n(f.gradient, {g[0], n.input(0)}, Attributes(node->attributes)));
  };
  return op;
}

Op gradient_op(const Family& f) {
  Op op = with_like(f, f.gradient, "The gradient of the data of a resize.",
                    {"grad", "the gradient of the output"}, {"data", "what was resized"});
  op.infer_shape = second_shape;
  op.compute = [&f](const AttributeValues& a, Tensors in) {
    const std::string& layout = a.text("layout");
    const te::Tensor data = images_of(in[1], layout);
    return std::vector{on_images(in[0], layout, [&](const te::Tensor& grad) {
      return topi::image::resize_gradient(grad, data, spatial_extents(grad, f.spatial), how_of(a));
    })};
  };
  op.gradient = [&f](const NodeRef& node, const Entries& g) {
    const GradientOf n(node);
    Attributes attributes(node->attributes);
    attributes.set("extrapolation_value", "0");  // a constant has no gradient
    return first_gradient(n, n(f.like, {g[0], n.input(0)}, attributes));
  };
  return op;
}

void infer_upsampling(ShapeInference& s, const Family& f) {
  const AttributeValues& a = s.attributes();
  const Layout layout = image_layout_of(s, "layout", f.layout);
  const int64_t scale = a.integer("scale");
  if (scale < 1) s.fail(fmt::format("a scale of {}", scale), "1 or more");
  require_word(s, "method", {"NEAREST_NEIGHBOR", f.spatial == 3 ? "TRILINEAR" : "BILINEAR"});
  s.narrow_input(0, Shape::of_rank(layout.rank()));
  s.narrow_output(0, Shape::of_rank(layout.rank()));
  LayoutExtents small = extents_of(s.input(0), layout), large = extents_of(s.output(0), layout);
  LayoutExtents in = large, out = small;
  for (char d : spatial_letters(layout)) {
    if (large[d] != kUnknown && large[d] % scale != 0) {
      s.fail(fmt::format("{} pixels at {} times the scale", large[d], scale),
             "a multiple of the scale");
    }
    in[d] = large[d] == kUnknown ? kUnknown : large[d] / scale;
    out[d] = small[d] == kUnknown ? kUnknown : small[d] * scale;
  }
  narrow_images(s, layout, in, out);
}

bool copies(const AttributeValues& a) { return a.text("method") == "NEAREST_NEIGHBOR"; }

Op upsampling(const Family& f, std::string_view name) {
  Op op{.name = name,
        .doc = "Each pixel `scale` times along each spatial dimension, or values between pixels.",
        .inputs = {kData},
        .attributes = {{"scale", Int, {}, "1 or more"},
                       layout_of(f),
                       {"method", Text, "NEAREST_NEIGHBOR",
                        "NEAREST_NEIGHBOR or BILINEAR (of three dimensions TRILINEAR)"},
                       {"align_corners", Bool, "False",
                        "whether the outermost pixels of both images lie on each other, where "
                        "values are between pixels"}},
        .infer_shape = [&f](ShapeInference& s) { infer_upsampling(s, f); },
        .infer_type = same_type,
        .layout = image_layout,
        .pattern = Pattern::Injective,
        .identity = identity_if_same_shape};
  op.compute = [&f](const AttributeValues& a, Tensors in) {
    const int64_t scale = a.integer("scale");
    return std::vector{on_images(in[0], a.text("layout"), [&](const te::Tensor& images) {
      std::vector<int64_t> size(f.spatial, scale);
      if (copies(a)) return topi::nn::upsampling(images, size);
      const std::vector<int64_t> small = spatial_extents(images, f.spatial);
      for (size_t d = 0; d < f.spatial; ++d) size[d] = scale * small[d];
      return topi::image::resize(images, size, nnvm_how(false, a.flag("align_corners")));
    })};
  };
  op.gradient = [&f](const NodeRef& node, const Entries& g) {
    const GradientOf n(node);
    const AttributeValues a = n.attributes();
    const std::string& layout = a.text("layout");
    if (!copies(a)) {
      return Entries{n(f.gradient, {g[0], n.input(0)},
                       texts_of(nnvm_how(false, a.flag("align_corners")), layout))};
    }
    // The sum over the copies of a pixel.
    const std::string window = tuple_text(std::vector<int64_t>(f.spatial, a.integer("scale")));
    return Entries{
        n(f.sum_pool, {g[0]}, {{"pool_size", window}, {"strides", window}, {"layout", layout}})};
  };
  return op;
}

}  // namespace

std::vector<Op> resize_ops() {
  std::vector<Op> ops = {nnvm_resize(), upsampling(family(2), "upsampling"),
                         upsampling(family(3), "upsampling3d")};
  for (const Family& f : kFamilies) {
    ops.push_back(resize(f));
    ops.push_back(like(f));
    ops.push_back(gradient_op(f));
  }
  return ops;
}

}  // namespace tw::graph
