// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

// data / sqrt(mean(data²) + epsilon) * gamma, the mean over `axis` of each group. gamma has the
// extents of those dimensions; an undefined tensor means 1. Zhang and Sennrich, "Root Mean Square
// Layer Normalization". TypeMismatch unless floating; BadShape when extents do not fit. ONNX
// RMSNormalization.
Tensor rms_norm(const Tensor& data, const Tensor& gamma, const std::vector<int>& axis = {-1},
                double epsilon = 1e-5);
// data / sqrt(max(sum(data²), eps)), the sum over `axis`, all dimensions where it is empty.
// TypeMismatch unless floating. TVM's topi.nn.l2_normalize.
Tensor l2_normalize(const Tensor& data, double eps, const std::vector<int>& axis = {});

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> root_normalization_rows();

}  // namespace tw::topi::nn
