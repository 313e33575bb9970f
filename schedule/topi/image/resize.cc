// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/image/resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/broadcast.h"
#include "schedule/topi/elementwise.h"
#include "schedule/topi/operator.h"

namespace tw::topi::image {
namespace {

constexpr std::string_view kOp = "resize";

Expr real(double x) { return make_const_float(float_type(64), x); }
Expr floor_of(const Expr& x) { return tw::call("floor", {x}); }
Expr integer(const Expr& x) { return tw::cast(int_type(32), x); }

bool is_nearest(const Resize& how) {
  return how.method == "nearest" || how.method == "nearest_neighbor";
}

// How one dimension is resized: element i of the result lies at (i + before) * times / by + more of
// the image, and is the sum of `taps` elements from a first one on, each with its weight. Weights
// and positions are stages of their own, computed once for each element of the dimension. They are
// in float64: at the borders of pixels roundings of float32 would choose another one.
class Line {
 public:
  Line(size_t d, int64_t in, int64_t out, const Resize& how)
      : in_(in), out_(out), how_(how), d_(d) {
    const double extent = static_cast<double>(in), result = static_cast<double>(out);
    scale_ = d < how.scales.size() ? how.scales[d] : result / extent;
    by_ = scale_;
    const std::string& mode = how.coordinates;
    if (mode == "half_pixel" || mode == "half_pixel_symmetric") {
      before_ = 0.5;
      more_ = -0.5;
      if (mode == "half_pixel_symmetric") more_ += extent / 2 * (1 - result / (scale_ * extent));
    } else if (mode == "pytorch_half_pixel") {
      before_ = out > 1 ? 0.5 : 0;
      more_ = out > 1 ? -0.5 : 0;
      if (out == 1) times_ = 0;
    } else if (mode == "tf_half_pixel_for_nn") {
      before_ = 0.5;
    } else if (mode == "align_corners") {
      times_ = out > 1 ? extent - 1 : 0;
      // ONNX means the extent before it was rounded.
      const double whole = scale_ * extent;
      const bool is_rounded = std::abs(whole - result) > 1e-9 * result;
      by_ = out > 1 ? (is_rounded ? whole : result) - 1 : 1;
    } else if (mode == "tf_crop_and_resize") {
      const size_t spatial = how.roi.size() / 2;
      const double begin = how.roi[d], end = how.roi[d + spatial];
      times_ = out > 1 ? (end - begin) * (extent - 1) : 0;
      by_ = out > 1 ? result - 1 : 1;
      more_ = (out > 1 ? begin : (begin + end) / 2) * (extent - 1);
    }
    if (is_nearest(how)) {
      taps_ = 1;
      return;
    }
    // Filters of the linear method reach 1 pixel to both sides, of the cubic one 2.
    const int64_t reach = how.method == "linear" ? 1 : 2;
    stretch_ = how.antialias ? std::min(scale_, 1.0) : 1.0;
    from_ = static_cast<int64_t>(std::floor(-static_cast<double>(reach) / stretch_)) + 1;
    taps_ = 2 - 2 * from_;
  }

  bool does_nothing() const {
    return in_ == out_ && scale_ == 1 && how_.coordinates != "tf_half_pixel_for_nn" &&
           how_.coordinates != "tf_crop_and_resize";
  }
  int64_t taps() const { return taps_; }

  // The stages. Weights are of nothing for nearest.
  void compute_tables(DType type) {
    const auto name = [&](const char* what) { return fmt::format("resize_{}{}", what, d_); };
    first_ = te::compute(
        {number(out_)},
        [&](const std::vector<Var>& i) {
          const Expr x = position(i[0]);
          return is_nearest(how_) ? nearest(x) : integer(floor_of(x)) + number(from_);
        },
        name("first"));
    if (is_nearest(how_)) return;
    const Tensor raw = te::compute(
        {number(out_), number(taps_)},
        [&](const std::vector<Var>& i) { return weight(i[0], i[1]); }, name("filter"));
    Tensor whole;
    if (how_.antialias || how_.exclude_outside) {
      const IterVar t = te::reduce_axis({number(0), number(taps_)}, "t");
      whole = te::compute(
          {number(out_)},
          [&](const std::vector<Var>& i) { return te::sum(raw(i[0], t.var()), {t}); },
          name("filter_sum"));
    }
    weights_ = te::compute(
        {number(out_), number(taps_)},
        [&](const std::vector<Var>& i) {
          const Expr w = raw(i[0], i[1]);
          return tw::cast(type, whole.defined() ? div(w, whole(i[0])) : w);
        },
        name("weight"));
  }

  // The element of the image under tap t of element i.
  Expr at(const Expr& i, int64_t t) const {
    return tw::max(tw::min(first_(i) + number(t), number(in_ - 1)), number(0));
  }
  // Undefined: 1.
  Expr weight_of(const Expr& i, int64_t t) const {
    return weights_.defined() ? weights_(i, number(t)) : Expr();
  }
  // Undefined: all are.
  Expr is_inside(const Expr& i) const {
    if (how_.coordinates != "tf_crop_and_resize") return {};
    const Expr x = position(i);
    return real(0) <= x && x <= real(static_cast<double>(in_ - 1));
  }

  // Elements of the result whose taps reach element j of the image lie among `count` from
  // j * out / in + offset on.
  struct Readers {
    int64_t offset, count;
  };
  Readers readers() const {
    std::vector<int64_t> low(static_cast<size_t>(in_), out_), high(static_cast<size_t>(in_), -1);
    for (int64_t i = 0; i < out_; ++i) {
      const double x = (static_cast<double>(i) + before_) * times_ / by_ + more_;
      // One tap more to both sides, for roundings.
      const auto first = static_cast<int64_t>(std::floor(x)) + (is_nearest(how_) ? 0 : from_) - 1;
      for (int64_t t = 0; t < taps_ + 3; ++t) {
        const auto j = static_cast<size_t>(std::clamp<int64_t>(first + t, 0, in_ - 1));
        low[j] = std::min(low[j], i);
        high[j] = std::max(high[j], i);
      }
    }
    Readers r{0, 1};
    for (int64_t pass = 0; pass < 2; ++pass) {
      for (int64_t j = 0; j < in_; ++j) {
        const auto k = static_cast<size_t>(j);
        if (high[k] < 0) continue;
        const int64_t begin = j * out_ / in_;
        if (pass == 0) {
          r.offset = std::min(r.offset, low[k] - begin);
        } else {
          r.count = std::max(r.count, high[k] - begin - r.offset + 1);
        }
      }
    }
    return r;
  }

 private:
  Expr position(const Expr& i) const {
    Expr x = tw::cast(float_type(64), i);
    if (before_ != 0) x = x + real(before_);
    if (times_ != 1) x = x * real(times_);
    if (by_ != 1) x = div(x, real(by_));
    return more_ == 0 ? x : x + real(more_);
  }

  Expr nearest(const Expr& x) const {
    const std::string& how = how_.rounding;
    Expr place = x;
    if (how == "round_prefer_ceil") place = floor_of(x + real(0.5));
    if (how == "round_prefer_floor" || how == "round") place = tw::call("ceil", {x - real(0.5)});
    if (how == "floor") place = floor_of(x);
    if (how == "ceil") place = tw::call("ceil", {x});
    return tw::max(tw::min(integer(place), number(in_ - 1)), number(0));
  }

  // That of tap t before they are made to sum to one.
  Expr weight(const Expr& i, const Expr& t) const {
    const Expr x = position(i);
    const Expr place = floor_of(x) + tw::cast(float_type(64), t) + real(static_cast<double>(from_));
    const Expr distance = tw::call("fabs", {x - place}) * real(stretch_);
    Expr w = real(1) - distance;
    if (how_.method == "cubic") {
      const double a = how_.cubic_alpha;
      const Expr near = ((real(a + 2) * distance - real(a + 3)) * distance) * distance + real(1);
      const Expr far =
          ((real(a) * distance - real(5 * a)) * distance + real(8 * a)) * distance - real(4 * a);
      w = select(distance <= real(1), near, select(distance < real(2), far, real(0)));
    } else {
      w = tw::max(w, real(0));
    }
    if (!how_.exclude_outside) return w;
    const Expr inside = real(0) <= place && place <= real(static_cast<double>(in_ - 1));
    return select(inside, w, real(0));
  }

  int64_t in_, out_;
  const Resize& how_;
  size_t d_;
  double scale_ = 1, before_ = 0, times_ = 1, by_ = 1, more_ = 0, stretch_ = 1;
  int64_t from_ = 0, taps_ = 1;
  Tensor first_, weights_;
};

void check(const Tensor& data, const std::vector<int64_t>& size, const Resize& how) {
  require_images({kOp, "data"}, data, size.size());
  require_word({kOp, "method"}, how.method, {"nearest", "nearest_neighbor", "linear", "cubic"});
  require_word({kOp, "coordinate_transformation_mode"}, how.coordinates,
               {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"});
  require_word({kOp, "rounding_method"}, how.rounding,
               {"round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  if (!how.scales.empty() && how.scales.size() != size.size()) {
    bad_argument({kOp, "scales"}, fmt::format("{} values", how.scales.size()),
                 fmt::format("one for each of {} spatial dimensions", size.size()));
  }
  for (double scale : how.scales) {
    if (!(scale > 0)) bad_argument({kOp, "scales"}, fmt::format("{}", scale), "above 0");
  }
  if (how.coordinates == "tf_crop_and_resize" && how.roi.size() != 2 * size.size()) {
    bad_argument({kOp, "roi"}, fmt::format("{} values", how.roi.size()),
                 fmt::format("where each of {} spatial dimensions begins, and then where each ends",
                             size.size()));
  }
  for (size_t d = 0; d < size.size(); ++d) {
    if (size[d] < 1) bad_argument({kOp, "size"}, fmt::format("{}", size[d]), "at least 1");
    const auto extent = as_const_int(data.shape()[d + 2]);
    if (extent && *extent > 0) continue;
    bad_shape({kOp, "data"}, fmt::format("shape {}", shape_text(data.shape())),
              "constant spatial extents of at least 1");
  }
}

DType type_of_sums(DType type) {
  return type.is_float() ? accumulation_type(type) : float_type(32);
}

Tensor rounded(const Tensor& x, DType type) {
  if (x.dtype() == type) return x;
  return topi::cast(type.is_float() ? x : topi::round(x), type);
}

Tensor resize_line(const Tensor& data, size_t d, Line& line, int64_t out, const Resize& how) {
  std::vector<Expr> shape = data.shape();
  shape[d + 2] = number(out);
  line.compute_tables(data.dtype());
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i);
        Expr sum;
        for (int64_t t = 0; t < line.taps(); ++t) {
          at[d + 2] = line.at(i[d + 2], t);
          const Expr w = line.weight_of(i[d + 2], t);
          const Expr term = w.defined() ? data(at) * w : data(at);
          sum = sum.defined() ? sum + term : term;
        }
        const Expr inside = line.is_inside(i[d + 2]);
        if (!inside.defined()) return sum;
        const Expr value = make_const_float(float_type(64), how.extrapolation_value);
        return select(inside, sum, tw::cast(data.dtype(), value));
      },
      fmt::format("resize{}", d));
}

Tensor spread_line(const Tensor& grad, size_t d, Line& line, int64_t in, int64_t out) {
  std::vector<Expr> shape = grad.shape();
  shape[d + 2] = number(in);
  line.compute_tables(grad.dtype());
  const Line::Readers readers = line.readers();
  const IterVar k = te::reduce_axis({number(0), number(readers.count)}, fmt::format("r{}", d));
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        const Var& j = i[d + 2];
        const Expr reader =
            floor_div(j * number(out), number(in)) + number(readers.offset) + k.var();
        const Expr is_there = number(0) <= reader && reader < number(out);
        const Expr read = tw::max(tw::min(reader, number(out - 1)), number(0));
        std::vector<Expr> at = to_exprs(i);
        at[d + 2] = read;
        Expr weight;
        for (int64_t t = 0; t < line.taps(); ++t) {
          const Expr w = line.weight_of(read, t);
          const Expr one = make_const_float(grad.dtype(), 1);
          const Expr term =
              select(line.at(read, t) == j, w.defined() ? w : one, make_zero(grad.dtype()));
          weight = weight.defined() ? weight + term : term;
        }
        const Expr inside = line.is_inside(read);
        const Expr counts = inside.defined() ? is_there && inside : is_there;
        return te::sum(select(counts, grad(at) * weight, make_zero(grad.dtype())), {k});
      },
      fmt::format("resize_grad{}", d));
}

}  // namespace

Tensor resize(const Tensor& data, const std::vector<int64_t>& size, const Resize& how) {
  check(data, size, how);
  Tensor x = data;
  const DType type = data.dtype();
  if (!is_nearest(how)) x = converted(x, type_of_sums(type));
  for (size_t d = 0; d < size.size(); ++d) {
    Line line(d, *as_const_int(data.shape()[d + 2]), size[d], how);
    if (!line.does_nothing()) x = resize_line(x, d, line, size[d], how);
  }
  return rounded(x, type);
}

Tensor resize_gradient(const Tensor& grad, const Tensor& data, const std::vector<int64_t>& size,
                       const Resize& how) {
  check(data, size, how);
  const DType type = grad.dtype();
  Tensor x = converted(grad, type_of_sums(type));
  for (size_t d = size.size(); d-- > 0;) {
    const int64_t in = *as_const_int(data.shape()[d + 2]);
    Line line(d, in, size[d], how);
    if (!line.does_nothing()) x = spread_line(x, d, line, in, size[d]);
  }
  return rounded(x, type);
}

std::vector<Operator> resize_rows() {
  using Ints = std::vector<int64_t>;
  struct Family {
    int rank;
    std::string_view name, data, layout, layout_text;
  };
  constexpr Family kFamilies[] = {{3, "resize1d", "[N, C, W]", "NCW", "\"NCW\""},
                                  {4, "resize2d", "[N, C, H, W]", "NCHW", "\"NCHW\""},
                                  {5, "resize3d", "[N, C, D, H, W]", "NCDHW", "\"NCDHW\""}};
  std::vector<Operator> rows;
  for (const Family& f : kFamilies) {
    rows.push_back(make_operator(
        "topi.image", f.name,
        [f](const Tensor& data, const Ints& size, const std::string& layout,
            const std::string& method, const std::string& coordinates, const std::string& rounding,
            double alpha, bool exclude, double extrapolation_value) {
          require_layout({f.name, "layout"}, layout, f.layout);
          require_rank({f.name, "data"}, data, f.rank);
          Ints extents = size;
          if (extents.size() == 1) extents.resize(static_cast<size_t>(f.rank) - 2, size[0]);
          if (extents.size() != static_cast<size_t>(f.rank) - 2) {
            bad_argument({f.name, "size"}, fmt::format("{} values", size.size()),
                         "one, or one for each spatial dimension");
          }
          return resize(data, extents,
                        {.method = method,
                         .coordinates = coordinates,
                         .rounding = rounding,
                         .cubic_alpha = alpha,
                         .exclude_outside = exclude,
                         .extrapolation_value = extrapolation_value});
        },
        {{"data", f.data},
         {"size", "extents of the result"},
         {"layout", f.layout_text, std::string(f.layout)},
         {"method", "\"nearest_neighbor\", \"linear\" or \"cubic\"", "linear"},
         {"coordinate_transformation_mode",
          "\"half_pixel\", \"half_pixel_symmetric\", \"pytorch_half_pixel\", \"align_corners\", "
          "\"asymmetric\" or \"tf_half_pixel_for_nn\"",
          "half_pixel"},
         {"rounding_method",
          "of nearest_neighbor: \"round\", \"round_prefer_floor\", \"round_prefer_ceil\", "
          "\"floor\" or \"ceil\"",
          "round"},
         {"bicubic_alpha", "coefficient of the cubic filter", -0.5},
         {"bicubic_exclude", "taps outside of the image count nothing, else as its border", false},
         {"extrapolation_value", "of what lies outside of the image", 0.0}},
        "Images of another size, interpolated along one spatial dimension after the other. "
        "Integers are interpolated as float32 and rounded. ONNX Resize."));
  }
  return rows;
}

}  // namespace tw::topi::image
