// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/softmax.h"

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {
namespace {

// The stages that both share. `max` and `total` have the shape without the axis.
struct Parts {
  int axis;
  Tensor max, exponential, total;

  static std::vector<Expr> without(std::vector<Expr> position, int axis) {
    position.erase(position.begin() + axis);
    return position;
  }
};

Parts parts_of(std::string_view op, const Tensor& x, int axis) {
  require_float({op, "x"}, x);
  Parts p;
  p.axis = normalize_axis({op, "axis"}, axis, x.rank());
  const std::string prefix = "T_" + std::string(op);
  const Expr extent = x.shape()[static_cast<size_t>(p.axis)];
  const std::vector<Expr> rest = Parts::without(x.shape(), p.axis);
  const auto reduced = [&](const Tensor& t, const std::string& name, auto function) {
    const IterVar k = te::reduce_axis({make_zero(extent.dtype()), extent}, "k");
    return te::compute(
        rest,
        [&](const std::vector<Var>& i) {
          std::vector<Expr> position = to_exprs(i);
          position.insert(position.begin() + p.axis, k.var());
          return function(t(position), {k}, {});
        },
        prefix + name);
  };
  p.max = reduced(x, "_maxelem", &te::max);
  p.exponential = te::compute(
      x.shape(),
      [&](const std::vector<Var>& i) {
        const std::vector<Expr> position = to_exprs(i);
        return call("exp", {x(position) - p.max(Parts::without(position, p.axis))});
      },
      prefix + "_exp", kElementwise);
  p.total = reduced(p.exponential, "_expsum", &te::sum);
  return p;
}

}  // namespace

Tensor softmax(const Tensor& x, int axis) {
  if (is_accumulated_wider(x)) {
    return rounded_once([&](const Tensor& wide) { return softmax(wide, axis); }, x);
  }
  const Parts p = parts_of("softmax", x, axis);
  return te::compute(x.shape(),
                     [&](const std::vector<Var>& i) {
                       const std::vector<Expr> position = to_exprs(i);
                       // One division a group. The total is at least 1, that of the maximum.
                       const Expr total = p.total(Parts::without(position, p.axis));
                       return p.exponential(position) * div(make_const_float(x.dtype(), 1), total);
                     },
                     "T_softmax_norm", "softmax_output", {{"axis", int64_t{p.axis}}});
}

Tensor log_softmax(const Tensor& x, int axis) {
  if (is_accumulated_wider(x)) {
    return rounded_once([&](const Tensor& wide) { return log_softmax(wide, axis); }, x);
  }
  const Parts p = parts_of("log_softmax", x, axis);
  return te::compute(x.shape(),
                     [&](const std::vector<Var>& i) {
                       const std::vector<Expr> position = to_exprs(i);
                       const std::vector<Expr> group = Parts::without(position, p.axis);
                       return x(position) - p.max(group) - call("log", {p.total(group)});
                     },
                     "T_log_softmax_norm", "softmax_output", {{"axis", int64_t{p.axis}}});
}

std::vector<Operator> softmax_rows() {
  const ParameterText axis{"axis", "a dimension", -1};
  return {
      make_operator(
          "topi.nn", "softmax",
          [](const Tensor& x, int64_t along) { return softmax(x, static_cast<int>(along)); },
          {{"x", "floats"}, axis},
          "exp(x - max) / sum(exp(x - max)) along axis. ONNX Softmax (opset 13)."),
      make_operator(
          "topi.nn", "log_softmax",
          [](const Tensor& x, int64_t along) { return log_softmax(x, static_cast<int>(along)); },
          {{"x", "floats"}, axis},
          "x - max - log(sum(exp(x - max))) along axis. ONNX LogSoftmax (opset 13)."),
  };
}

}  // namespace tw::topi::nn
