// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/common.h"
#include "graph/ops/families.h"
#include "schedule/topi/topi.h"

namespace tw::graph {
namespace {

// boxes (batch, n, 4), scores (batch, classes, n), rows (batch * classes * n, 3) and their number.
void infer_suppression(ShapeInference& s) {
  s.narrow_input(0, Shape::of_rank(3));
  s.narrow_input(1, Shape::of_rank(3));
  s.narrow_input(0, Shape({s.input(1)[0], s.input(1)[2], 4}));
  s.narrow_input(1, Shape({s.input(0)[0], kUnknown, s.input(0)[1]}));
  const Shape& scores = s.input(1);
  s.narrow_output(0, Shape({scores.known() ? scores.elements() : kUnknown, 3}));
  s.narrow_output(1, Shape({1}));
}

}  // namespace

std::vector<Op> class_suppression_ops() {
  using enum AttributeType;
  return {
      {.name = "all_class_non_max_suppression",
       .doc = "The boxes of each class of each image from the greatest score to the least, without "
              "those that overlap one before them: int64 (batch * classes * n, 3) of image, class "
              "and box, rows of -1 behind them, and how many there are, int64 (1,).",
       .inputs = {{"boxes", "(batch, n, 4): two opposite corners, floating"},
                  {"scores", "(batch, classes, n), floating"}},
       .attributes = {{"max_output_boxes_per_class", Int, "-1",
                       "how many are kept of each class of an image; all below 0"},
                      {"iou_threshold", Float, "-1.0",
                       "what overlaps a kept box of its class by more than that goes"},
                      {"score_threshold", Float, "-1.0", "only greater scores are looked at"}},
       .num_outputs = [](const AttributeValues&) { return 2; },
       .infer_shape = infer_suppression,
       .infer_type =
           [](TypeInference& t) {
             t.narrow_output(0, int_type(64));
             t.narrow_output(1, int_type(64));
             t.equate_inputs(0, 1);
           },
       .compute =
           [](const AttributeValues& a, Tensors in) {
             return topi::vision::all_class_non_max_suppression(
                 in[0], in[1],
                 {a.integer("max_output_boxes_per_class"), a.real("iou_threshold"),
                  a.real("score_threshold")});
           },
       .gradient = no_gradient},
  };
}

}  // namespace tw::graph
