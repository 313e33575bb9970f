// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/image/grid_sample.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/elementwise.h"
#include "schedule/topi/operator.h"

namespace tw::topi::image {
namespace {

constexpr std::string_view kSample = "grid_sample", kAffine = "affine_grid";

// One spatial dimension of images, and where a position lies in it.
class Line {
 public:
  Line(DType type, int64_t extent, const GridSample& how)
      : type_(type), extent_(extent), how_(how) {}

  int64_t taps() const { return how_.method == "nearest" ? 1 : cubic() ? 4 : 2; }

  // In pixels. Taps of the cubic filter are brought back into the image one by one.
  Expr position(const Expr& normalized) const {
    const Expr x =
        how_.align_corners
            ? (normalized + real(1)) * real(static_cast<double>(extent_ - 1) / 2)
            : ((normalized + real(1)) * real(static_cast<double>(extent_)) - real(1)) * real(0.5);
    if (how_.method == "nearest") return call("nearbyint", {inside(x)});
    return cubic() ? x : inside(x);
  }
  Expr weight(const Expr& position, const Expr& tap) const {
    if (how_.method == "nearest") return real(1);
    const Expr t = position - call("floor", {position});
    if (!cubic()) return select(tap == number(0), real(1) - t, t);
    return select(tap == number(0), outer(t + real(1)),
                  select(tap == number(1), inner(t),
                         select(tap == number(2), inner(real(1) - t), outer(real(2) - t))));
  }
  // The pixel under a tap; -1 where there is none.
  Expr place(const Expr& position, const Expr& tap) const {
    const Expr first = call("floor", {position}) - real(cubic() ? 1 : 0);
    const Expr at = first + cast(type_, tap);
    const Expr pixel =
        saturating_cast(int_type(32), cubic() ? call("nearbyint", {inside(at)}) : at);
    return select(number(0) <= pixel && pixel < number(extent_), pixel, number(-1));
  }

 private:
  bool cubic() const { return how_.method == "bicubic"; }
  Expr real(double v) const { return make_const_float(type_, v); }
  Expr clipped(const Expr& x) const {
    return min(max(x, real(0)), real(static_cast<double>(extent_ - 1)));
  }
  Expr inside(const Expr& x) const {
    if (how_.padding == "zeros") return x;
    return clipped(how_.padding == "border" ? x : reflected(x));
  }
  // Mirrored about both ends of a span: a wave of triangles.
  Expr reflected(const Expr& x) const {
    const double low = how_.align_corners ? 0 : -0.5;
    const double span = static_cast<double>(how_.align_corners ? extent_ - 1 : extent_);
    if (span == 0) return real(0);
    const Expr from = x - real(low);
    const Expr wave = from - real(2 * span) * call("floor", {from * real(1 / (2 * span))});
    return real(span) - max(wave - real(span), real(span) - wave) + real(low);
  }
  // Keys' cubic convolution, 1981: up to a pixel away, and from there on up to two.
  static constexpr double kA = -0.75;
  Expr inner(const Expr& d) const { return ((real(kA + 2) * d - real(kA + 3)) * d) * d + real(1); }
  Expr outer(const Expr& d) const {
    return ((real(kA) * d - real(5 * kA)) * d + real(8 * kA)) * d - real(4 * kA);
  }

  DType type_;
  int64_t extent_;
  GridSample how_;
};

void check(const Tensor& data, const Tensor& grid, const GridSample& how) {
  require_word({kSample, "method"}, how.method, {"nearest", "bilinear", "bicubic"});
  require_word({kSample, "padding_mode"}, how.padding, {"zeros", "border", "reflection"});
  if (data.rank() != 4 && data.rank() != 5) {
    bad_shape({kSample, "data"}, shape_text(data.shape()), "[n, c, h, w] or [n, c, d, h, w]");
  }
  if (how.method == "bicubic" && data.rank() != 4) {
    bad_argument({kSample, "method"}, "'bicubic' of three dimensions", "nearest, bilinear");
  }
  require_rank({kSample, "grid"}, grid, data.rank());
  require_extent({kSample, "grid"}, grid, 0, data.shape()[0]);
  require_extent({kSample, "grid"}, grid, 1, number(data.rank() - 2));
  require_float({kSample, "data"}, data);
  require_float({kSample, "grid"}, grid);
  for (size_t d = 2; d < data.shape().size(); ++d) {
    if (as_const_int(data.shape()[d]).value_or(0) < 1) {
      bad_shape({kSample, "data"}, shape_text(data.shape()),
                "constant spatial extents of 1 or more");
    }
  }
}

// Of one spatial dimension, for each tap of each position: [n, taps, ...].
struct Taps {
  Tensor weights, places;
  IterVar axis;
};

Taps taps_along(const Tensor& data, const Tensor& grid, size_t d, const GridSample& how) {
  const Line line(accumulation_type(grid.dtype()), *as_const_int(data.shape()[d + 2]), how);
  const size_t last = data.shape().size() - 3;
  std::vector<Expr> shape = grid.shape();
  shape[1] = number(1);
  const Tensor position = te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i);
        at[1] = number(static_cast<int64_t>(last - d));
        return line.position(cast(accumulation_type(grid.dtype()), grid(at)));
      },
      fmt::format("grid_position{}", d), kInjective);
  shape[1] = number(line.taps());
  const auto of_taps = [&](const char* name, auto of) {
    return te::compute(
        shape,
        [&](const std::vector<Var>& i) {
          std::vector<Expr> at = to_exprs(i);
          at[1] = number(0);
          return of(position(at), i[1]);
        },
        fmt::format("{}{}", name, d), kInjective);
  };
  return {of_taps("grid_weight", [&](const Expr& p, const Expr& t) { return line.weight(p, t); }),
          of_taps("grid_place", [&](const Expr& p, const Expr& t) { return line.place(p, t); }),
          te::reduce_axis({number(0), number(line.taps())}, fmt::format("rv{}", d))};
}

// The coordinate of pixel i of so many; of one it is the center.
Expr coordinate(DType type, const Expr& i, int64_t extent, bool align_corners) {
  const auto real = [&](double v) { return make_const_float(type, v); };
  const auto e = static_cast<double>(extent);
  if (!align_corners) return (cast(type, i) * real(2) + real(1 - e)) * real(1 / e);
  if (extent == 1) return real(0);
  return cast(type, i) * real(2 / (e - 1)) - real(1);
}

// Row j of a matrix multiplies the coordinate of the j-th dimension from the last, or 1.
Expr factor_of(DType type, const std::vector<Expr>& place, const std::vector<int64_t>& extents,
               size_t j, bool align_corners) {
  if (j == extents.size()) return make_const_float(type, 1);
  const size_t d = extents.size() - 1 - j;
  return coordinate(type, place[d], extents[d], align_corners);
}

}  // namespace

Tensor grid_sample(const Tensor& data, const Tensor& grid, const GridSample& how) {
  check(data, grid, how);
  const size_t spatial = data.shape().size() - 2;
  std::vector<Taps> taps;
  std::vector<IterVar> axes;
  for (size_t d = 0; d < spatial; ++d) {
    taps.push_back(taps_along(data, grid, d, how));
    axes.push_back(taps.back().axis);
  }
  std::vector<Expr> shape = grid.shape();
  shape[1] = data.shape()[1];
  const DType type = accumulation_type(data.dtype());
  const Tensor sums = te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> from = {i[0], i[1]}, holds;
        Expr weight = make_const_float(accumulation_type(grid.dtype()), 1);
        for (const Taps& t : taps) {
          std::vector<Expr> at = to_exprs(i);
          at[1] = t.axis.var();
          const Expr place = t.places(at);
          weight = weight * t.weights(at);
          holds.push_back(place >= number(0));
          from.push_back(max(place, number(0)));
        }
        return te::sum(if_then_else(all_of(holds), cast(type, weight) * cast(type, data(from)),
                                    make_zero(type)),
                       axes);
      },
      "grid_sample");
  return converted(sums, data.dtype());
}

Tensor affine_grid(const Tensor& data, const std::vector<int64_t>& target_shape,
                   bool align_corners) {
  const size_t spatial = target_shape.size();
  if (spatial != 2 && spatial != 3) {
    bad_argument({kAffine, "target_shape"}, fmt::format("{} extents", spatial), "2 or 3 extents");
  }
  require_rank({kAffine, "data"}, data, 3);
  require_extent({kAffine, "data"}, data, 1, number(static_cast<int64_t>(spatial)));
  require_extent({kAffine, "data"}, data, 2, number(static_cast<int64_t>(spatial) + 1));
  require_float({kAffine, "data"}, data);
  std::vector<Expr> shape = {data.shape()[0], data.shape()[1]};
  for (int64_t e : target_shape) {
    if (e < 0) bad_argument({kAffine, "target_shape"}, fmt::format("{}", e), "0 or more");
    shape.push_back(number(e));
  }
  const DType type = accumulation_type(data.dtype());
  const Tensor grid = te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        const std::vector<Expr> place(i.begin() + 2, i.end());
        Expr result = make_zero(type);
        for (size_t j = 0; j <= spatial; ++j) {
          result = result + cast(type, data(i[0], i[1], number(static_cast<int64_t>(j)))) *
                                factor_of(type, place, target_shape, j, align_corners);
        }
        return cast(data.dtype(), result);
      },
      "affine_grid", kInjective);
  return grid;
}

Tensor affine_grid_grad(const Tensor& grad, bool align_corners) {
  require_float({"affine_grid_grad", "grad"}, grad);
  const size_t spatial = grad.shape().size() - 2;
  std::vector<int64_t> extents;
  std::vector<IterVar> axes;
  std::vector<Expr> place;
  for (size_t d = 0; d < spatial; ++d) {
    const auto extent = as_const_int(grad.shape()[d + 2]);
    if (!extent) {
      bad_shape({"affine_grid_grad", "grad"}, shape_text(grad.shape()), "constant extents");
    }
    extents.push_back(*extent);
    axes.push_back(te::reduce_axis({number(0), number(*extent)}, fmt::format("rv{}", d)));
    place.emplace_back(axes.back().var());
  }
  const DType type = accumulation_type(grad.dtype());
  const Tensor sums = te::compute(
      {grad.shape()[0], grad.shape()[1], number(static_cast<int64_t>(spatial) + 1)},
      [&](const std::vector<Var>& i) {
        std::vector<Expr> from = {i[0], i[1]};
        from.insert(from.end(), place.begin(), place.end());
        Expr factor = factor_of(type, place, extents, spatial, align_corners);
        for (size_t j = spatial; j-- > 0;) {
          factor = select(i[2] == number(static_cast<int64_t>(j)),
                          factor_of(type, place, extents, j, align_corners), factor);
        }
        return te::sum(cast(type, grad(from)) * factor, axes);
      },
      "affine_grid_grad");
  return converted(sums, grad.dtype());
}

std::vector<Operator> grid_sample_rows() {
  return {
      make_operator(
          "topi.image", "grid_sample",
          [](const Tensor& data, const Tensor& grid, const std::string& method,
             const std::string& layout, const std::string& padding_mode, bool align_corners) {
            require_layout({kSample, "layout"}, layout, data.rank() == 5 ? "NCDHW" : "NCHW");
            return grid_sample(data, grid, {method, padding_mode, align_corners});
          },
          {{"data", "[n, c, h, w] or [n, c, d, h, w], floating"},
           {"grid",
            "[n, 2, ...] or [n, 3, ...]: positions from -1 to 1, those of the last "
            "dimension first"},
           {"method", "\"nearest\", \"bilinear\" or \"bicubic\"", "bilinear"},
           {"layout", "\"NCHW\" or \"NCDHW\"", "NCHW"},
           {"padding_mode", "what lies outside of images: \"zeros\", \"border\" or \"reflection\"",
            "zeros"},
           {"align_corners", "whether -1 and 1 are centers of pixels, and not their edges", true}},
          "Images at the positions of a grid: [n, c, ...] with the spatial extents of grid. ONNX "
          "GridSample, whose grid has positions as its last dimension."),
      make_operator(
          "topi.image", "affine_grid",
          [](const Tensor& data, const std::vector<int64_t>& target_shape, bool align_corners) {
            return affine_grid(data, target_shape, align_corners);
          },
          {{"data", "[n, 2, 3] or [n, 3, 4]: matrices, floating"},
           {"target_shape", "extents (h, w) or (d, h, w) of images"},
           {"align_corners", "whether -1 and 1 are centers of pixels, and not their edges", true}},
          "The positions of pixels of images, moved by matrices: a grid for grid_sample. ONNX "
          "AffineGrid.")};
}

}  // namespace tw::topi::image
