// SPDX-License-Identifier: Apache-2.0
// The gradient of a convolution's weight: for each tap a product of matrices, filters by channels,
// summed over images and positions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/expr.h"
#include "schedule/topi/accumulation.h"
#include "schedule/topi/nn/conv.h"
#include "schedule/topi/nn/conv_windows.h"
#include "schedule/topi/nn/pad.h"

namespace tw::topi::nn {
namespace {

// [N, C, ...] -> [N, ..., C], so that channels are next to each other in memory.
Tensor channels_last(const Tensor& images, const std::string& name) {
  std::vector<Expr> shape = images.shape();
  std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
  return te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at = to_exprs(i);
        std::rotate(at.begin() + 1, at.end() - 1, at.end());
        return images(at);
      },
      name, kInjective);
}

// Which part of vectors of 16 elements would be idle, were this extent the innermost axis.
double idle(const Expr& extent) {
  constexpr double kLanes = 16;
  const auto constant = as_const_int(extent);
  if (!constant || *constant < 1) return 0;
  const double vectors = std::ceil(static_cast<double>(*constant) / kLanes);
  return 1 - static_cast<double>(*constant) / (vectors * kLanes);
}

}  // namespace

Tensor conv_weight_gradient(const Tensor& grad, const Tensor& data, const std::vector<Expr>& kernel,
                            const std::vector<int64_t>& strides, const Padding& padding,
                            const std::vector<int64_t>& dilation, int64_t groups,
                            std::optional<DType> out_type) {
  constexpr std::string_view kOp = "conv_weight_gradient";
  if (data.rank() < 3 || data.rank() > 5) {
    bad_shape({kOp, "data"}, fmt::format("shape {}", shape_text(data.shape())),
              "images, channels, and one to three spatial dimensions");
  }
  require_rank({kOp, "grad"}, grad, data.rank());
  require_extent({kOp, "grad"}, grad, 0, data.shape()[0]);
  if (groups < 1) bad_argument({kOp, "groups"}, fmt::format("{}", groups), "at least 1");
  const size_t spatial = data.shape().size() - 2;
  const std::vector<int64_t> step = normalize_steps({kOp, "strides"}, strides, spatial, 1),
                             spread = normalize_steps({kOp, "dilation"}, dilation, spatial, 1);
  std::vector<Expr> spans;
  for (size_t d = 0; d < spatial; ++d) spans.push_back(window_span(kernel[d], spread[d]));
  const Border border = normalize_padding({kOp, "padding"}, padding, spans);
  const Expr filters = grad.shape()[1];
  const Expr in_group = per_group({kOp, "data"}, data.shape()[1], groups),
             out_group = per_group({kOp, "grad"}, filters, groups);
  const DType sum_type = out_type.value_or(data.dtype()), type = accumulation_type(sum_type);

  // Channels of data are the innermost axis of the sums, or filters, whichever fill vectors better.
  // What is read along it has it innermost as well.
  const bool filters_inside = idle(in_group) > idle(filters);
  const Tensor images = pad_images(data, border);
  const bool turn_data = !filters_inside || groups != 1;
  const Tensor read = turn_data ? channels_last(images, "data_last") : images;
  const Tensor of_filters = filters_inside ? channels_last(grad, "grad_last") : grad;

  std::vector<Expr> shape = kernel;
  shape.push_back(filters_inside ? in_group : filters);
  shape.push_back(filters_inside ? filters : in_group);
  std::vector<IterVar> axes = {taps(data.shape()[0], "rn")};
  for (size_t d = 0; d < spatial; ++d) {
    axes.push_back(taps(grad.shape()[d + 2], tap_names(spatial)[d]));
  }
  const Tensor sums = te::compute(
      shape,
      [&](const std::vector<Var>& i) {
        const Var filter = filters_inside ? i[spatial + 1] : i[spatial],
                  channel = filters_inside ? i[spatial] : i[spatial + 1];
        Expr read_channel = channel;
        if (groups != 1) read_channel = floor_div(filter, out_group) * in_group + channel;
        std::vector<Expr> of_data, of_grad;
        for (size_t d = 0; d < spatial; ++d) {
          const Expr position = axes[d + 1].var();
          of_data.push_back(position * number(step[d]) + i[d] * number(spread[d]));
          of_grad.push_back(position);
        }
        of_data.insert(turn_data ? of_data.end() : of_data.begin(), read_channel);
        of_grad.insert(filters_inside ? of_grad.end() : of_grad.begin(), filter);
        of_data.insert(of_data.begin(), axes[0].var());
        of_grad.insert(of_grad.begin(), axes[0].var());
        return te::sum(tw::cast(type, of_filters(of_grad)) * tw::cast(type, read(of_data)), axes);
      },
      "weight_grad_taps");
  std::vector<Expr> result = {filters, in_group};
  result.insert(result.end(), kernel.begin(), kernel.end());
  return te::compute(
      result,
      [&](const std::vector<Var>& i) {
        std::vector<Expr> at(i.begin() + 2, i.end());
        at.emplace_back(filters_inside ? i[1] : i[0]);
        at.emplace_back(filters_inside ? i[0] : i[1]);
        return tw::cast(sum_type, sums(at));
      },
      "weight_grad", kInjective);
}

}  // namespace tw::topi::nn
