// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/root_normalization.h"

#include <algorithm>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/broadcast.h"
#include "schedule/topi/operator.h"
#include "schedule/topi/reduction.h"

namespace tw::topi::nn {
namespace {

// The factor of each group, 1 / sqrt(f(sum of squares)), in a stage of its own: one root a group.
// Reduced dimensions stay, with extent 1.
template <class F>
Tensor inverse_roots(const Tensor& data, const std::vector<int>& axes, const std::string& name,
                     const F& f) {
  const Tensor squares = te::compute(
      data.shape(),
      [&](const std::vector<Var>& i) {
        const Expr e = data(to_exprs(i));
        return e * e;
      },
      name + "_square", kElementwise);
  const Tensor total = axes.empty() ? squares : sum(squares, axes, true);
  return te::compute(
      total.shape(),
      [&](const std::vector<Var>& i) { return call("rsqrt", {f(total(to_exprs(i)))}); },
      name + "_scale", kElementwise);
}

// The position of a group: 0 along what was reduced.
std::vector<Expr> group_of(const std::vector<Var>& position, const std::vector<int>& axes) {
  std::vector<Expr> group = to_exprs(position);
  for (int axis : axes) {
    Expr& e = group[static_cast<size_t>(axis)];
    e = make_zero(e.dtype());
  }
  return group;
}

}  // namespace

Tensor rms_norm(const Tensor& data, const Tensor& gamma, const std::vector<int>& axis,
                double epsilon) {
  constexpr std::string_view op = "rms_norm";
  require_float({op, "data"}, data);
  if (is_accumulated_wider(data)) {
    return rounded_once(
        [&](const Tensor& x, const Tensor& factor) { return rms_norm(x, factor, axis, epsilon); },
        data, gamma);
  }
  const std::vector<int> axes = normalize_axes({op, "axis"}, axis, data.rank());
  Expr count = 1;
  for (int a : axes) count = count * data.shape()[static_cast<size_t>(a)];
  if (gamma.defined()) {
    require_rank({op, "gamma"}, gamma, static_cast<int>(axes.size()));
    for (size_t d = 0; d < axes.size(); ++d) {
      require_extent({op, "gamma"}, gamma, static_cast<int>(d),
                     data.shape()[static_cast<size_t>(axes[d])]);
    }
  }
  const Tensor scale = inverse_roots(data, axes, "T_rms_norm", [&](const Expr& total) {
    return div(total, tw::cast(data.dtype(), count)) + make_const_float(data.dtype(), epsilon);
  });
  return te::compute(
      data.shape(),
      [&](const std::vector<Var>& i) {
        const Expr e = data(to_exprs(i)) * scale(group_of(i, axes));
        std::vector<Expr> within;
        for (int a : axes) within.push_back(i[static_cast<size_t>(a)]);
        return gamma.defined() ? e * gamma(within) : e;
      },
      "T_rms_norm", kBroadcast);
}

Tensor l2_normalize(const Tensor& data, double eps, const std::vector<int>& axis) {
  constexpr std::string_view op = "l2_normalize";
  require_float({op, "data"}, data);
  if (is_accumulated_wider(data)) {
    return rounded_once([&](const Tensor& x) { return l2_normalize(x, eps, axis); }, data);
  }
  const std::vector<int> axes = normalize_axes({op, "axis"}, axis, data.rank());
  const Tensor scale = inverse_roots(data, axes, "T_l2_normalize", [&](const Expr& total) {
    return tw::max(total, make_const_float(data.dtype(), eps));
  });
  return te::compute(
      data.shape(),
      [&](const std::vector<Var>& i) { return data(to_exprs(i)) * scale(group_of(i, axes)); },
      "T_l2_normalize", kBroadcast);
}

std::vector<Operator> root_normalization_rows() {
  return {
      make_operator(
          "topi.nn", "rms_norm",
          [](const Tensor& data, const std::optional<Tensor>& gamma, const std::vector<int>& axis,
             double epsilon) { return rms_norm(data, gamma.value_or(Tensor()), axis, epsilon); },
          {{"data", "floats"},
           {"gamma", "of the extents of axis; None: 1"},
           {"axis", "dimensions of a group"},
           {"epsilon", "is added to the mean", 1e-5}},
          "data / sqrt(mean(data²) + epsilon) * gamma, the mean over axis. ONNX RMSNormalization."),
      make_operator(
          "topi.nn", "l2_normalize",
          [](const Tensor& data, double eps, const std::vector<int>& axis) {
            return l2_normalize(data, eps, axis);
          },
          {{"data", "floats"},
           {"eps", "the least that is divided by, squared"},
           {"axis", "the dimensions; None: all", Value()}},
          "data / sqrt(max(sum(data²), eps)), the sum over axis."),
  };
}

}  // namespace tw::topi::nn
