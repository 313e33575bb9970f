// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/normalization.h"

#include <algorithm>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/operator.h"

namespace tw::topi::nn {

Tensor layer_norm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                  const std::vector<int>& axis, double epsilon) {
  constexpr std::string_view op = "layer_norm";
  require_float({op, "data"}, data);
  if (is_accumulated_wider(data)) {
    return rounded_once(
        [&](const Tensor& x, const Tensor& factor, const Tensor& shift) {
          return layer_norm(x, factor, shift, axis, epsilon);
        },
        data, gamma, beta);
  }
  const std::vector<int> axes = normalize_axes({op, "axis"}, axis, data.rank());
  const std::vector<Expr> in = data.shape();
  const auto normalized = [&](size_t d) {
    return std::find(axes.begin(), axes.end(), static_cast<int>(d)) != axes.end();
  };
  std::vector<Expr> group_shape, extents;
  for (size_t d = 0; d < in.size(); ++d) (normalized(d) ? extents : group_shape).push_back(in[d]);
  for (const Tensor* t : {&gamma, &beta}) {
    if (!t->defined()) continue;
    const Place place{op, t == &gamma ? "gamma" : "beta"};
    require_rank(place, *t, static_cast<int>(axes.size()));
    for (size_t d = 0; d < axes.size(); ++d) {
      require_extent(place, *t, static_cast<int>(d), extents[d]);
    }
  }
  const Expr count = tw::cast(data.dtype(), product(extents));

  // f of each element and its group's position, summed over the group and divided by its size.
  const auto group_mean = [&](const std::string& name, auto f) {
    std::vector<IterVar> reduce_axes;
    for (const Expr& e : extents) {
      reduce_axes.push_back(te::reduce_axis({make_zero(e.dtype()), e}, "k"));
    }
    const Tensor total = te::compute(
        group_shape,
        [&](const std::vector<Var>& i) {
          std::vector<Expr> position;
          size_t next = 0, reduced = 0;
          for (size_t d = 0; d < in.size(); ++d) {
            position.push_back(normalized(d) ? Expr(reduce_axes[reduced++].var())
                                             : Expr(i[next++]));
          }
          return te::sum(f(data(position), to_exprs(i)), reduce_axes);
        },
        name + "_sum", kReduction);
    return te::compute(
        group_shape, [&](const std::vector<Var>& i) { return div(total(to_exprs(i)), count); },
        name, kElementwise);
  };
  const Tensor mean =
      group_mean("T_layer_norm_mean", [](const Expr& x, const std::vector<Expr>&) { return x; });
  const Tensor variance =
      group_mean("T_layer_norm_variance", [&](const Expr& x, const std::vector<Expr>& group) {
        const Expr difference = x - mean(group);
        return difference * difference;
      });
  return te::compute(
      in,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> group, within;
        for (size_t d = 0; d < in.size(); ++d) (normalized(d) ? within : group).push_back(i[d]);
        const Expr deviation =
            call("rsqrt", {variance(group) + make_const_float(data.dtype(), epsilon)});
        Expr e = (data(to_exprs(i)) - mean(group)) * deviation;
        if (gamma.defined()) e = e * gamma(within);
        if (beta.defined()) e = e + beta(within);
        return e;
      },
      "T_layer_norm", kBroadcast);
}

Tensor batch_norm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                  const Tensor& moving_mean, const Tensor& moving_variance, int axis,
                  double epsilon) {
  constexpr std::string_view op = "batch_norm";
  require_float({op, "data"}, data);
  const auto along = static_cast<size_t>(normalize_axis({op, "axis"}, axis, data.rank()));
  const auto check = [&](const char* argument, const Tensor& t) {
    require_channels({op, argument}, t, data, along);
    require_rank({op, argument}, t, gamma.rank());
  };
  check("gamma", gamma);
  check("beta", beta);
  check("moving_mean", moving_mean);
  check("moving_variance", moving_variance);
  const Tensor scale = te::compute(
      gamma.shape(),
      [&](const std::vector<Var>& i) {
        const std::vector<Expr> c = to_exprs(i);
        const Expr variance = moving_variance(c) + make_const_float(data.dtype(), epsilon);
        return gamma(c) * call("rsqrt", {variance});
      },
      "T_batch_norm_scale", kElementwise);
  const Tensor shift = te::compute(
      gamma.shape(),
      [&](const std::vector<Var>& i) {
        const std::vector<Expr> c = to_exprs(i);
        return beta(c) - moving_mean(c) * scale(c);
      },
      "T_batch_norm_shift", kElementwise);
  return te::compute(
      data.shape(),
      [&](const std::vector<Var>& i) {
        return data(to_exprs(i)) * read_channel(scale, i, along) + read_channel(shift, i, along);
      },
      "T_batch_norm", kBroadcast);
}

std::vector<Operator> normalization_rows() {
  return {
      make_operator(
          "topi.nn", "layer_norm",
          [](const Tensor& data, const std::optional<Tensor>& gamma,
             const std::optional<Tensor>& beta, const std::vector<int>& axis, double epsilon) {
            return layer_norm(data, gamma.value_or(Tensor()), beta.value_or(Tensor()), axis,
                              epsilon);
          },
          {{"data", "floats"},
           {"gamma", "of the extents of axis; None: 1"},
           {"beta", "of the extents of axis; None: 0"},
           {"axis", "dimensions of a group"},
           {"epsilon", "is added to the variance", 1e-5}},
          "(data - mean) / sqrt(variance + epsilon) * gamma + beta, mean and (biased) variance "
          "over "
          "axis. ONNX LayerNormalization."),
      make_operator(
          "topi.nn", "batch_norm",
          [](const Tensor& data, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
             const Tensor& variance, int64_t axis, double epsilon) {
            return batch_norm(data, gamma, beta, mean, variance, static_cast<int>(axis), epsilon);
          },
          {{"data", "floats"},
           {"gamma", "[C]"},
           {"beta", "[C]"},
           {"moving_mean", "[C]"},
           {"moving_var", "[C]"},
           {"axis", "the dimension of data that has extent C", 1},
           {"epsilon", "is added to the variance", 1e-5}},
          "Inference: (data - moving_mean) / sqrt(moving_var + epsilon) * gamma + beta. ONNX "
          "BatchNormalization."),
  };
}

}  // namespace tw::topi::nn
