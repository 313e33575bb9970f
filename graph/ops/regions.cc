// SPDX-License-Identifier: Apache-2.0
// Darknet's layers, and regions of images.
#include <fmt/format.h>

#include "graph/ops/arithmetic.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

using enum AttributeType;
const InputSpec kImages{"data", "(n, c, h, w), floating"};
const AttributeSpec kNum{"num", Int, {}, "anchors"}, kClasses{"classes", Int, {}, "of an anchor"};

// Few channels of a large image, and many of a small one.
void infer_reorg(ShapeInference& s, bool inverse) {
  const int64_t stride = s.attributes().integer("stride");
  if (stride < 1) s.fail(fmt::format("a stride of {}", stride), "1 or more");
  s.narrow_input(0, Shape::of_rank(4));
  s.narrow_output(0, Shape::of_rank(4));
  const auto fewer = [&](const Shape& x) {
    return Shape(
        {x[0], divided(s, x[1], stride * stride), times(x[2], stride), times(x[3], stride)});
  };
  const auto more = [&](const Shape& x) {
    return Shape(
        {x[0], times(x[1], stride * stride), divided(s, x[2], stride), divided(s, x[3], stride)});
  };
  const Shape out = inverse ? fewer(s.input(0)) : more(s.input(0));
  const Shape in = inverse ? more(s.output(0)) : fewer(s.output(0));
  s.narrow_output(0, out);
  s.narrow_input(0, in);
  // The channels of the large image are those of a larger one.
  divided(s, inverse ? s.output(0)[1] : s.input(0)[1], stride * stride);
}

Op reorg(std::string_view name, std::string_view doc, std::string_view gradient, bool inverse) {
  return {.name = name,
          .doc = doc,
          .inputs = {{"data", "(n, c, h, w)"}},
          .attributes = {{"stride", Int, inverse ? std::optional<std::string_view>() : "1",
                          "1 or more; its square divides the channels"}},
          .infer_shape = [inverse](ShapeInference& s) { infer_reorg(s, inverse); },
          .infer_type = same_type,
          .pattern = Pattern::Injective,
          .compute =
              [inverse](const AttributeValues& a, Tensors in) {
                return std::vector{topi::vision::reorg(in[0], a.integer("stride"), inverse)};
              },
          .gradient =
              [gradient](const NodeRef& node, const Entries& g) {
                const GradientOf n(node);
                const std::string stride = fmt::format("{}", n.attributes().integer("stride"));
                return Entries{n(gradient, {g[0]}, {{"stride", stride}})};
              }};
}

// What becomes of channels [begin, end) of an anchor: an operator, or empty.
struct Part {
  int64_t begin, end;
  std::string_view op;
};

Entries parts_activated(const Arithmetic& n, const std::vector<Part>& parts) {
  const Entry& x = n.input(0);
  const Entry channels =
      n("reshape", {x},
        {{"shape", fmt::format("(0, -4, {}, -1, -2)", n.attributes().integer("num"))}});
  Entries done;
  for (const Part& p : parts) {
    if (p.begin >= p.end) continue;
    const Entry part = n("strided_slice", {channels},
                         {{"begin", tuple_text({0, 0, p.begin})},
                          {"end", tuple_text({INT32_MAX, INT32_MAX, p.end})}});
    done.push_back(p.op.empty()        ? part
                   : p.op == "softmax" ? n(p.op, {part}, {{"axis", "2"}})
                                       : n(p.op, {part}));
  }
  return {n("reshape_like", {n("concatenate", done, {{"axis", "2"}}), x})};
}

std::vector<Part> region_parts(const AttributeValues& a) {
  const int64_t coords = a.integer("coords"), each = coords + a.integer("classes") + 1;
  const int64_t from = a.flag("background") ? coords : coords + 1;
  return {{0, 2, "sigmoid"},
          {2, coords, ""},
          {coords, from, "sigmoid"},
          {from, each, a.flag("softmax") ? "softmax" : ""}};
}

std::vector<Part> yolo_parts(const AttributeValues& a) {
  return {{0, 2, "sigmoid"}, {2, 4, ""}, {4, 5 + a.integer("classes"), "sigmoid"}};
}

Op darknet(std::string_view name, std::string_view doc, std::vector<AttributeSpec> attributes,
           std::vector<Part> (*parts)(const AttributeValues&),
           te::Tensor (*compute)(const AttributeValues&, const te::Tensor&)) {
  return {.name = name,
          .doc = doc,
          .inputs = {kImages},
          .attributes = std::move(attributes),
          .infer_shape =
              [](ShapeInference& s) {
                same_shape(s);
                s.narrow_input(0, Shape::of_rank(4));
              },
          .infer_type = same_type,
          .compute = [compute](const AttributeValues& a,
                               Tensors in) { return std::vector{compute(a, in[0])}; },
          .expand =
              [parts](const NodeRef& node, std::span<const Shape>) {
                const Arithmetic n(node);
                return parts_activated(n, parts(n.attributes()));
              }};
}

// Regions of images ----------------------------------------------------------------------------

const InputSpec kRois{"rois", "(r, 5): the number of an image, left, top, right, bottom"};
const std::vector<AttributeSpec> kRegions = {
    {"pooled_size", Tuple, {}, "parts of a region: one for both directions, or (rows, columns)"},
    {"spatial_scale", Float, {}, "of positions of regions to those of data"},
    {"layout", Text, "NCHW", "of data; no other is known"}};

void infer_regions(ShapeInference& s) {
  const std::vector<int64_t> pooled = steps_of(s, "pooled_size", 2);
  if (s.attributes().text("layout") != "NCHW")
    s.fail(fmt::format("layout '{}'", s.attributes().text("layout")), "NCHW");
  s.narrow_input(0, Shape::of_rank(4));
  s.narrow_input(1, Shape({kUnknown, 5}));
  s.narrow_output(0, Shape({s.input(1)[0], s.input(0)[1], pooled[0], pooled[1]}));
  s.narrow_input(0, Shape({kUnknown, s.output(0)[1], kUnknown, kUnknown}));
  s.narrow_input(1, Shape({s.output(0)[0], 5}));
}

topi::vision::Alignment alignment_of(const AttributeValues& a) {
  return {a.tuple("pooled_size"), a.real("spatial_scale"), a.integer("sample_ratio"),
          a.flag("aligned")};
}

// The greatest elements go back to where they came from.
Entries roi_pool_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const auto flat = [&](const Entry& e) { return n("reshape", {e}, {{"shape", "(-1,)"}}); };
  const Entry source =
      n("_roi_pool_source", {n.input(0), n.input(1)}, Attributes(node->attributes));
  const Entry sums = n("_gather_grad", {flat(g[0]), flat(n.input(0)), flat(source)},
                       {{"axis", "0"}, {"mode", "skip"}});
  return first_gradient(n, n.shaped_as_input(sums));
}

// That of a mean spreads over the pixels around points, that of the greatest goes to its pixel.
Entries roi_align_gradient(const NodeRef& node, const Entries& g) {
  const GradientOf n(node);
  const Attributes& how = node->attributes;
  if (n.attributes().text("mode") == "avg") {
    return first_gradient(n, n("_roi_align_grad", {g[0], n.input(1), n.input(0)}, how));
  }
  const auto flat = [&](const Entry& e) { return n("reshape", {e}, {{"shape", "(-1,)"}}); };
  const Entries source = entries_of(n("_roi_align_source", {n.input(0), n.input(1)}, how).node);
  const Entry sums =
      n("_gather_grad", {flat(n.product(g[0], source[1])), flat(n.input(0)), flat(source[0])},
        {{"axis", "0"}, {"mode", "skip"}});
  return first_gradient(n, n.shaped_as_input(sums));
}

std::vector<Op> region_pools() {
  std::vector<AttributeSpec> aligned = kRegions;
  aligned.push_back({"sample_ratio", Int, "-1",
                     "points of a part in each direction; below 1: as many as pixels"});
  aligned.push_back({"mode", Text, "avg",
                     "avg, or max: the greatest of what the four pixels around points give to "
                     "them; ONNX's"});
  aligned.push_back(
      {"aligned", Bool, "False", "whether pixels have their centers at halves; ONNX's half_pixel"});
  const auto infer_aligned = [](ShapeInference& s) {
    require_word(s, "mode", {"avg", "max"});
    infer_regions(s);
  };
  return {
      {.name = "roi_pool",
       .doc = "The greatest of each part of a region, (r, c, rows, columns). Regions have no "
              "gradients.",
       .inputs = {kImages, kRois},
       .attributes = kRegions,
       .infer_shape = infer_regions,
       .infer_type = first_type,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::vision::roi_pool_nchw(in[0], in[1], a.tuple("pooled_size"),
                                                            a.real("spatial_scale"))};
           },
       .gradient = roi_pool_gradient},
      {.name = "_roi_pool_source",
       .doc =
           "The place in data, row-major, of each element of roi_pool; -1 where a part has none.",
       .inputs = {kImages, kRois},
       .attributes = kRegions,
       .infer_shape = infer_regions,
       .infer_type = [](TypeInference& t) { t.narrow_output(0, int_type(32)); },
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::vision::roi_pool_source(in[0], in[1], a.tuple("pooled_size"),
                                                              a.real("spatial_scale"))};
           },
       .gradient = no_gradient},
      {.name = "roi_align",
       .doc = "The mean of points of each part of a region, bilinear between pixels, (r, c, rows, "
              "columns). Regions have no gradients.",
       .inputs = {kImages, kRois},
       .attributes = aligned,
       .infer_shape = infer_aligned,
       .infer_type = first_type,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             auto* f = a.text("mode") == "avg" ? &topi::vision::roi_align_nchw
                                               : &topi::vision::roi_align_greatest_nchw;
             return std::vector{f(in[0], in[1], alignment_of(a))};
           },
       .gradient = roi_align_gradient},
      {.name = "_roi_align_source",
       .doc = "The place in data, row-major, of the pixel that roi_align with mode=max takes for a "
              "part, -1 where it takes none; and its weight.",
       .inputs = {kImages, kRois},
       .attributes = aligned,
       .num_outputs = [](const AttributeValues&) { return 2; },
       .infer_shape =
           [](ShapeInference& s) {
             infer_regions(s);
             s.narrow_output(1, s.output(0));
             s.narrow_output(0, s.output(1));
           },
       .infer_type =
           [](TypeInference& t) {
             t.narrow_output(0, int_type(32));
             t.equate(0, 1);
           },
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return topi::vision::roi_align_source(in[0], in[1], alignment_of(a));
           },
       .gradient = no_gradient},
      {.name = "_roi_align_grad",
       .doc = "The gradient of roi_align's data; attributes are those of roi_align.",
       .inputs = {{"grad", "the gradient of the output"}, kRois, {"data", "lends its shape"}},
       .attributes = aligned,
       .infer_shape =
           [](ShapeInference& s) {
             const std::vector<int64_t> pooled = steps_of(s, "pooled_size", 2);
             s.equate(2, 0);
             s.narrow_input(1, Shape({kUnknown, 5}));
             s.narrow_input(0, Shape({s.input(1)[0], extent(s.input(2), 1), pooled[0], pooled[1]}));
           },
       .infer_type = first_type,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{
                 topi::vision::roi_align_grad(in[0], in[1], in[2].shape(), alignment_of(a))};
           },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return first_gradient(
                 n, n("roi_align", {g[0], n.input(1)}, Attributes(node->attributes)));
           }},
  };
}

}  // namespace

std::vector<Op> regions_ops() {
  Op reorganized = reorg("yolo_reorg",
                         "Pixels as channels, (n, c * stride², h / stride, w / stride), as "
                         "Darknet's reorg.",
                         "_yolo_reorg_grad", false);
  reorganized.aliases = {"yolo2_reorg"};
  std::vector<Op> ops = {
      std::move(reorganized),
      reorg("_yolo_reorg_grad", "Channels as pixels again.", "yolo_reorg", true),
      darknet(
          "yolo_region",
          "Darknet's region layer of (n, num * (coords + classes + 1), h, w): logistic of the "
          "first two coordinates and of the objectness, softmax of the classes.",
          {kNum,
           kClasses,
           {"coords", Int, "4", "coordinates of an anchor, 2 or more"},
           {"background", Bool, "False", "whether the channel behind the coordinates is a class"},
           {"softmax", Bool, "True", "of the classes"}},
          region_parts,
          [](const AttributeValues& a, const te::Tensor& x) {
            return topi::vision::region(x, a.integer("num"), a.integer("classes"),
                                        a.integer("coords"), a.flag("background"),
                                        a.flag("softmax"));
          }),
      darknet("yolov3_yolo",
              "Darknet's yolo layer of (n, num * (5 + classes), h, w): logistic of all but width "
              "and height.",
              {kNum, kClasses}, yolo_parts, [](const AttributeValues& a, const te::Tensor& x) {
                return topi::vision::yolo(x, a.integer("num"), a.integer("classes"));
              })};
  for (Op& op : region_pools()) ops.push_back(std::move(op));
  return ops;
}

}  // namespace tw::graph
