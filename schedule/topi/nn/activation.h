// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

// max(x, 0). ONNX Relu.
Tensor relu(const Tensor& x, const std::string& name = "T_relu",
            const std::string& tag = kElementwise);
// x where positive, else alpha * x. TypeMismatch unless floating. ONNX LeakyRelu.
Tensor leaky_relu(const Tensor& x, double alpha, const std::string& name = "T_leaky_relu",
                  const std::string& tag = kElementwise);
// x where positive, else slope * x, with slope [C] for dimension `axis`, or [C / c, c] where blocks
// of c channels are the last dimension. ONNX PRelu.
Tensor prelu(const Tensor& x, const Tensor& slope, int axis = 1,
             const std::string& name = "T_prelu", const std::string& tag = kBroadcast);
// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> activation_rows();

}  // namespace tw::topi::nn
