// SPDX-License-Identifier: Apache-2.0
// Operators that move elements and compute nothing. Element types stay.
#pragma once

#include <string>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi {

// Dimension d of the result is dimension axes[d] of `a`; all reversed when `axes` is empty.
// BadArgument unless axes is a permutation. ONNX Transpose.
Tensor transpose(const Tensor& a, const std::vector<int>& axes = {},
                 const std::string& name = "T_transpose", const std::string& tag = kInjective);
// The elements in row-major order under another shape. One extent may be -1 and is then found from
// the rest. BadShape when the numbers of elements are known to differ. NumPy reshape.
Tensor reshape(const Tensor& a, const std::vector<Expr>& shape,
               const std::string& name = "T_reshape", const std::string& tag = kInjective);
// Tensors of one type and, but for `axis`, one shape, one after the other. ONNX Concat.
Tensor concatenate(const std::vector<Tensor>& tensors, int axis = 0,
                   const std::string& name = "T_concat", const std::string& tag = kInjective);
// Without the dimensions `axis`, which must have extent 1; empty means all such. NumPy squeeze.
Tensor squeeze(const Tensor& a, const std::vector<int>& axis = {},
               const std::string& name = "T_squeeze", const std::string& tag = kInjective);
// With `count` dimensions of extent 1 before dimension `axis` (of the result). NumPy expand_dims.
Tensor expand_dims(const Tensor& a, int axis, int count = 1,
                   const std::string& name = "T_expand_dims", const std::string& tag = kBroadcast);

namespace nn {

// [N, C, …] becomes [N, C·…]; rank 1 becomes [N, 1]. ONNX Flatten with axis 1.
Tensor flatten(const Tensor& a, const std::string& name = "tensor",
               const std::string& tag = kInjective);

}  // namespace nn
// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> transform_rows();

}  // namespace tw::topi
