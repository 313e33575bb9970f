// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

// exp(x - max) / sum(exp(x - max)) along `axis`, so that no exponential overflows. Stages
// T_softmax_maxelem, T_softmax_exp, T_softmax_expsum, T_softmax_norm. TypeMismatch unless floating;
// BadArgument for an axis that is not there. ONNX Softmax (opset 13).
Tensor softmax(const Tensor& x, int axis = -1);
// x - max - log(sum(exp(x - max))) along `axis`. ONNX LogSoftmax (opset 13).
Tensor log_softmax(const Tensor& x, int axis = -1);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> softmax_rows();

}  // namespace tw::topi::nn
