// SPDX-License-Identifier: Apache-2.0
// Products of matrices. Products and sums are of `out_type`, by default the type of the first
// operand. BadShape when ranks or extents do not fit.
#pragma once

#include <optional>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

// data [M, K], weight [N, K] -> [M, N]: data · weightᵀ, plus bias [N] (an undefined tensor: none)
// in a stage of its own. Axes i, j, k. TVM's topi.nn.dense, PyTorch's Linear.
Tensor dense(const Tensor& data, const Tensor& weight, const Tensor& bias = {},
             std::optional<DType> out_type = {});
// a [M, K] (or [K, M], transposed), b [K, N] (or [N, K]) -> [M, N]. TVM's topi.nn.matmul; ONNX Gemm
// with alpha and beta 1.
Tensor matmul(const Tensor& a, const Tensor& b, const Tensor& bias = {},
              std::optional<DType> out_type = {}, bool transpose_a = false,
              bool transpose_b = false);
// a [B, M, K], b [B, N, K] -> [B, M, N], one product for each b; operands transposed as said. There
// may be any number of dimensions B, aligned at the last; where one is 1 or missing it is repeated.
// TVM's topi.nn.batch_matmul.
Tensor batch_matmul(const Tensor& a, const Tensor& b, std::optional<DType> out_type = {},
                    bool transpose_a = false, bool transpose_b = true);
// data plus bias [C] along dimension `axis` of extent C. TVM's nn.bias_add.
Tensor bias_add(const Tensor& data, const Tensor& bias, int axis = 1);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> dense_rows();

}  // namespace tw::topi::nn

namespace tw::topi {

// a [M, K], b [K, N] -> [M, N]; TVM's topi.matmul.
Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a = false, bool transpose_b = false);

}  // namespace tw::topi
