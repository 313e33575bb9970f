// SPDX-License-Identifier: Apache-2.0
// Non-maximum suppression of each class by itself.
#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "schedule/topi/cumulative.h"
#include "schedule/topi/operator.h"
#include "schedule/topi/sort.h"
#include "schedule/topi/statements.h"
#include "schedule/topi/transform.h"
#include "schedule/topi/vision.h"

namespace tw::topi::vision {
namespace {

constexpr std::string_view kOp = "all_class_non_max_suppression";

// boxes [batch, n, 4] and scores [batch, classes, n]: a row for each class of an image.
struct Classes {
  int64_t batch, classes, boxes;

  Classes(const Tensor& corners, const Tensor& scores) {
    require_rank({kOp, "boxes"}, corners, 3);
    require_rank({kOp, "scores"}, scores, 3);
    require_float({kOp, "boxes"}, corners);
    require_float({kOp, "scores"}, scores);
    require_extent({kOp, "boxes"}, corners, 2, number(4));
    require_extent({kOp, "scores"}, scores, 0, corners.shape()[0]);
    require_extent({kOp, "scores"}, scores, 2, corners.shape()[1]);
    const auto extent = [&](size_t d) {
      const auto known = as_const_int(scores.shape()[d]);
      if (!known) bad_shape({kOp, "scores"}, shape_text(scores.shape()), "constant extents");
      return *known;
    };
    batch = extent(0);
    classes = extent(1);
    boxes = extent(2);
  }
  int64_t rows() const { return batch * classes; }
  // Of a row, of which there is none without classes.
  Expr image(const Expr& row) const { return floor_div(row, divisor()); }
  Expr kind(const Expr& row) const { return floor_mod(row, divisor()); }
  Expr divisor() const { return number(std::max<int64_t>(classes, 1)); }
};

// The sides of a box, whatever corners it was given by.
struct Sides {
  Expr low[2], high[2];

  Sides(const Memory& corners, const Expr& box) {
    for (int64_t k = 0; k < 2; ++k) {
      const Expr a = corners[box * number(4) + number(k)],
                 b = corners[box * number(4) + number(k + 2)];
      low[k] = min(a, b);
      high[k] = max(a, b);
    }
  }
  Expr area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

Expr overlaps(const Sides& a, const Sides& b, double threshold, DType type) {
  const Expr zero = make_zero(type);
  Expr both = make_const_float(type, 1);
  for (int k = 0; k < 2; ++k) {
    both = both * max(zero, min(a.high[k], b.high[k]) - max(a.low[k], b.low[k]));
  }
  const Expr all = a.area() + b.area() - both;
  return both > zero && div(both, all) > make_const_float(type, threshold);
}

// For each row the boxes that are kept, from the greatest score to the least and -1 behind them,
// int32 [rows, n], and how many there are, int32 [rows]. `order` are the boxes by their scores.
std::vector<Tensor> kept_boxes(const Tensor& corners, const Tensor& scores, const Tensor& order,
                               const Classes& g, const ClassSuppression& s) {
  const Expr n = number(g.boxes), none = number(-1), zero = number(0);
  const auto one_row = [&](const Expr& row, const Memories& ins, const Memories& outs) {
    const Memory own = outs[0].from(row * n), sides = ins[0].from(g.image(row) * n * number(4)),
                 score = ins[1].from(row * n), by_score = ins[2].from(row * n);
    const auto try_box = [&](const Memory& state, const Expr& box) {
      const Memory kept = state, alive = state.from(number(1));
      const Stmt look = loop("k", kept[zero], [&](const Expr& k) {
        const Expr goes =
            overlaps(Sides(sides, box), Sides(sides, own[k]), s.iou_threshold, corners.dtype());
        return when(goes, alive.store(zero, zero));
      });
      const Stmt keep = block({own.store(kept[zero], box), kept.add(zero, number(1))});
      return block({alive.store(zero, number(1)), look, when(alive[zero] > zero, keep)});
    };
    return allocate(
        "state", int_type(32), number(2),
        [&](const Memory& state) {
          const Stmt clear = loop("j", n, [&](const Expr& j) { return own.store(j, none); });
          const Stmt walk = loop("j", n, [&](const Expr& j) {
            return let("box", by_score[j], [&](const Expr& box) {
              Expr counts = score[box] > make_const_float(scores.dtype(), s.score_threshold);
              if (s.max_output_boxes_per_class >= 0) {
                counts = counts && state[zero] < number(s.max_output_boxes_per_class);
              }
              return when(counts, try_box(state, box));
            });
          });
          return block({state.store(zero, zero), clear, walk, outs[1].store(row, state[zero])});
        },
        "local");
  };
  return computed_by(
      "class_suppression", {corners, scores, order},
      {{{number(g.rows()), n}, int_type(32)}, {{number(g.rows())}, int_type(32)}},
      [&](const Memories& ins, const Memories& outs) {
        return for_rows(number(g.rows()), g.boxes * 8, [&](const Expr& first, const Expr& count) {
          return loop("r", count, [&](const Expr& r) { return one_row(first + r, ins, outs); });
        });
      });
}

}  // namespace

std::vector<Tensor> all_class_non_max_suppression(const Tensor& boxes, const Tensor& scores,
                                                  const ClassSuppression& s) {
  const Classes g(boxes, scores);
  const Expr rows = number(g.rows()), n = number(g.boxes), one = number(1);
  const Tensor lines = reshape(scores, {rows, n});
  const Tensor order = argsort(lines, {}, 1, false, int_type(32));
  const std::vector<Tensor> kept = kept_boxes(boxes, lines, order, g, s);
  const Tensor ends = cumsum(kept[1], 0, int_type(32));
  // The row that detection p is of: so many rows end before it.
  const IterVar row = te::reduce_axis({number(0), rows}, "row");
  const Tensor row_of = te::compute(
      {rows * n},
      [&](const std::vector<Var>& p) {
        return te::sum(cast(int_type(32), ends(row.var()) <= p[0]), {row});
      },
      "row_of");
  const DType wide = int_type(64);
  const Tensor selected = te::compute(
      {rows * n, number(3)},
      [&](const std::vector<Var>& i) {
        const Expr r = row_of(i[0]), own = min(r, rows - one);
        const Expr place = i[0] - (ends(own) - kept[1](own));
        const Expr box = kept[0](own, max(min(place, n - one), number(0)));
        const Expr value =
            select(i[1] == number(0), g.image(r), select(i[1] == one, g.kind(r), box));
        return if_then_else(r < rows, cast(wide, value), make_const(wide, -1));
      },
      "selected_indices", kInjective);
  const IterVar each = te::reduce_axis({number(0), rows}, "row");
  const Tensor count = te::compute(
      {one},
      [&](const std::vector<Var>&) { return te::sum(cast(wide, kept[1](each.var())), {each}); },
      "num_detections");
  return {selected, count};
}

std::vector<Operator> class_suppression_rows() {
  return {make_operator(
      "topi.vision", "all_class_non_max_suppression",
      [](const Tensor& boxes, const Tensor& scores, int64_t most, double iou_threshold,
         double score_threshold, const std::string& output_format) {
        if (output_format != "onnx") {
          bad_argument({kOp, "output_format"}, fmt::format("'{}'", output_format), "\"onnx\"");
        }
        return all_class_non_max_suppression(boxes, scores, {most, iou_threshold, score_threshold});
      },
      {{"boxes", "[batch, n, 4]: two opposite corners, floating"},
       {"scores", "[batch, classes, n], floating"},
       {"max_output_boxes_per_class", "how many are kept of each class of an image; all below 0",
        int64_t{-1}},
       {"iou_threshold", "what overlaps a kept box of its class by more than that goes", -1.0},
       {"score_threshold", "only boxes with a greater score are looked at", -1.0},
       {"output_format", "\"onnx\"", std::string("onnx")}},
      "The boxes of each class from the greatest score to the least, without those that overlap "
      "one before them: int64 [batch * classes * n, 3] of image, class and box, rows of -1 behind "
      "them, and how many there are, int64 [1]. ONNX NonMaxSuppression gives the first of these "
      "rows alone.")};
}

}  // namespace tw::topi::vision
