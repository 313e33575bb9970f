// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/pooling.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/topi/nn/pad.h"
#include "schedule/topi/nn/pooling_windows.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {
namespace {

constexpr std::string_view kOp = "pool2d";

}  // namespace

PoolType pool_type_of(std::string_view op, const std::string& name) {
  if (name == "max") return PoolType::Max;
  if (name == "avg") return PoolType::Average;
  bad_argument({op, "pool_type"}, fmt::format("unknown pooling '{}'", name), "max, avg");
}

Rounding rounding_of(bool ceil_mode, const std::string& rule) {
  if (rule != "tvm" && rule != "pytorch") {
    bad_argument({kOp, "ceil_rule"}, fmt::format("unknown rule '{}'", rule), "tvm, pytorch");
  }
  if (!ceil_mode) return Rounding::Down;
  return rule == "tvm" ? Rounding::Up : Rounding::UpInside;
}

Tensor pool2d(const Tensor& data, const std::vector<int64_t>& kernel,
              const std::vector<int64_t>& stride, const std::vector<int64_t>& dilation,
              const Padding& padding, PoolType type, Rounding rounding, bool count_include_pad) {
  require_images({kOp, "data"}, data);
  const Pair size = normalize_pair({kOp, "kernel"}, kernel, 1);
  const Pair step = normalize_pair({kOp, "stride"}, stride, 1);
  const Pair spread = normalize_pair({kOp, "dilation"}, dilation, 1);
  const bool average = type == PoolType::Average;
  if (average) require_float({kOp, "data"}, data);

  const std::vector<Expr> in = data.shape();
  PoolWindows rows{.extent = in[2], .kernel = size.h, .stride = step.h, .dilation = spread.h};
  PoolWindows columns{.extent = in[3], .kernel = size.w, .stride = step.w, .dilation = spread.w};
  const Border border = normalize_padding({kOp, "padding"}, padding, rows.span(), columns.span());
  rows.before = border.top, rows.after = border.bottom;
  columns.before = border.left, columns.after = border.right;
  rows.place(rounding);
  columns.place(rounding);
  const auto amount = [](int64_t v) { return Expr(static_cast<int>(v)); };
  const auto around = [&](int64_t vertical, int64_t horizontal) {
    std::vector<Expr> amounts(in.size(), 0);
    amounts[2] = amount(vertical);
    amounts[3] = amount(horizontal);
    return amounts;
  };
  const bool padded = border.any() || rows.added != 0 || columns.added != 0;
  const Tensor source =
      padded ? pad(data, around(rows.before, columns.before),
                   around(rows.after + rows.added, columns.after + columns.added),
                   average ? make_zero(data.dtype()) : max_identity(data.dtype()), "pad_temp")
             : data;

  const IterVar ry = te::reduce_axis({0, amount(size.h)}, "rv0");
  const IterVar rx = te::reduce_axis({0, amount(size.w)}, "rv1");
  const auto at = [](const Var& position, const PoolWindows& w, const IterVar& tap) {
    return position * make_const(position.dtype(), w.stride) +
           tap.var() * make_const(tap.var().dtype(), w.dilation);
  };
  std::vector<Expr> shape = in;
  shape[2] = rows.positions;
  shape[3] = columns.positions;
  const Tensor pooled = te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> position = to_exprs(i);
        position[2] = at(i[2], rows, ry);
        position[3] = at(i[3], columns, rx);
        const Expr e = source(position);
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
  require_images({"global_pool", "data"}, data);
  const bool average = type == PoolType::Average;
  if (average) require_float({"global_pool", "data"}, data);
  const std::vector<Expr> in = data.shape();
  const IterVar ry = te::reduce_axis({make_zero(in[2].dtype()), in[2]}, "rv0");
  const IterVar rx = te::reduce_axis({make_zero(in[3].dtype()), in[3]}, "rv1");
  std::vector<Expr> shape = in;
  shape[2] = shape[3] = 1;
  const Tensor pooled = te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> position = to_exprs(i);
        position[2] = ry.var();
        position[3] = rx.var();
        const Expr e = data(position);
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

std::vector<Operator> pooling_rows() {
  using Ints = std::vector<int64_t>;
  const ParameterText data{"data", "[N, C, H, W]; floats for a mean"};
  const ParameterText pool_type{"pool_type", "\"max\" or \"avg\""};
  const ParameterText layout{"layout", "\"NCHW\"", "NCHW"};
  return {
      make_operator(
          "topi.nn", "pool2d",
          [](const Tensor& x, const Ints& kernel, const Ints& stride, const Ints& dilation,
             const Padding& padding, const std::string& type, bool ceil_mode,
             const std::string& order, bool count_include_pad, const std::string& ceil_rule) {
            require_nchw({kOp, "layout"}, order);
            require_rank({kOp, "data"}, x, 4);
            return pool2d(x, kernel, stride, dilation, padding, pool_type_of(kOp, type),
                          rounding_of(ceil_mode, ceil_rule), count_include_pad);
          },
          {data,
           {"kernel", "one extent, or (vertical, horizontal)"},
           {"stride", "one, or (vertical, horizontal)"},
           {"dilation", "distance of taps: one, or (vertical, horizontal)"},
           {"padding"},
           pool_type,
           {"ceil_mode", "a last window that does not fit whole counts too", false},
           layout,
           {"count_include_pad", "means are over padding too", true},
           {"ceil_rule",
            "what ceil_mode does of a window that begins in the padding behind the data: \"tvm\" "
            "keeps it, \"pytorch\" leaves it out",
            "tvm"}},
          "The greatest element or the mean of each window: [N, C, OH, OW] with OH = (H + top + "
          "bottom + (stride - 1 with ceil_mode) - ((kernel - 1) * dilation + 1)) // stride + 1, "
          "and "
          "OW likewise. A maximum disregards padding, and is minus infinity (the least integer) of "
          "a "
          "window without elements; a mean is 0 there. A mean is never over what ceil_mode adds. "
          "ONNX MaxPool and AveragePool."),
      make_operator(
          "topi.nn", "global_pool",
          [](const Tensor& x, const std::string& type, const std::string& order) {
            require_nchw({"global_pool", "layout"}, order);
            require_rank({"global_pool", "data"}, x, 4);
            return global_pool(x, pool_type_of("global_pool", type));
          },
          {data, pool_type, layout},
          "One window over all of H and W: [N, C, 1, 1]. ONNX GlobalMaxPool and "
          "GlobalAveragePool."),
  };
}

}  // namespace tw::topi::nn
