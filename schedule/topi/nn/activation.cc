// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/activation.h"

#include "ir/expr.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {

Tensor relu(const Tensor& x, const std::string& name, const std::string& tag) {
  return te::compute(
      x.shape(),
      [&](const std::vector<Var>& i) { return tw::max(make_zero(x.dtype()), x(to_exprs(i))); },
      name, tag);
}

Tensor leaky_relu(const Tensor& x, double alpha, const std::string& name, const std::string& tag) {
  require_float({"leaky_relu", "x"}, x);
  return te::compute(
      x.shape(),
      [&](const std::vector<Var>& i) {
        const Expr e = x(to_exprs(i));
        return select(e > make_zero(x.dtype()), e, e * make_const_float(x.dtype(), alpha));
      },
      name, tag);
}

Tensor prelu(const Tensor& x, const Tensor& slope, int axis, const std::string& name,
             const std::string& tag) {
  const auto along = static_cast<size_t>(normalize_axis({"prelu", "axis"}, axis, x.rank()));
  require_channels({"prelu", "slope"}, slope, x, along);
  return te::compute(
      x.shape(),
      [&](const std::vector<Var>& i) {
        const Expr e = x(to_exprs(i));
        return select(e > make_zero(x.dtype()), e, e * read_channel(slope, i, along));
      },
      name, tag);
}

std::vector<Operator> activation_rows() {
  return {
      make_operator(
          "topi.nn", "relu", [](const Tensor& x) { return relu(x); }, {{"x", "numbers"}},
          "max(x, 0), of NaN NaN. ONNX Relu."),
      make_operator(
          "topi.nn", "leaky_relu",
          [](const Tensor& x, double alpha) { return leaky_relu(x, alpha); },
          {{"x", "floats"}, {"alpha", "the slope below 0"}},
          "x where positive, else alpha * x. ONNX LeakyRelu."),
      make_operator(
          "topi.nn", "prelu",
          [](const Tensor& x, const Tensor& slope, int64_t axis) {
            return prelu(x, slope, static_cast<int>(axis));
          },
          {{"x"}, {"slope", "[C]"}, {"axis", "the dimension of x that has extent C", 1}},
          "x where positive, else slope * x. ONNX PRelu."),
  };
}

}  // namespace tw::topi::nn
