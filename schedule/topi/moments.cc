// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/moments.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/broadcast.h"
#include "schedule/topi/elementwise.h"
#include "schedule/topi/operator.h"
#include "schedule/topi/reduction.h"
#include "schedule/topi/transform.h"

namespace tw::topi {
namespace {

// What was computed with reduced dimensions of extent 1, without them.
Tensor dropped(const Tensor& kept, const std::vector<int>& axis, bool keepdims) {
  if (keepdims) return kept;
  std::vector<int> axes = axis;
  for (int d = 0; axis.empty() && d < kept.rank(); ++d) axes.push_back(d);
  return squeeze(kept, axes);
}

Expr count_of_reduced(const Tensor& data, const std::vector<int>& axis) {
  Expr count = 1;
  for (int d : normalize_axes({"variance", "axis"}, axis, data.rank())) {
    count = count * data.shape()[static_cast<size_t>(d)];
  }
  return count;
}

}  // namespace

Tensor logsumexp(const Tensor& data, const std::vector<int>& axis, bool keepdims) {
  require_float({"logsumexp", "data"}, data);
  if (is_accumulated_wider(data)) {
    return rounded_once([&](const Tensor& x) { return logsumexp(x, axis, keepdims); }, data);
  }
  const Tensor greatest = max(data, axis, true);
  // Of infinities nothing is subtracted: their difference is no number.
  const Tensor shift = te::compute(
      greatest.shape(),
      [&](const std::vector<Var>& i) {
        const Expr value = greatest(to_exprs(i));
        return select(call("isinf", {value}), make_zero(value.dtype()), value);
      },
      "T_shift", kElementwise);
  const Tensor total = sum(exp(subtract(data, shift)), axis, true);
  return dropped(add(log(total), shift), axis, keepdims);
}

Tensor norm(const Tensor& data, int64_t ord, const std::vector<int>& axis, bool keepdims) {
  if (is_accumulated_wider(data)) {
    return rounded_once([&](const Tensor& x) { return norm(x, ord, axis, keepdims); }, data);
  }
  if (ord == 1) return sum(abs(data), axis, keepdims);
  if (ord != 2) bad_argument({"norm", "ord"}, fmt::format("{}", ord), "1, 2");
  require_float({"norm", "data"}, data);
  return sqrt(sum(square(data), axis, keepdims));
}

Tensor variance(const Tensor& data, const std::vector<int>& axis, bool keepdims, bool unbiased) {
  require_float({"variance", "data"}, data);
  if (is_accumulated_wider(data)) {
    return rounded_once([&](const Tensor& x) { return variance(x, axis, keepdims, unbiased); },
                        data);
  }
  const Tensor distance = subtract(data, mean(data, axis, true));
  const Expr count = count_of_reduced(data, axis) - Expr(unbiased ? 1 : 0);
  return divide(sum(square(distance), axis, keepdims), tw::cast(data.dtype(), count));
}

std::vector<Operator> moments_rows() {
  using Axes = std::vector<int>;
  const ParameterText axis{"axis", "dimensions, from the end where negative; None: all", Value()};
  const ParameterText keepdims{"keepdims", "reduced dimensions stay, with extent 1", false};
  return {
      make_operator(
          "topi", "logsumexp",
          [](const Tensor& x, const Axes& axes, bool keep) { return logsumexp(x, axes, keep); },
          {{"x", "floats"}, axis, keepdims},
          "log(sum(exp(x))), in which nothing overflows. ONNX ReduceLogSumExp."),
      make_operator(
          "topi", "norm",
          [](const Tensor& x, int64_t ord, const Axes& axes, bool keep) {
            return norm(x, ord, axes, keep);
          },
          {{"x", "numbers; floats for 2"},
           {"ord", "1: of absolute values; 2: the root of the sum of squares", 2},
           axis,
           keepdims},
          "A norm over dimensions. ONNX ReduceL1, ReduceL2."),
      make_operator(
          "topi", "variance",
          [](const Tensor& x, const Axes& axes, bool keep, bool unbiased) {
            return variance(x, axes, keep, unbiased);
          },
          {{"x", "floats"},
           axis,
           keepdims,
           {"unbiased", "divided by one less than the elements", false}},
          "The mean square distance from the mean. NumPy var."),
  };
}

}  // namespace tw::topi
