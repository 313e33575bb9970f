// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

// The sum of `size` elements along a dimension, about each of them: (size - 1) / 2 before it, and
// one more behind it where size is even; `reverse`: before it. What lies outside counts nothing.
// BadArgument for sizes below 1.
Tensor window_sum(const Tensor& data, int64_t size, int axis, bool reverse = false);
// x / (bias + alpha / size * window_sum(x * x)) ** beta. TypeMismatch unless floating. Krizhevsky,
// Sutskever and Hinton, "ImageNet Classification with Deep Convolutional Neural Networks", section
// 3.3. ONNX LRN.
Tensor lrn(const Tensor& data, int64_t size, int axis = 1, double alpha = 0.0001,
           double beta = 0.75, double bias = 2);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> lrn_rows();

}  // namespace tw::topi::nn
