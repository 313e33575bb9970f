// SPDX-License-Identifier: Apache-2.0
// Nonlinearities: functions of one element with parameters of their own. TypeMismatch unless
// floating, and BadArgument for parameters that they cannot have.
#pragma once

#include <string>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

// x where positive, else alpha * (exp(x) - 1); ONNX Elu.
Tensor elu(const Tensor& x, double alpha = 1);
// gamma * elu(x, alpha); ONNX Selu.
Tensor selu(const Tensor& x, double alpha = 1.67326319217681884765625,
            double gamma = 1.05070102214813232421875);
// x where positive, else alpha * (exp(x / alpha) - 1); ONNX Celu. alpha is not 0.
Tensor celu(const Tensor& x, double alpha = 1);
// x times the share of a normal distribution below x: `approximate` is "none", or "tanh" for
// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x³))). ONNX Gelu.
Tensor gelu(const Tensor& x, const std::string& approximate = "none");
// x * sigmoid(x); ONNX Swish.
Tensor silu(const Tensor& x);
// x * tanh(log(1 + exp(x))); ONNX Mish.
Tensor mish(const Tensor& x);
// log(1 + exp(beta * x)) / beta, beta not 0; ONNX Softplus has beta 1.
Tensor softplus(const Tensor& x, double beta = 1);
// x / (1 + |x|); ONNX Softsign.
Tensor softsign(const Tensor& x);
// max(0, min(x, 6)).
Tensor relu6(const Tensor& x);
// max(0, min(alpha * x + beta, 1)); ONNX HardSigmoid.
Tensor hard_sigmoid(const Tensor& x, double alpha = 0.2, double beta = 0.5);
// x * max(0, min(x + 3, 6)) / 6; ONNX HardSwish.
Tensor hard_swish(const Tensor& x);
// x where it is above alpha, else 0; ONNX ThresholdedRelu.
Tensor thresholded_relu(const Tensor& x, double alpha = 1);
// x + bias below -lambd, x - bias above lambd, else 0; ONNX Shrink.
Tensor shrink(const Tensor& x, double bias = 0, double lambd = 0.5);
// 1 at the greatest element along `axis`, the first of equals, else 0, in the type of x, which may
// be any. BadArgument for an axis that is not there. ONNX Hardmax (opset 13).
Tensor hardmax(const Tensor& x, int axis = -1);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> nonlinearity_rows();

}  // namespace tw::topi::nn
