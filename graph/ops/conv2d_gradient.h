// SPDX-License-Identifier: Apache-2.0
// The gradients of a convolution as computations.
#pragma once

#include "schedule/te/operation.h"
#include "schedule/topi/common.h"

namespace tw::graph {

struct Convolution {
  topi::Pair stride, dilation;
  int64_t top, left;  // padding
  int64_t groups;
};

// grad [N, O, OH, OW], weight [O, C / groups, KH, KW] -> [N, C, H, W], where H and W are `rows` and
// `columns`: what each element of the data adds to the output, times grad.
te::Tensor conv2d_data_gradient(const te::Tensor& grad, const te::Tensor& weight, const Expr& rows,
                                const Expr& columns, const Convolution& conv);
// grad [N, O, OH, OW], data [N, C, H, W] -> [O, C / groups, KH, KW].
te::Tensor conv2d_weight_gradient(const te::Tensor& grad, const te::Tensor& data,
                                  const Expr& kernel_rows, const Expr& kernel_columns,
                                  const Convolution& conv);

}  // namespace tw::graph
