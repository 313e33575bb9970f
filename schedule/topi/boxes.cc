// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "ir/expr.h"
#include "runtime/error.h"
#include "schedule/topi/operator.h"
#include "schedule/topi/sort.h"
#include "schedule/topi/statements.h"
#include "schedule/topi/vision.h"

namespace tw::topi::vision {
namespace {

constexpr int64_t kLanes = 16;

// Boxes [batch, n, columns].
struct Boxes {
  Expr batch;
  int64_t count, columns;

  Boxes(std::string_view op, const Tensor& data) {
    const Place place{op, "data"};
    require_rank(place, data, 3);
    require_float(place, data);
    const std::vector<Expr> shape = data.shape();
    batch = shape[0];
    const auto n = as_const_int(shape[1]), width = as_const_int(shape[2]);
    if (!n || !width) {
      bad_shape(place, fmt::format("shape {}", shape_text(shape)),
                "constant numbers of boxes and of their columns");
    }
    count = *n;
    columns = *width;
  }
  void require_column(const Place& place, int64_t column, bool may_lack) const {
    if ((may_lack && column < 0) || (column >= 0 && column < columns)) return;
    bad_argument(place, fmt::format("column {} of {}", column, columns),
                 may_lack ? "a column, or -1 for none" : "a column");
  }
  Expr element(const Expr& image, const Expr& box, int64_t column) const {
    return (image * number(count) + box) * number(columns) + number(column);
  }
};

void require_counts(const Place& place, const Tensor& counts, const Expr& batch) {
  require_rank(place, counts, 1);
  require_extent(place, counts, 0, batch);
  if (counts.dtype() != int_type(32)) {
    raise({.code = ErrorCode::TypeMismatch,
           .what =
               fmt::format("{}: {} is of {}", place.op, place.argument, to_string(counts.dtype())),
           .legal = "int32"});
  }
}

// The rows that `source` names; -1 elsewhere.
Tensor rows_of(const Tensor& data, const Tensor& source, const std::string& name) {
  return te::compute(
      data.shape(),
      [&](const std::vector<Var>& i) {
        const Expr from = source(i[0], i[1]);
        return if_then_else(from >= number(0), data(i[0], from, i[2]),
                            make_const_float(data.dtype(), -1));
      },
      name, kInjective);
}

// A number that statements count up.
Stmt with_counter(const std::string& name, const std::function<Stmt(const Memory&)>& body) {
  return allocate(
      name, int_type(32), number(1),
      [&](const Memory& counter) {
        return block({counter.store(number(0), number(0)), body(counter)});
      },
      "local");
}

// Candidates from the greatest score to the least, a vector of each number, and whether each is
// still there.
struct Candidates {
  Memory left, top, right, bottom, kind, alive;
};

Stmt with_candidates(DType type, int64_t size, const std::function<Stmt(const Candidates&)>& body) {
  return allocate("boxes", type, number(5 * size), [&](const Memory& m) {
    return allocate("alive", int_type(32), number(size), [&](const Memory& alive) {
      const auto part = [&](int64_t k) { return m.from(number(k * size)); };
      return body({part(0), part(1), part(2), part(3), part(4), alive});
    });
  });
}

// Takes away what overlaps candidate j; those up to j are not asked for again. In vectors, for most
// boxes are looked at this way.
Stmt suppress(const Candidates& c, const Expr& j, const Expr& count, const Suppression& s) {
  const DType type = c.left.dtype();
  const Expr zero = make_zero(type), lanes = number(kLanes);
  const auto one_by_one = [&](const Expr& l, const Expr& t, const Expr& r, const Expr& b,
                              const Expr& kind) {
    const auto vector = [&](const Expr& first) {
      return loop(
          "v", lanes,
          [&](const Expr& v) {
            const Expr i = first + v;
            const Expr width = max(zero, min(r, c.right[i]) - max(l, c.left[i]));
            const Expr height = max(zero, min(b, c.bottom[i]) - max(t, c.top[i]));
            const Expr both = height * width;
            const Expr all =
                (r - l) * (b - t) + (c.right[i] - c.left[i]) * (c.bottom[i] - c.top[i]) - both;
            const Expr share = select(all <= zero, zero, div(both, all));
            Expr goes = share >= make_const_float(type, s.iou_threshold);
            if (!s.force_suppress && s.id_index >= 0) goes = goes && c.kind[i] == kind;
            return c.alive.store(i, select(goes, number(0), c.alive[i]));
          },
          ForKind::Vectorized);
    };
    const Expr first = floor_div(j, lanes);
    return loop("w", floor_div(count + number(kLanes - 1), lanes) - first,
                [&](const Expr& w) { return vector((first + w) * lanes); });
  };
  return let("l", c.left[j], [&](const Expr& l) {
    return let("t", c.top[j], [&](const Expr& t) {
      return let("r", c.right[j], [&](const Expr& r) {
        return let("b", c.bottom[j], [&](const Expr& b) {
          return let("kind", c.kind[j],
                     [&](const Expr& kind) { return one_by_one(l, t, r, b, kind); });
        });
      });
    });
  });
}

// What is kept moves to the first rows; `kept` counts it.
Stmt compact(const Memory& source, const Memory& kept, int64_t count, bool moves) {
  return loop("j", number(count), [&](const Expr& j) {
    return let("from", source[j], [&](const Expr& from) {
      const Stmt one = kept.add(number(0), number(1));
      const Stmt counted =
          when(from >= number(0), moves ? block({source.store(kept[number(0)], from), one}) : one);
      return moves ? block({source.store(j, number(-1)), counted}) : counted;
    });
  });
}

// One image: `order` are its boxes from the greatest score to the least, of which `valid` are any.
Stmt suppress_image(const Boxes& boxes, const Suppression& s, const Memory& data, const Expr& image,
                    const Memory& order, const Expr& valid, const Memory& source) {
  if (!(s.iou_threshold > 0)) {
    return loop("j", valid, [&](const Expr& j) { return source.store(j, j); });
  }
  const DType type = data.dtype();
  const int64_t size = (boxes.count + kLanes - 1) / kLanes * kLanes;
  const Expr looked_at = s.top_k > 0 ? min(valid, number(s.top_k)) : valid;
  const auto value = [&](const Expr& box, int64_t column) {
    return data[boxes.element(image, box, column)];
  };
  const auto fetch = [&](const Candidates& c, const Expr& j) {
    return let("box", order[j], [&](const Expr& box) {
      const auto at = [&](int64_t k) { return value(box, s.coord_start + k); };
      return block({c.left.store(j, min(at(0), at(2))), c.top.store(j, min(at(1), at(3))),
                    c.right.store(j, max(at(0), at(2))), c.bottom.store(j, max(at(1), at(3))),
                    c.kind.store(j, s.id_index < 0 ? make_zero(type) : value(box, s.id_index)),
                    c.alive.store(j, number(1))});
    });
  };
  const auto nothing = [&](const Candidates& c, const Expr& j) {
    std::vector<Stmt> zeros = {c.alive.store(j, number(0))};
    for (const Memory& m : {c.left, c.top, c.right, c.bottom, c.kind})
      zeros.push_back(m.store(j, make_zero(type)));
    return block(zeros);
  };
  return with_candidates(type, size, [&](const Candidates& c) {
    const Stmt fill = loop("j", number(size), [&](const Expr& j) {
      return when(j < looked_at, fetch(c, j), nothing(c, j));
    });
    const Stmt keep = with_counter("kept", [&](const Memory& kept) {
      return loop("j", looked_at, [&](const Expr& j) {
        return let("box", order[j], [&](const Expr& box) {
          const Stmt take = source.store(j, box);
          Stmt effect = suppress(c, j, looked_at, s);
          // What has no class suppresses nothing.
          if (s.id_index >= 0) effect = when(c.kind[j] >= make_zero(type), effect);
          // What has no score is kept, and counts for nothing.
          const Stmt decide = when(
              value(box, s.score_index) > make_zero(type),
              when(c.alive[j] > number(0), block({take, kept.add(number(0), number(1)), effect})),
              take);
          if (s.max_output_size < 0) return decide;
          return when(kept[number(0)] != number(s.max_output_size), decide);
        });
      });
    });
    return block({fill, keep});
  });
}

}  // namespace

std::vector<Tensor> get_valid_counts(const Tensor& data, double score_threshold, int64_t id_index,
                                     int64_t score_index) {
  const Boxes boxes("get_valid_counts", data);
  boxes.require_column({"get_valid_counts", "id_index"}, id_index, true);
  boxes.require_column({"get_valid_counts", "score_index"}, score_index, false);
  const auto image = [&](const Expr& b, const Memory& in, const Memory& counts,
                         const Memory& places) {
    const Memory own = places.from(b * number(boxes.count));
    return with_counter("valid", [&](const Memory& valid) {
      const Stmt none =
          loop("j", number(boxes.count), [&](const Expr& j) { return own.store(j, number(-1)); });
      const Stmt find = loop("j", number(boxes.count), [&](const Expr& j) {
        Expr holds =
            in[boxes.element(b, j, score_index)] > make_const_float(data.dtype(), score_threshold);
        if (id_index >= 0)
          holds = holds && in[boxes.element(b, j, id_index)] >= make_zero(data.dtype());
        return when(holds,
                    block({own.store(valid[number(0)], j), valid.add(number(0), number(1))}));
      });
      return block({none, find, counts.store(b, valid[number(0)])});
    });
  };
  const std::vector<Tensor> found = computed_by(
      "valid_counts", {data},
      {{{boxes.batch}, int_type(32)}, {{boxes.batch, number(boxes.count)}, int_type(32)}},
      [&](const Memories& ins, const Memories& outs) {
        return for_rows(boxes.batch, boxes.count, [&](const Expr& first, const Expr& count) {
          return loop("b", count,
                      [&](const Expr& b) { return image(first + b, ins[0], outs[0], outs[1]); });
        });
      });
  return {found[0], rows_of(data, found[1], "valid_boxes"), found[1]};
}

std::vector<Tensor> suppression_source(const Tensor& data, const Tensor& valid_count,
                                       const Suppression& s) {
  constexpr std::string_view kOp = "non_max_suppression";
  const Boxes boxes(kOp, data);
  require_counts({kOp, "valid_count"}, valid_count, boxes.batch);
  boxes.require_column({kOp, "coord_start"}, s.coord_start, false);
  boxes.require_column({kOp, "coord_start"}, s.coord_start + 3, false);
  boxes.require_column({kOp, "score_index"}, s.score_index, false);
  boxes.require_column({kOp, "id_index"}, s.id_index, true);
  const Tensor scores = te::compute(
      {boxes.batch, number(boxes.count)},
      [&](const std::vector<Var>& i) { return data(i[0], i[1], number(s.score_index)); }, "scores",
      kInjective);
  const Tensor order = argsort(scores, valid_count, 1, false, int_type(32));
  const auto image = [&](const Expr& b, const Memories& ins, const Memories& outs) {
    const Memory source = outs[0].from(b * number(boxes.count));
    const Stmt none =
        loop("j", number(boxes.count), [&](const Expr& j) { return source.store(j, number(-1)); });
    const Expr valid = max(min(ins[2][b], number(boxes.count)), number(0));
    const Stmt found = let("valid", valid, [&](const Expr& v) {
      return suppress_image(boxes, s, ins[0], b, ins[1].from(b * number(boxes.count)), v, source);
    });
    const Stmt counted = with_counter("rows", [&](const Memory& kept) {
      return block({compact(source, kept, boxes.count, s.invalid_to_bottom),
                    outs[1].store(b, kept[number(0)])});
    });
    return block({none, found, counted});
  };
  return computed_by("nms_source", {data, order, valid_count},
                     {{{boxes.batch, number(boxes.count)}, int_type(32)},
                      {{boxes.batch, number(1)}, int_type(32)}},
                     [&](const Memories& ins, const Memories& outs) {
                       return for_rows(boxes.batch, boxes.count * boxes.count / kLanes,
                                       [&](const Expr& first, const Expr& count) {
                                         return loop("b", count, [&](const Expr& b) {
                                           return image(first + b, ins, outs);
                                         });
                                       });
                     });
}

Tensor non_max_suppression(const Tensor& data, const Tensor& valid_count, const Suppression& s) {
  return rows_of(data, suppression_source(data, valid_count, s)[0], "nms");
}

Tensor multibox_prior(const Tensor& data, const std::vector<double>& sizes,
                      const std::vector<double>& ratios, const std::vector<double>& steps,
                      const std::vector<double>& offsets, bool clip) {
  constexpr std::string_view kOp = "multibox_prior";
  require_rank({kOp, "data"}, data, 4);
  require_float({kOp, "data"}, data);
  if (sizes.empty()) bad_argument({kOp, "sizes"}, "none", "one or more");
  if (ratios.empty()) bad_argument({kOp, "ratios"}, "none", "one or more");
  for (double ratio : ratios) {
    if (!(ratio > 0)) bad_argument({kOp, "ratios"}, fmt::format("{}", ratio), "above 0");
  }
  if (steps.size() != 2) bad_argument({kOp, "steps"}, fmt::format("{} values", steps.size()), "2");
  if (offsets.size() != 2)
    bad_argument({kOp, "offsets"}, fmt::format("{} values", offsets.size()), "2");
  const auto rows = as_const_int(data.shape()[2]), columns = as_const_int(data.shape()[3]);
  if (!rows || !columns)
    bad_shape({kOp, "data"}, shape_text(data.shape()), "constant rows and columns");
  const DType type = data.dtype();
  const auto real = [&](double v) { return make_const_float(type, v); };
  // Half the width and height of each box around a pixel.
  std::vector<std::pair<double, double>> halves;
  const double aspect = static_cast<double>(*rows) / static_cast<double>(*columns);
  for (double size : sizes) halves.emplace_back(size * aspect / 2, size / 2);
  for (size_t k = 1; k < ratios.size(); ++k) {
    const double root = std::sqrt(ratios[k]);
    halves.emplace_back(sizes[0] * aspect * root / 2, sizes[0] / root / 2);
  }
  const auto boxes = static_cast<int64_t>(halves.size());
  const double row_step = steps[0] > 0 ? steps[0] : 1.0 / static_cast<double>(*rows);
  const double column_step = steps[1] > 0 ? steps[1] : 1.0 / static_cast<double>(*columns);
  return te::compute(
      {number(1), number(*rows * *columns * boxes), number(4)},
      [&](const std::vector<Var>& i) {
        const Expr pixel = floor_div(i[1], number(boxes)), box = floor_mod(i[1], number(boxes));
        const Expr is_row = floor_mod(i[2], number(2)) == number(1);
        Expr half = real(0);
        for (int64_t k = boxes; k-- > 0;) {
          const auto& [w, h] = halves[static_cast<size_t>(k)];
          const Expr own = select(is_row, real(h), real(w));
          half = k + 1 == boxes ? own : select(box == number(k), own, half);
        }
        const Expr row = cast(type, floor_div(pixel, number(*columns))),
                   column = cast(type, floor_mod(pixel, number(*columns)));
        const Expr center = select(is_row, (row + real(offsets[0])) * real(row_step),
                                   (column + real(offsets[1])) * real(column_step));
        const Expr side = select(i[2] < number(2), center - half, center + half);
        return clip ? max(min(side, real(1)), real(0)) : side;
      },
      "multibox_prior", kInjective);
}

std::vector<Tensor> multibox_source(const Tensor& cls_prob, double threshold) {
  constexpr std::string_view kOp = "multibox_transform_loc";
  const Place place{kOp, "cls_prob"};
  require_rank(place, cls_prob, 3);
  require_float(place, cls_prob);
  const DType type = cls_prob.dtype();
  const std::vector<Expr> shape = cls_prob.shape();
  const auto classes = as_const_int(shape[1]), anchors = as_const_int(shape[2]);
  if (!classes || !anchors)
    bad_shape(place, shape_text(shape), "constant numbers of classes and anchors");
  const int64_t n = *anchors;
  const auto image = [&](const Expr& b, const Memory& in, const Memories& outs, const Memory& best,
                         const Memory& kinds) {
    const Memory source = outs[0].from(b * number(n)), kind = outs[1].from(b * number(n));
    const auto all = [&](const StatementOf& f) { return loop("j", number(n), f); };
    const Stmt begin = all([&](const Expr& j) {
      return block({best.store(j, make_const_float(type, -1)), kinds.store(j, number(0)),
                    source.store(j, number(-1)), kind.store(j, make_const_float(type, -1))});
    });
    const Stmt greatest = loop("k", number(std::max<int64_t>(*classes - 1, 0)), [&](const Expr& k) {
      return all([&](const Expr& j) {
        const Expr row = b * number(*classes) + k + number(1);
        return let("p", in[row * number(n) + j], [&](const Expr& p) {
          return let("was", best[j], [&](const Expr& was) {
            return block({kinds.store(j, select(p > was, k + number(1), kinds[j])),
                          best.store(j, max(p, was))});
          });
        });
      });
    });
    return with_counter("valid", [&](const Memory& valid) {
      const Stmt found = all([&](const Expr& j) {
        const Expr counts = kinds[j] > number(0) && best[j] >= make_const_float(type, threshold);
        return when(counts, block({source.store(valid[number(0)], j),
                                   kind.store(valid[number(0)], cast(type, kinds[j] - number(1))),
                                   valid.add(number(0), number(1))}));
      });
      return block({begin, greatest, found, outs[2].store(b, valid[number(0)])});
    });
  };
  return computed_by(
      "multibox_source", {cls_prob},
      {{{shape[0], number(n)}, int_type(32)},
       {{shape[0], number(n)}, type},
       {{shape[0]}, int_type(32)}},
      [&](const Memories& ins, const Memories& outs) {
        return for_rows(shape[0], n * *classes, [&](const Expr& first, const Expr& count) {
          return allocate("best", type, number(std::max<int64_t>(n, 1)), [&](const Memory& best) {
            return allocate("kinds", int_type(32), number(std::max<int64_t>(n, 1)),
                            [&](const Memory& kinds) {
                              return loop("b", count, [&](const Expr& b) {
                                return image(first + b, ins[0], outs, best, kinds);
                              });
                            });
          });
        });
      });
}

std::vector<Tensor> multibox_transform_loc(const Tensor& cls_prob, const Tensor& loc_pred,
                                           const Tensor& anchor, bool clip, double threshold,
                                           const std::vector<double>& variances) {
  constexpr std::string_view kOp = "multibox_transform_loc";
  const std::vector<Tensor> found = multibox_source(cls_prob, threshold);
  const std::vector<Expr> shape = cls_prob.shape();
  require_rank({kOp, "loc_pred"}, loc_pred, 2);
  require_extent({kOp, "loc_pred"}, loc_pred, 0, shape[0]);
  require_extent({kOp, "loc_pred"}, loc_pred, 1, shape[2] * number(4));
  require_rank({kOp, "anchor"}, anchor, 3);
  require_extent({kOp, "anchor"}, anchor, 0, number(1));
  require_extent({kOp, "anchor"}, anchor, 1, shape[2]);
  require_extent({kOp, "anchor"}, anchor, 2, number(4));
  if (variances.size() != 4)
    bad_argument({kOp, "variances"}, fmt::format("{} values", variances.size()), "4");
  const DType type = cls_prob.dtype();
  const auto real = [&](double v) { return make_const_float(type, v); };
  const auto classes = *as_const_int(shape[1]);
  const auto k = te::reduce_axis({number(0), number(std::max<int64_t>(classes - 1, 0))}, "k");
  const Tensor score = te::compute(
      {shape[0], shape[2]},
      [&](const std::vector<Var>& i) {
        return te::max(cls_prob(i[0], k.var() + number(1), i[1]), {k});
      },
      "score", kReduction);
  // A side of the box of anchor j: the center and half the extent along one direction.
  const auto side = [&](const Expr& b, const Expr& j, int64_t along, bool last) {
    const Expr low = anchor(number(0), j, number(along)),
               high = anchor(number(0), j, number(along + 2));
    const Expr extent = high - low;
    const auto loc = [&](int64_t at) { return loc_pred(b, j * number(4) + number(at)); };
    const auto variance = [&](int64_t at) { return real(variances[static_cast<size_t>(at)]); };
    const Expr center = loc(along) * variance(along) * extent + (low + high) * real(0.5);
    const Expr half = call("exp", {loc(along + 2) * variance(along + 2)}) * extent * real(0.5);
    const Expr at = last ? center + half : center - half;
    return clip ? max(min(at, real(1)), real(0)) : at;
  };
  const Tensor boxes = te::compute(
      {shape[0], shape[2], number(6)},
      [&](const std::vector<Var>& i) {
        const Expr j = found[0](i[0], i[1]);
        Expr value = side(i[0], j, 1, true);
        for (const auto& [column, along, last] :
             {std::tuple{4, 0, true}, std::tuple{3, 1, false}, std::tuple{2, 0, false}}) {
          value = if_then_else(i[2] == number(column), side(i[0], j, along, last), value);
        }
        value = if_then_else(i[2] == number(1), score(i[0], j), value);
        value = if_then_else(i[2] == number(0), found[1](i[0], i[1]), value);
        return if_then_else(j >= number(0), value, real(-1));
      },
      "multibox_boxes", kInjective);
  return {boxes, found[2]};
}

std::vector<Operator> boxes_rows() {
  const ParameterText boxes{"data", "[batch, n, columns], floating"},
      id{"id_index", "the column of the class, or -1", int64_t{0}},
      score{"score_index", "the column of the score", int64_t{1}};
  return {
      make_operator(
          "topi.vision", "get_valid_counts",
          [](const Tensor& data, double threshold, int64_t id_index, int64_t score_index) {
            return get_valid_counts(data, threshold, id_index, score_index);
          },
          {boxes, {"score_threshold", "scores above it count"}, id, score},
          "How many boxes count, int32 [batch]; those, and rows of -1 behind them; and their "
          "places, int32 [batch, n]."),
      make_operator(
          "topi.vision", "non_max_suppression",
          [](const Tensor& data, const Tensor& valid, const std::optional<Tensor>& indices,
             int64_t most, double iou, bool force, int64_t top_k, int64_t coord, int64_t score_at,
             int64_t id_at, bool return_indices, bool to_bottom) -> Result {
            const Suppression s{.max_output_size = most,
                                .iou_threshold = iou,
                                .force_suppress = force,
                                .top_k = top_k,
                                .coord_start = coord,
                                .score_index = score_at,
                                .id_index = id_at,
                                .invalid_to_bottom = return_indices || to_bottom};
            if (!return_indices) return non_max_suppression(data, valid, s);
            std::vector<Tensor> found = suppression_source(data, valid, s);
            if (!indices) return found;
            const Tensor named = te::compute(
                found[0].shape(),
                [&](const std::vector<Var>& i) {
                  const Expr from = found[0](i[0], i[1]);
                  return if_then_else(from >= number(0), cast(int_type(32), (*indices)(i[0], from)),
                                      number(-1));
                },
                "box_indices", kInjective);
            return std::vector{named, found[1]};
          },
          {boxes,
           {"valid_count", "int32 [batch]: how many boxes of each image count, the first"},
           {"indices",
            "int32 [batch, n]: what boxes are called where indices are returned; None: "
            "their places",
            Value()},
           {"max_output_size", "how many are kept; all where below 0", int64_t{-1}},
           {"iou_threshold", "what overlaps as much goes; nothing does where it is not above 0",
            0.5},
           {"force_suppress", "boxes of other classes go too", false},
           {"top_k", "how many of the greatest scores are looked at; all where below 1",
            int64_t{-1}},
           {"coord_start", "the first of four columns: left, top, right, bottom", int64_t{2}},
           score,
           id,
           {"return_indices", "indices [batch, n], -1 behind them, and how many, [batch, 1]", true},
           {"invalid_to_bottom", "what is kept stands in the first rows", false}},
          "Boxes from the greatest score to the least without those that overlap one before them; "
          "rows of others are -1."),
      make_operator(
          "topi.vision.ssd", "multibox_prior",
          [](const Tensor& data, const std::vector<double>& sizes,
             const std::vector<double>& ratios, const std::vector<double>& steps,
             const std::vector<double>& offsets,
             bool clip) { return multibox_prior(data, sizes, ratios, steps, offsets, clip); },
          {{"data", "[n, c, h, w], floating; its shape and type matter"},
           {"sizes", "of boxes, in parts of the image", std::vector<double>{1}},
           {"ratios", "of width to height; the first goes with all sizes, others with the first",
            std::vector<double>{1}},
           {"steps", "from one pixel to the next, (vertical, horizontal); below 0: 1 / extent",
            std::vector<double>{-1, -1}},
           {"offsets", "of centers in pixels", std::vector<double>{0.5, 0.5}},
           {"clip", "to between 0 and 1", false}},
          "Anchors around pixels, [1, h * w * (sizes + ratios - 1), 4]. SSD, Liu et al. 2016."),
      make_operator(
          "topi.vision.ssd", "multibox_transform_loc",
          [](const Tensor& cls_prob, const Tensor& loc_pred, const Tensor& anchor, bool clip,
             double threshold, const std::vector<double>& variances) {
            return multibox_transform_loc(cls_prob, loc_pred, anchor, clip, threshold, variances);
          },
          {{"cls_prob", "[batch, classes, n], floating; class 0 is the background"},
           {"loc_pred", "[batch, n * 4]"},
           {"anchor", "[1, n, 4]"},
           {"clip", "boxes to between 0 and 1", true},
           {"threshold", "probabilities below it are background", 0.01},
           {"variances", "four factors of loc_pred", std::vector<double>{0.1, 0.1, 0.2, 0.2}}},
          "Boxes [batch, n, 6] of the anchors that show something, rows of -1 behind them, and how "
          "many there are, int32 [batch].")};
}

}  // namespace tw::topi::vision
