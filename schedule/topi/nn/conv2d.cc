// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/conv2d.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/topi/nn/pad.h"

namespace tw::topi::nn {
namespace {

// Extent `value` divided into groups; BadShape when it is known not to divide.
Expr per_group(const Place& place, const Expr& value, int64_t groups) {
  const auto constant = as_const_int(value);
  if (constant && *constant % groups != 0) {
    bad_shape(place, fmt::format("{} channels in {} groups", *constant, groups),
              "a number of channels that the groups divide");
  }
  return floor_div(value, make_const(value.dtype(), groups));
}

IterVar reduce_axis(const Expr& extent, const char* name) {
  return te::reduce_axis({make_zero(extent.dtype()), extent}, name);
}

// A kernel at all its positions over an image; rows and columns are dimensions 2 and 3 of both.
class Windows {
 public:
  // Raises what conv2d.h says, in the name of `op`.
  Windows(std::string_view op, const Tensor& data, const Tensor& weight,
          const std::vector<int64_t>& strides, const std::vector<int64_t>& padding,
          const std::vector<int64_t>& dilation)
      : stride_(normalize_pair({op, "strides"}, strides, 1)),
        spread_(normalize_pair({op, "dilation"}, dilation, 1)),
        padded_(data) {
    const Padding border = normalize_padding({op, "padding"}, padding);
    const std::vector<Expr> in = data.shape(), kernel = weight.shape();
    height_ = window_positions(in[2], kernel[2], stride_.h, border.top + border.bottom, spread_.h);
    width_ = window_positions(in[3], kernel[3], stride_.w, border.left + border.right, spread_.w);
    for (const Expr& extent : {height_, width_}) {
      const auto constant = as_const_int(extent);
      if (!constant || *constant > 0) continue;
      bad_shape({op, "data"},
                fmt::format("a window of {} over shape {}", shape_text(kernel), shape_text(in)),
                "a kernel no larger than the padded data");
    }
    if (!border.any()) return;
    std::vector<Expr> before(in.size(), 0), after(in.size(), 0);
    before[2] = static_cast<int>(border.top);
    before[3] = static_cast<int>(border.left);
    after[2] = static_cast<int>(border.bottom);
    after[3] = static_cast<int>(border.right);
    padded_ = pad(data, before, after, {}, "pad_temp");
  }

  const Tensor& padded() const { return padded_; }
  const Expr& height() const { return height_; }
  const Expr& width() const { return width_; }
  // What the tap ry, or rx, of the kernel sees at position y, or x.
  Expr row(const Var& y, const IterVar& ry) const { return at(y, stride_.h, ry, spread_.h); }
  Expr column(const Var& x, const IterVar& rx) const { return at(x, stride_.w, rx, spread_.w); }

 private:
  static Expr at(const Var& position, int64_t step, const IterVar& tap, int64_t distance) {
    return position * make_const(position.dtype(), step) +
           tap.var() * make_const(tap.var().dtype(), distance);
  }

  Pair stride_, spread_;
  Tensor padded_;
  Expr height_, width_;
};

}  // namespace

Tensor conv2d_nchw(const Tensor& data, const Tensor& weight, const std::vector<int64_t>& strides,
                   const std::vector<int64_t>& padding, const std::vector<int64_t>& dilation,
                   int64_t groups, std::optional<DType> out_type) {
  constexpr std::string_view kOp = "conv2d_nchw";
  require_rank({kOp, "data"}, data, 4);
  require_rank({kOp, "weight"}, weight, 4);
  if (groups < 1) bad_argument({kOp, "groups"}, fmt::format("{}", groups), "at least 1");
  const std::vector<Expr> in = data.shape(), kernel = weight.shape();
  const Expr group_channels = per_group({kOp, "data"}, in[1], groups);
  const Expr group_filters = per_group({kOp, "weight"}, kernel[0], groups);
  require_extent({kOp, "weight"}, weight, 1, group_channels);
  const Windows windows(kOp, data, weight, strides, padding, dilation);

  const DType type = out_type.value_or(data.dtype());
  const IterVar rc = reduce_axis(group_channels, "rc"), ry = reduce_axis(kernel[2], "ry"),
                rx = reduce_axis(kernel[3], "rx");
  return te::compute(
      {in[0], kernel[0], windows.height(), windows.width()},
      [&](const std::vector<Var>& i) {
        const Var &nn = i[0], &ff = i[1], &yy = i[2], &xx = i[3];
        const Expr channel =
            groups == 1 ? Expr(rc.var()) : floor_div(ff, group_filters) * group_channels + rc.var();
        const Expr element =
            windows.padded()(nn, channel, windows.row(yy, ry), windows.column(xx, rx));
        const Expr tap = weight(ff, rc.var(), ry.var(), rx.var());
        return te::sum(tw::cast(type, element) * tw::cast(type, tap), {rc, ry, rx});
      },
      "compute", groups == 1 ? "conv2d_nchw" : "group_conv2d_nchw", {}, {"nn", "ff", "yy", "xx"});
}

Tensor conv2d_nchwc(const Tensor& data, const Tensor& weight, const std::vector<int64_t>& strides,
                    const std::vector<int64_t>& padding, const std::vector<int64_t>& dilation,
                    std::optional<DType> out_type) {
  constexpr std::string_view kOp = "conv2d_NCHWc";
  require_rank({kOp, "data"}, data, 5);
  require_rank({kOp, "weight"}, weight, 6);
  const std::vector<Expr> in = data.shape(), kernel = weight.shape();
  require_extent({kOp, "weight"}, weight, 1, in[1]);
  require_extent({kOp, "weight"}, weight, 4, in[4]);
  const Windows windows(kOp, data, weight, strides, padding, dilation);

  const DType type = out_type.value_or(data.dtype());
  const IterVar rc = reduce_axis(in[1], "rc"), ry = reduce_axis(kernel[2], "ry"),
                rx = reduce_axis(kernel[3], "rx"), rb = reduce_axis(in[4], "rb");
  return te::compute(
      {in[0], kernel[0], windows.height(), windows.width(), kernel[5]},
      [&](const std::vector<Var>& i) {
        const Var &nn = i[0], &ff = i[1], &yy = i[2], &xx = i[3], &fb = i[4];
        const Expr element =
            windows.padded()(nn, rc.var(), windows.row(yy, ry), windows.column(xx, rx), rb.var());
        const Expr tap = weight(ff, rc.var(), ry.var(), rx.var(), rb.var(), fb);
        return te::sum(tw::cast(type, element) * tw::cast(type, tap), {rc, ry, rx, rb});
      },
      "conv2d_NCHWc", "conv2d_NCHWc", {}, {"nn", "ff", "yy", "xx", "fb"});
}

}  // namespace tw::topi::nn
