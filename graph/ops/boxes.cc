// SPDX-License-Identifier: Apache-2.0
// Boxes of images: which count, which are kept, and where anchors move. Gradients pass to what was
// selected.
#include <fmt/format.h>

#include "graph/ops/arithmetic.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

using enum AttributeType;
using topi::vision::Suppression;
const InputSpec kBoxes{"data", "(batch, n, columns), floating"};
const AttributeSpec kScore{"score_index", Int, "1", "the column of the score"},
    kClass{"id_index", Int, "0", "the column of the class, or -1"};
const AttributeSpec kThreshold{"threshold", Float, "0.01",
                               "anchors whose greatest probability is below it are background"};

// Boxes (batch, n, columns), and what there is of each image or box.
void infer_boxes(ShapeInference& s, const Shape& rows) {
  s.narrow_input(0, Shape::of_rank(3));
  s.narrow_input(0, rows);
}
Shape images_of(const Shape& data) { return Shape({extent(data, 0)}); }
Shape rows_of(const Shape& data) { return Shape({extent(data, 0), extent(data, 1)}); }

void infer_counts(ShapeInference& s) {
  infer_boxes(s, s.output(1));
  s.narrow_output(0, images_of(s.input(0)));
  s.narrow_output(1, s.input(0));
  s.narrow_output(2, rows_of(s.input(0)));
}

void infer_kept(ShapeInference& s) {
  infer_boxes(s, s.output(0));
  s.narrow_input(1, images_of(s.input(0)));
  s.narrow_output(0, s.input(0));
}

void infer_places(ShapeInference& s) {
  infer_boxes(s, {});
  s.narrow_input(1, images_of(s.input(0)));
  s.narrow_output(0, rows_of(s.input(0)));
  s.narrow_output(1, Shape({extent(s.input(0), 0), 1}));
}

void infer_kept_type(TypeInference& t) {
  first_type(t);
  t.narrow_input(1, int_type(32));
}

void infer_places_type(TypeInference& t) {
  t.narrow_input(1, int_type(32));
  t.narrow_output(0, int_type(32));
  t.narrow_output(1, int_type(32));
}

// The rows that positions name, an entry for each of their elements.
Entry of_elements(const GradientOf& n, const Entry& rows, const Entry& like) {
  return n("broadcast_to_like", {n("expand_dims", {rows}, {{"axis", "2"}}), like});
}

Entry rows_placed(const GradientOf& n, const Entry& g, const Entry& rows) {
  return n("_gather_grad", {g, n.input(0), of_elements(n, rows, g)},
           {{"axis", "1"}, {"mode", "skip"}});
}

const std::vector<AttributeSpec> kSuppression = {
    {"max_output_size", Int, "-1", "how many boxes are kept; all where below 0"},
    {"iou_threshold", Float, "0.5",
     "what overlaps as much goes; nothing does where it is not above 0"},
    {"force_suppress", Bool, "False", "boxes of other classes go too"},
    {"top_k", Int, "-1", "how many of the greatest scores are looked at; all where below 1"},
    {"coord_start", Int, "2", "the first of four columns: left, top, right, bottom"},
    kScore,
    kClass,
    {"invalid_to_bottom", Bool, "False", "what is kept stands in the first rows"}};

Suppression suppression_of(const AttributeValues& a) {
  return {.max_output_size = a.integer("max_output_size"),
          .iou_threshold = a.real("iou_threshold"),
          .force_suppress = a.flag("force_suppress"),
          .top_k = a.integer("top_k"),
          .coord_start = a.integer("coord_start"),
          .score_index = a.integer("score_index"),
          .id_index = a.integer("id_index"),
          .invalid_to_bottom = a.flag("invalid_to_bottom")};
}

// The older operator, with what it has no attributes for as it was.
Suppression nms_of(const AttributeValues& a) {
  return {.iou_threshold = a.real("nms_threshold"),
          .force_suppress = a.flag("force_suppress"),
          .top_k = a.integer("nms_topk")};
}

Attributes attributes_of(const Suppression& s) {
  const auto flag = [](bool f) { return std::string(f ? "True" : "False"); };
  return {{"max_output_size", fmt::format("{}", s.max_output_size)},
          {"iou_threshold", fmt::format("{}", s.iou_threshold)},
          {"force_suppress", flag(s.force_suppress)},
          {"top_k", fmt::format("{}", s.top_k)},
          {"coord_start", fmt::format("{}", s.coord_start)},
          {"score_index", fmt::format("{}", s.score_index)},
          {"id_index", fmt::format("{}", s.id_index)},
          {"invalid_to_bottom", flag(s.invalid_to_bottom)}};
}

const InputSpec kCount{"valid_count", "int32, (batch,): how many boxes of each image count"};

Op suppressing(std::string_view name, std::string_view doc, std::vector<AttributeSpec> attributes,
               Suppression (*read)(const AttributeValues&)) {
  return {.name = name,
          .doc = doc,
          .inputs = {kBoxes, kCount},
          .attributes = std::move(attributes),
          .infer_shape = infer_kept,
          .infer_type = infer_kept_type,
          .compute =
              [read](const AttributeValues& a, Tensors in) {
                return std::vector{topi::vision::non_max_suppression(in[0], in[1], read(a))};
              },
          .gradient =
              [read](const NodeRef& node, const Entries& g) {
                const GradientOf n(node);
                const Entry source =
                    n("_nms_source", {n.input(0), n.input(1)}, attributes_of(read(n.attributes())));
                return Entries{rows_placed(n, g[0], source), {}};
              }};
}

// Places and numbers of boxes that are kept; as an operator of its own, in the order of its rows.
Op suppression_places() {
  return {.name = "_nms_source",
          .doc =
              "Of which row of data each row of non_max_suppression is, or -1, (batch, n), and "
              "how many are kept, (batch, 1); int32.",
          .inputs = {kBoxes, kCount},
          .attributes = kSuppression,
          .num_outputs = [](const AttributeValues&) { return 2; },
          .infer_shape = infer_places,
          .infer_type = infer_places_type,
          .compute =
              [](const AttributeValues& a, Tensors in) {
                return topi::vision::suppression_source(in[0], in[1], suppression_of(a));
              },
          .gradient = no_gradient};
}

// As kSuppression says, or indices.
Op suppression() {
  std::vector<AttributeSpec> attributes = kSuppression;
  attributes.push_back({"return_indices", Bool, "False",
                        "rows of data that are kept, -1 behind them, int32 (batch, n), and how "
                        "many, (batch, 1)"});
  Op op = suppressing("non_max_suppression",
                      "Boxes from the greatest score to the least, without those that overlap one "
                      "before them; rows of others are -1.",
                      std::move(attributes), suppression_of);
  const auto indices = [](const AttributeValues& a) { return a.flag("return_indices"); };
  op.num_outputs = [indices](const AttributeValues& a) { return indices(a) ? 2 : 1; };
  op.infer_shape = [indices](ShapeInference& s) {
    indices(s.attributes()) ? infer_places(s) : infer_kept(s);
  };
  op.infer_type = [indices](TypeInference& t) {
    indices(t.attributes()) ? infer_places_type(t) : infer_kept_type(t);
  };
  op.compute = [indices, kept = op.compute](const AttributeValues& a, Tensors in) {
    if (!indices(a)) return kept(a, in);
    Suppression s = suppression_of(a);
    s.invalid_to_bottom = true;
    return topi::vision::suppression_source(in[0], in[1], s);
  };
  op.gradient = [indices, kept = op.gradient](const NodeRef& node, const Entries& g) {
    return indices(GradientOf(node).attributes()) ? no_gradient(node, g) : kept(node, g);
  };
  return op;
}

void infer_prior(ShapeInference& s) {
  const AttributeValues& a = s.attributes();
  s.narrow_input(0, Shape::of_rank(4));
  const int64_t rows = s.input(0)[2], columns = s.input(0)[3];
  const auto boxes = static_cast<int64_t>(a.reals("sizes").size() + a.reals("ratios").size()) - 1;
  if (boxes < 1) s.fail("no sizes, or no ratios", "one or more of each");
  s.narrow_output(
      0,
      Shape({1, rows == kUnknown || columns == kUnknown ? kUnknown : rows * columns * boxes, 4}));
}

void infer_source(ShapeInference& s) {
  s.narrow_input(0, Shape::of_rank(3));
  const Shape rows({s.input(0)[0], s.input(0)[2]});
  s.narrow_output(0, rows);
  s.narrow_output(1, rows);
  s.narrow_output(2, images_of(s.input(0)));
}

void infer_transform(ShapeInference& s) {
  s.narrow_input(0, Shape::of_rank(3));
  s.narrow_input(1, Shape::of_rank(2));
  s.narrow_input(2, Shape({1, kUnknown, 4}));
  s.narrow_output(0, Shape({kUnknown, kUnknown, 6}));
  for (int64_t batch : {s.input(0)[0], s.input(1)[0], s.output(0)[0]}) {
    s.narrow_input(0, Shape({batch, kUnknown, kUnknown}));
    s.narrow_input(1, Shape({batch, kUnknown}));
    s.narrow_output(0, Shape({batch, kUnknown, 6}));
    s.narrow_output(1, Shape({batch}));
  }
  const int64_t moves = s.input(1)[1];
  if (moves != kUnknown && moves % 4 != 0) s.fail(fmt::format("{} moves", moves), "four an anchor");
  for (int64_t anchors :
       {s.input(0)[2], s.input(2)[1], s.output(0)[1], moves == kUnknown ? kUnknown : moves / 4}) {
    s.narrow_input(0, Shape({kUnknown, kUnknown, anchors}));
    s.narrow_input(1, Shape({kUnknown, anchors == kUnknown ? kUnknown : anchors * 4}));
    s.narrow_input(2, Shape({1, anchors, 4}));
    s.narrow_output(0, Shape({kUnknown, anchors, 6}));
  }
}

void infer_transform_type(TypeInference& t) {
  for (size_t k = 0; k < 3; ++k) {
    t.equate(k, 0);
  }
  t.narrow_input(0, t.output(0));
  t.narrow_input(1, t.output(0));
  t.narrow_output(1, int_type(32));
}

Entry column(const Arithmetic& n, const Entry& e, int64_t k) { return n.slice(e, 2, k, k + 1); }

Entries expand_transform(const NodeRef& node, std::span<const Shape>) {
  const Arithmetic n(node);
  const AttributeValues a = n.attributes();
  const Entry &all = n.input(0), &anchor = n.input(2);
  const Entry prob =
      n("strided_slice", {all}, {{"begin", "(0, 1)"}, {"end", tuple_text({INT32_MAX, INT32_MAX})}});
  const Entry score = n("expand_dims", {n("max", {prob}, {{"axis", "1"}})}, {{"axis", "2"}});
  const Entry moves = n("reshape", {n.input(1)}, {{"shape", "(0, -1, 4)"}});
  Entries low_sides, high_sides;
  for (int64_t d = 0; d < 2; ++d) {
    const Entry low = column(n, anchor, d), high = column(n, anchor, d + 2);
    const Entry size = n.sub(high, low), middle = n.mul(n.add(low, high), 0.5);
    // How far the boxes move along that direction, or how much they grow.
    const auto moved = [&](int64_t k) {
      return n.mul(column(n, moves, k), a.reals("variances")[static_cast<size_t>(k)]);
    };
    const Entry center = n.add(n.mul(moved(d), size), middle);
    const Entry half = n.mul(n.mul(n("exp", {moved(d + 2)}), size), 0.5);
    low_sides.push_back(n.sub(center, half));
    high_sides.push_back(n.add(center, half));
  }
  Entry sides =
      n("concatenate", {low_sides[0], low_sides[1], high_sides[0], high_sides[1]}, {{"axis", "2"}});
  if (a.flag("clip")) sides = n("clip", {sides}, {{"a_min", "0"}, {"a_max", "1"}});
  const Entry boxes = n("concatenate", {score, sides}, {{"axis", "2"}});
  const Entries source =
      entries_of(n("_multibox_source", {all}, {{"threshold", n.text(a.real("threshold"))}}).node);
  const Entry places = of_elements(n, source[0], boxes);
  const Entry chosen = n("gather", {boxes, places}, {{"axis", "1"}, {"mode", "skip"}});
  const Entry rows = n("where", {n.below(places, 0), n.like(chosen, -1), chosen});
  const Entry classes = n("expand_dims", {source[1]}, {{"axis", "2"}});
  return {n("concatenate", {classes, rows}, {{"axis", "2"}}), source[2]};
}

std::vector<Op> multibox_ops() {
  return {
      {.name = "multibox_prior",
       .doc = "Anchors around the pixels of images, (1, h * w * (sizes + ratios - 1), 4): left, "
              "top, right and bottom in parts of the image.",
       .inputs = {{"data", "(n, c, h, w), floating"}},
       .attributes = {{"sizes", Reals, "(1.0,)", "of boxes, in parts of the image"},
                      {"ratios", Reals, "(1.0,)",
                       "of width to height; the first goes with all sizes, others with the first"},
                      {"steps", Reals, "(-1.0, -1.0)",
                       "from one pixel to the next, (vertical, horizontal); below 0: 1 / extent"},
                      {"offsets", Reals, "(0.5, 0.5)", "of centers, in pixels"},
                      {"clip", Bool, "False", "whether boxes end where the image does"}},
       .infer_shape = infer_prior,
       .infer_type = same_type,
       .pattern = Pattern::Injective,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return std::vector{topi::vision::multibox_prior(in[0], a.reals("sizes"),
                                                             a.reals("ratios"), a.reals("steps"),
                                                             a.reals("offsets"), a.flag("clip"))};
           },
       .gradient = flat_gradient},
      {.name = "_multibox_source",
       .doc = "The anchors of a class other than the background, (batch, n), -1 behind them; their "
              "classes; and how many there are of each image.",
       .inputs = {{"cls_prob", "(batch, classes, n), floating"}},
       .attributes = {kThreshold},
       .num_outputs = [](const AttributeValues&) { return 3; },
       .infer_shape = infer_source,
       .infer_type =
           [](TypeInference& t) {
             t.narrow_output(0, int_type(32));
             t.equate(0, 1);
             t.narrow_output(2, int_type(32));
           },
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return topi::vision::multibox_source(in[0], a.real("threshold"));
           },
       .gradient = no_gradient},
      {.name = "multibox_transform_loc",
       .doc = "Boxes (batch, n, 6), a class, a score and four sides, of the anchors that show "
              "something, rows of -1 behind them; and how many there are, int32 (batch,).",
       .inputs = {{"cls_prob", "(batch, classes, n), floating; class 0 is the background"},
                  {"loc_pred", "(batch, n * 4)"},
                  {"anchor", "(1, n, 4)"}},
       .attributes = {{"clip", Bool, "True", "whether boxes end where the image does"},
                      kThreshold,
                      {"variances", Reals, "(0.1, 0.1, 0.2, 0.2)", "four factors of loc_pred"}},
       .num_outputs = [](const AttributeValues&) { return 2; },
       .infer_shape = infer_transform,
       .infer_type = infer_transform_type,
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return topi::vision::multibox_transform_loc(in[0], in[1], in[2], a.flag("clip"),
                                                         a.real("threshold"), a.reals("variances"));
           },
       .expand = expand_transform},
  };
}

}  // namespace

std::vector<Op> boxes_ops() {
  std::vector<Op> ops = {
      {.name = "get_valid_counts",
       .doc = "How many boxes of each image have a score above a threshold, int32 (batch,); those, "
              "and rows of -1 behind them; and their places, int32 (batch, n).",
       .inputs = {kBoxes},
       .attributes = {{"score_threshold", Float, "0", "scores above it count"}, kClass, kScore},
       .num_outputs = [](const AttributeValues&) { return 3; },
       .infer_shape = infer_counts,
       .infer_type =
           [](TypeInference& t) {
             t.equate(0, 1);
             t.narrow_output(0, int_type(32));
             t.narrow_output(2, int_type(32));
           },
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return topi::vision::get_valid_counts(in[0], a.real("score_threshold"),
                                                   a.integer("id_index"), a.integer("score_index"));
           },
       .gradient =
           [](const NodeRef& node, const Entries& g) {
             const GradientOf n(node);
             return Entries{rows_placed(n, g[1], n.output(2))};
           }},
      suppression(),
      suppressing("nms",
                  "non_max_suppression of boxes of six columns: class, score, left, top, right and "
                  "bottom.",
                  {{"nms_threshold", Float, "0.5", "what overlaps as much goes"},
                   {"force_suppress", Bool, "False", "boxes of other classes go too"},
                   {"nms_topk", Int, "-1",
                    "how many of the greatest scores are looked at; all where below 1"}},
                  nms_of),
      suppression_places()};
  for (Op& op : multibox_ops()) ops.push_back(std::move(op));
  return ops;
}

}  // namespace tw::graph
