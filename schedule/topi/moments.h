// SPDX-License-Identifier: Apache-2.0
// Reductions that are made of several. `axis` and `keepdims` are those of reduction.h.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi {

// log(sum(exp(x))), in which no exponential overflows. Floating. ONNX ReduceLogSumExp.
Tensor logsumexp(const Tensor& data, const std::vector<int>& axis = {}, bool keepdims = false);
// The sum of absolute values (ord 1), or the root of the sum of squares (ord 2), which is floating.
// BadArgument for other ords. ONNX ReduceL1, ReduceL2.
Tensor norm(const Tensor& data, int64_t ord = 2, const std::vector<int>& axis = {},
            bool keepdims = false);
// The mean square distance from the mean; `unbiased`: divided by one less than the elements.
// Floating. NumPy var.
Tensor variance(const Tensor& data, const std::vector<int>& axis = {}, bool keepdims = false,
                bool unbiased = false);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> moments_rows();

}  // namespace tw::topi
