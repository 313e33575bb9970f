// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/pooling.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/topi/nn/pad.h"

namespace tw::topi::nn {
namespace {

constexpr std::string_view kOp = "pool2d";

// Windows along one dimension.
struct Windows {
  Expr extent;  // of the data
  int64_t kernel, stride, dilation, before, after;
  int64_t added = 0;  // elements behind the padding that ceil_mode's last window reaches
  Expr positions;

  void place(bool ceil_mode) {
    const auto fit = [&](int64_t total) {
      return window_positions(extent, make_const(extent.dtype(), kernel), stride, total, dilation);
    };
    positions = fit(before + after);
    if (ceil_mode) {
      added = stride - 1;
      positions = fit(before + after + added);
      const auto count = as_const_int(positions), size = as_const_int(extent);
      // The last window must not start behind the data.
      if (count && size && (*count - 1) * stride >= *size + before) {
        positions = make_const(extent.dtype(), *count - 1);
      }
    }
    const auto count = as_const_int(positions);
    if (count && *count <= 0) {
      bad_shape({kOp, "kernel"},
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

}  // namespace

Tensor pool2d(const Tensor& data, const std::vector<int64_t>& kernel,
              const std::vector<int64_t>& stride, const std::vector<int64_t>& dilation,
              const std::vector<int64_t>& padding, PoolType type, bool ceil_mode,
              bool count_include_pad) {
  require_rank({kOp, "data"}, data, 4);
  const Pair size = normalize_pair({kOp, "kernel"}, kernel, 1);
  const Pair step = normalize_pair({kOp, "stride"}, stride, 1);
  const Pair spread = normalize_pair({kOp, "dilation"}, dilation, 1);
  const Padding border = normalize_padding({kOp, "padding"}, padding);
  const bool average = type == PoolType::Average;
  if (average) require_float({kOp, "data"}, data);

  const std::vector<Expr> in = data.shape();
  Windows rows{in[2], size.h, step.h, spread.h, border.top, border.bottom, 0, {}};
  Windows columns{in[3], size.w, step.w, spread.w, border.left, border.right, 0, {}};
  rows.place(ceil_mode);
  columns.place(ceil_mode);
  const auto amount = [](int64_t v) { return Expr(static_cast<int>(v)); };
  const bool padded = border.any() || rows.added != 0 || columns.added != 0;
  const Tensor source =
      padded ? pad(data, {0, 0, amount(rows.before), amount(columns.before)},
                   {0, 0, amount(rows.after + rows.added), amount(columns.after + columns.added)},
                   average ? make_zero(data.dtype()) : max_identity(data.dtype()), "pad_temp")
             : data;

  const IterVar ry = te::reduce_axis({0, amount(size.h)}, "rv0");
  const IterVar rx = te::reduce_axis({0, amount(size.w)}, "rv1");
  const auto at = [](const Var& position, const Windows& w, const IterVar& tap) {
    return position * make_const(position.dtype(), w.stride) +
           tap.var() * make_const(tap.var().dtype(), w.dilation);
  };
  const std::vector<Expr> shape = {in[0], in[1], rows.positions, columns.positions};
  const Tensor pooled = te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        const Expr e = source(i[0], i[1], at(i[2], rows, ry), at(i[3], columns, rx));
        return average ? te::sum(e, {ry, rx}) : te::max(e, {ry, rx});
      },
      average ? "pool_sum" : "pool_max", average ? "pool_sum" : "pool_max");
  if (!average) return pooled;
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        const Expr count =
            rows.counted(i[2], count_include_pad) * columns.counted(i[3], count_include_pad);
        return div(pooled(to_exprs(i)), tw::cast(data.dtype(), tw::max(count, Expr(1))));
      },
      "pool_avg", kElementwise);
}

Tensor global_pool(const Tensor& data, PoolType type) {
  require_rank({"global_pool", "data"}, data, 4);
  const bool average = type == PoolType::Average;
  if (average) require_float({"global_pool", "data"}, data);
  const std::vector<Expr> in = data.shape();
  const IterVar ry = te::reduce_axis({make_zero(in[2].dtype()), in[2]}, "rv0");
  const IterVar rx = te::reduce_axis({make_zero(in[3].dtype()), in[3]}, "rv1");
  const std::vector<Expr> shape = {in[0], in[1], 1, 1};
  const Tensor pooled = te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        const Expr e = data(i[0], i[1], ry.var(), rx.var());
        return average ? te::sum(e, {ry, rx}) : te::max(e, {ry, rx});
      },
      average ? "adaptive_pool_sum" : "adaptive_pool_max",
      average ? "adaptive_pool_sum" : "adaptive_pool_max");
  if (!average) return pooled;
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        return div(pooled(to_exprs(i)), tw::cast(data.dtype(), in[2] * in[3]));
      },
      "adaptive_pool_avg", kElementwise);
}

}  // namespace tw::topi::nn
