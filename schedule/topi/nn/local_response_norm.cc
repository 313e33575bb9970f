// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/local_response_norm.h"

#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/broadcast.h"
#include "schedule/topi/nn/conv_windows.h"
#include "schedule/topi/nn/pad.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {

Tensor window_sum(const Tensor& data, int64_t size, int axis, bool reverse) {
  const auto along = static_cast<size_t>(normalize_axis({"lrn", "axis"}, axis, data.rank()));
  if (size < 1) bad_argument({"lrn", "size"}, fmt::format("{}", size), "at least 1");
  const int64_t less = (size - 1) / 2, more = size / 2;
  std::vector<Expr> before(data.shape().size(), 0), after = before;
  before[along] = make_const(int_type(32), reverse ? more : less);
  after[along] = make_const(int_type(32), reverse ? less : more);
  const Tensor padded = size == 1 ? data : pad(data, before, after, {}, "pad_temp");
  const IterVar k = taps(make_const(int_type(32), size), "rx");
  const DType type = accumulation_type(data.dtype());
  const Tensor sums = te::compute(
      data.shape(),
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i);
        at[along] = i[along] + k.var();
        return te::sum(tw::cast(type, padded(at)), {k});
      },
      "window_sum");
  return converted(sums, data.dtype());
}

Tensor lrn(const Tensor& data, int64_t size, int axis, double alpha, double beta, double bias) {
  require_float({"lrn", "data"}, data);
  if (is_accumulated_wider(data)) {
    return rounded_once([&](const Tensor& x) { return lrn(x, size, axis, alpha, beta, bias); },
                        data);
  }
  const DType type = data.dtype();
  const auto number = [&](double value) { return make_const_float(type, value); };
  const Tensor sums = window_sum(multiply(data, data), size, axis);
  return te::compute(
      data.shape(),
      [&](const std::vector<Var>& i) {
        const std::vector<Expr> at = to_exprs(i);
        const Expr base = number(bias) + number(alpha / static_cast<double>(size)) * sums(at);
        return div(data(at), tw::call("pow", {base, number(beta)}));
      },
      "lrn", kElementwise);
}

std::vector<Operator> lrn_rows() {
  return {make_operator(
      "topi.nn", "lrn",
      [](const Tensor& data, int64_t size, int64_t axis, double alpha, double beta, double bias) {
        return lrn(data, size, static_cast<int>(axis), alpha, beta, bias);
      },
      {{"data", "floats"},
       {"size", "how many elements are summed"},
       {"axis", "the dimension of channels", 1},
       {"alpha", "factor of the mean square", 0.0001},
       {"beta", "the power", 0.75},
       {"bias", "what is added to it", 2.0}},
      "data / (bias + alpha / size * sum of the squares of `size` elements along axis) ** beta. "
      "ONNX LRN.")};
}

}  // namespace tw::topi::nn
