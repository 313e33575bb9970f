// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/conv2d.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/topi/nn/pad.h"

namespace tw::topi::nn {
namespace {

constexpr std::string_view kOp = "conv2d_nchw";

// Extent `value` divided into groups; BadShape when it is known not to divide.
Expr per_group(const char* argument, const Expr& value, int64_t groups) {
  const auto constant = as_const_int(value);
  if (constant && *constant % groups != 0) {
    bad_shape({kOp, argument}, fmt::format("{} channels in {} groups", *constant, groups),
              "a number of channels that the groups divide");
  }
  return floor_div(value, make_const(value.dtype(), groups));
}

}  // namespace

Tensor conv2d_nchw(const Tensor& data, const Tensor& weight, const std::vector<int64_t>& strides,
                   const std::vector<int64_t>& padding, const std::vector<int64_t>& dilation,
                   int64_t groups, std::optional<DType> out_type) {
  require_rank({kOp, "data"}, data, 4);
  require_rank({kOp, "weight"}, weight, 4);
  const Pair stride = normalize_pair({kOp, "strides"}, strides, 1);
  const Pair spread = normalize_pair({kOp, "dilation"}, dilation, 1);
  const Padding border = normalize_padding({kOp, "padding"}, padding);
  if (groups < 1) bad_argument({kOp, "groups"}, fmt::format("{}", groups), "at least 1");
  const std::vector<Expr> in = data.shape(), kernel = weight.shape();
  const Expr group_channels = per_group("data", in[1], groups);
  const Expr group_filters = per_group("weight", kernel[0], groups);
  require_extent({kOp, "weight"}, weight, 1, group_channels);

  const Expr height =
      window_positions(in[2], kernel[2], stride.h, border.top + border.bottom, spread.h);
  const Expr width =
      window_positions(in[3], kernel[3], stride.w, border.left + border.right, spread.w);
  for (const Expr& extent : {height, width}) {
    const auto constant = as_const_int(extent);
    if (constant && *constant <= 0) {
      bad_shape({kOp, "data"},
                fmt::format("a window of {} over shape {}", shape_text(kernel), shape_text(in)),
                "a kernel no larger than the padded data");
    }
  }
  const auto amount = [](int64_t v) { return Expr(static_cast<int>(v)); };
  const Tensor padded =
      border.any() ? pad(data, {0, 0, amount(border.top), amount(border.left)},
                         {0, 0, amount(border.bottom), amount(border.right)}, {}, "pad_temp")
                   : data;

  const DType type = out_type.value_or(data.dtype());
  const auto axis = [](const Expr& extent, const char* name) {
    return te::reduce_axis({make_zero(extent.dtype()), extent}, name);
  };
  const IterVar rc = axis(group_channels, "rc"), ry = axis(kernel[2], "ry"),
                rx = axis(kernel[3], "rx");
  const auto at = [](const Var& position, int64_t step, const IterVar& tap, int64_t distance) {
    return position * make_const(position.dtype(), step) +
           tap.var() * make_const(tap.var().dtype(), distance);
  };
  return te::compute(
      {in[0], kernel[0], height, width},
      [&](const std::vector<Var>& i) {
        const Var &nn = i[0], &ff = i[1], &yy = i[2], &xx = i[3];
        const Expr channel =
            groups == 1 ? Expr(rc.var()) : floor_div(ff, group_filters) * group_channels + rc.var();
        const Expr element =
            padded(nn, channel, at(yy, stride.h, ry, spread.h), at(xx, stride.w, rx, spread.w));
        const Expr tap = weight(ff, rc.var(), ry.var(), rx.var());
        return te::sum(tw::cast(type, element) * tw::cast(type, tap), {rc, ry, rx});
      },
      "compute", groups == 1 ? "conv2d_nchw" : "group_conv2d_nchw", {}, {"nn", "ff", "yy", "xx"});
}

}  // namespace tw::topi::nn
