// SPDX-License-Identifier: Apache-2.0
// Operators between channels of images and blocks of their pixels. Each of a pair is the other's
// gradient.
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

// Names of operators, and of attributes that hold the rows and columns of a block.
constexpr const char *kDepthToSpace = "depth_to_space", *kSpaceToDepth = "space_to_depth",
                     *kPixelShuffle = "pixel_shuffle", *kPixelUnshuffle = "pixel_unshuffle",
                     *kBlockSize = "block_size", *kUpscale = "upscale_factor",
                     *kDownscale = "downscale_factor";

struct ImageDimensions {
  size_t channels, rows, columns;
};
ImageDimensions image_dimensions(const ShapeInference& s) {
  require_word(s, "layout", {"NCHW", "NHWC"});
  if (s.attributes().text("layout") == "NCHW") return {1, 2, 3};
  return {3, 1, 2};
}

// Shapes of images before and after; `depth` has the pixels of a block in its channels.
struct Blocked {
  Shape depth, space;
};
Blocked blocked(const ShapeInference& s, std::string_view size, const Shape& depth,
                const Shape& space) {
  const auto [c, h, w] = image_dimensions(s);
  const int64_t block = s.attributes().integer(size);
  if (block < 1) s.fail(fmt::format("{} {}", size, block), "1 or more");
  Shape to_space = *unify(depth, Shape::of_rank(4)), to_depth = *unify(space, Shape::of_rank(4));
  (*to_space.extents)[c] = divided(s, to_space[c], block * block);
  (*to_depth.extents)[c] = times(to_depth[c], block * block);
  for (size_t d : {h, w}) {
    (*to_space.extents)[d] = times(to_space[d], block);
    (*to_depth.extents)[d] = divided(s, to_depth[d], block);
  }
  return {to_depth, to_space};
}

template <const char* const& size>
void infer_to_space(ShapeInference& s) {
  s.narrow_input(0, Shape::of_rank(4));
  s.narrow_output(0, Shape::of_rank(4));
  const auto [depth, space] = blocked(s, size, s.input(0), s.output(0));
  s.narrow_output(0, space);
  s.narrow_input(0, depth);
}

template <const char* const& size>
void infer_to_depth(ShapeInference& s) {
  s.narrow_input(0, Shape::of_rank(4));
  s.narrow_output(0, Shape::of_rank(4));
  const auto [depth, space] = blocked(s, size, s.output(0), s.input(0));
  s.narrow_output(0, depth);
  s.narrow_input(0, space);
}

template <void (*infer)(ShapeInference&)>
void infer_in_mode(ShapeInference& s) {
  require_word(s, "mode", {"DCR", "CRD"});
  infer(s);
}

// The gradient is the other operator of the pair, with the same attributes.
template <const char* const& op>
Entries moved_back(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  return {n(op, {g[0]}, Attributes(node->attributes))};
}

// PyTorch's operators call the same number by two names.
template <const char* const& op, const char* const& from, const char* const& to>
Entries shuffled_back(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const AttributeValues a = n.attributes();
  return {n(op, {g[0]}, {{to, fmt::format("{}", a.integer(from))}, {"layout", a.text("layout")}})};
}

}  // namespace

std::vector<Op> pixel_block_ops() {
  using enum AttributeType;
  const AttributeSpec layout{"layout", Text, "NCHW", "NCHW or NHWC"};
  const std::vector<AttributeSpec> in_mode = {
      {kBlockSize, Int, {}, "rows and columns of a block"},
      layout,
      {"mode", Text, "DCR", "DCR: blocks before channels; CRD: behind"}};
  const auto row = [](std::string_view name, std::string_view doc,
                      std::vector<AttributeSpec> attributes, void (*infer)(ShapeInference&),
                      std::vector<te::Tensor> (*compute)(const AttributeValues&, Tensors),
                      Entries (*gradient)(const NodeRef&, const Entries&)) {
    return Op{.name = name,
              .doc = doc,
              .inputs = {{"data", "images"}},
              .attributes = std::move(attributes),
              .infer_shape = infer,
              .infer_type = same_type,
              .pattern = Pattern::Injective,
              .compute = compute,
              .gradient = gradient};
  };
  return {
      row(
          kDepthToSpace, "Channels of images as rows and columns of blocks.", in_mode,
          infer_in_mode<infer_to_space<kBlockSize>>,
          [](const AttributeValues& a, Tensors in) {
            return std::vector{topi::nn::depth_to_space(in[0], a.integer(kBlockSize),
                                                        a.text("layout"), a.text("mode"))};
          },
          moved_back<kSpaceToDepth>),
      row(
          kSpaceToDepth, "Rows and columns of blocks of images as channels.", in_mode,
          infer_in_mode<infer_to_depth<kBlockSize>>,
          [](const AttributeValues& a, Tensors in) {
            return std::vector{topi::nn::space_to_depth(in[0], a.integer(kBlockSize),
                                                        a.text("layout"), a.text("mode"))};
          },
          moved_back<kDepthToSpace>),
      row(
          kPixelShuffle,
          "Images so many times as high and as wide, pixels of a block from channels that follow "
          "each other: depth_to_space of mode CRD. PyTorch pixel_shuffle.",
          {{kUpscale, Int, {}, "rows and columns of a block"}, layout}, infer_to_space<kUpscale>,
          [](const AttributeValues& a, Tensors in) {
            return std::vector{
                topi::nn::depth_to_space(in[0], a.integer(kUpscale), a.text("layout"), "CRD")};
          },
          shuffled_back<kPixelUnshuffle, kUpscale, kDownscale>),
      row(
          kPixelUnshuffle,
          "Pixels of each block of images as channels that follow each other: space_to_depth of "
          "mode CRD. PyTorch pixel_unshuffle.",
          {{kDownscale, Int, {}, "rows and columns of a block"}, layout},
          infer_to_depth<kDownscale>,
          [](const AttributeValues& a, Tensors in) {
            return std::vector{
                topi::nn::space_to_depth(in[0], a.integer(kDownscale), a.text("layout"), "CRD")};
          },
          shuffled_back<kPixelShuffle, kDownscale, kUpscale>),
  };
}

}  // namespace tw::graph
