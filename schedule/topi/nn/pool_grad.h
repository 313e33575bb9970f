// SPDX-License-Identifier: Apache-2.0
// Gradients of pooling.
#pragma once

#include <vector>

#include "schedule/topi/nn/pooling.h"

namespace tw::topi::nn {

// The gradient of what was pooled, `data`, from that of the result. Of equal elements of a window
// the first in row-major order is the greatest, as in PyTorch.
Tensor pool_grad(const Tensor& grad, const Tensor& data, size_t spatial, const Pooling& pooling);
// The element of `values`, which has the shape of data, at the place where each window of data has
// its greatest; 0 for windows without elements. The transpose of pool_grad of maxima.
Tensor pool_select(const Tensor& values, const Tensor& data, size_t spatial,
                   const Pooling& pooling);
// Where each window of data has its greatest element: its place among the pixels of an image,
// row-major, int32; -1 for windows without elements.
Tensor pool_places(const Tensor& data, size_t spatial, const Pooling& pooling);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> pool_grad_rows();

}  // namespace tw::topi::nn
