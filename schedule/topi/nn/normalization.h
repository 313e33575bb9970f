// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

// (x - mean) / sqrt(variance + epsilon) * gamma + beta, mean and (biased) variance over `axis` of
// each group. gamma and beta have the extents of those dimensions; an undefined tensor means 1, 0.
// Mean and variance are stages of their own, the variance from the differences to the mean.
// TypeMismatch unless floating; BadShape when extents do not fit. ONNX LayerNormalization.
Tensor layer_norm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                  const std::vector<int>& axis = {-1}, double epsilon = 1e-5);
// Inference: (x - mean) / sqrt(variance + epsilon) * gamma + beta with [C] statistics for dimension
// `axis`, or [C / c, c] where blocks of c channels are the last dimension, as scale and shift
// computed once a channel. ONNX BatchNormalization.
Tensor batch_norm(const Tensor& data, const Tensor& gamma, const Tensor& beta,
                  const Tensor& moving_mean, const Tensor& moving_variance, int axis = 1,
                  double epsilon = 1e-5);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> normalization_rows();

}  // namespace tw::topi::nn
