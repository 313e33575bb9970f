// SPDX-License-Identifier: Apache-2.0
// Gradients of pooling.
#pragma once

#include <vector>

#include "schedule/topi/nn/pooling.h"

namespace tw::topi::nn {

// How images were pooled: the arguments of pool2d.
struct Pooling {
  std::vector<int64_t> kernel, stride;
  Padding padding = {};
  PoolType type = PoolType::Max;
  Rounding rounding = Rounding::Down;
  bool count_include_pad = true;
};

// The gradient of what was pooled, `data`, from that of the result: [N, C, H, W], or with channels
// in blocks. Of equal elements of a window the first in row-major order is the greatest, as in
// PyTorch.
Tensor pool_grad(const Tensor& grad, const Tensor& data, const Pooling& pooling);
// The element of `values`, which has the shape of data, at the place where each window of data has
// its greatest; 0 for windows without elements. The transpose of pool_grad of maxima.
Tensor pool_select(const Tensor& values, const Tensor& data, const Pooling& pooling);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> pool_grad_rows();

}  // namespace tw::topi::nn
