// SPDX-License-Identifier: Apache-2.0
// Windows that pooling slides along a dimension of images.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "ir/expr.h"
#include "schedule/topi/nn/pooling.h"

namespace tw::topi::nn {

struct PoolWindows {
  Expr extent;  // of the data
  int64_t kernel, stride, dilation;
  int64_t before = 0, after = 0;  // padding
  int64_t added = 0;              // elements behind it that the last window reaches when rounded up
  Expr positions = {};

  Expr span() const { return window_span(make_const(extent.dtype(), kernel), dilation); }

  void place(Rounding rounding) {
    added = rounding == Rounding::Down ? 0 : stride - 1;
    positions = window_positions(extent, span(), stride, before + after + added);
    if (rounding == Rounding::UpInside) {
      // A window begins before the end of the data.
      const auto constant = [&](int64_t v) { return make_const(extent.dtype(), v); };
      const Expr begin = floor_div(extent + constant(before - 1), constant(stride)) + constant(1);
      positions = tw::min(positions, begin);
    }
    const auto count = as_const_int(positions);
    if (count && *count <= 0) {
      bad_shape({"pool2d", "kernel"},
                fmt::format("a window of {} taps over {} elements", kernel, *as_const_int(extent)),
                "a kernel no larger than the padded data");
    }
  }

  // How many taps of the window at `position` lie on elements [low, high) of the data.
  Expr taps(const Expr& position, const Expr& low, const Expr& high) const {
    const auto constant = [&](int64_t v) { return make_const(extent.dtype(), v); };
    const Expr start = position * constant(stride) - constant(before);
    const auto first_from = [&](const Expr& bound) {  // first tap at or behind `bound`
      return floor_div(bound - start + constant(dilation - 1), constant(dilation));
    };
    return tw::min(first_from(high), constant(kernel)) - tw::max(first_from(low), constant(0));
  }
  Expr counted(const Expr& position, bool include_pad) const {
    const auto constant = [&](int64_t v) { return make_const(extent.dtype(), v); };
    if (include_pad) {
      if (added == 0) return constant(kernel);
      return taps(position, constant(-before), extent + constant(after));
    }
    if (before == 0 && after == 0 && added == 0) return constant(kernel);
    return taps(position, constant(0), extent);
  }
};

// Arguments of Python: "max" or "avg"; "tvm" or "pytorch".
PoolType pool_type_of(std::string_view op, const std::string& name);
Rounding rounding_of(bool ceil_mode, const std::string& rule);

}  // namespace tw::topi::nn
