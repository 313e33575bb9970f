// SPDX-License-Identifier: Apache-2.0
// Reductions over axes, NumPy's sum, max, min, prod, mean, argmax, argmin (ONNX ReduceSum, …).
// `axis` lists dimensions, counted from the end when negative; empty means all of them. Reduced
// dimensions vanish, or stay with extent 1 with `keepdims`. BadArgument for axes that are not
// there.
#pragma once

#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi {

// Sums in the type of the elements, in order of the positions. TypeMismatch for bool.
Tensor sum(const Tensor& data, const std::vector<int>& axis = {}, bool keepdims = false);
Tensor prod(const Tensor& data, const std::vector<int>& axis = {}, bool keepdims = false);
// The least finite value (max) or the greatest (min) where no element is beyond it.
Tensor max(const Tensor& data, const std::vector<int>& axis = {}, bool keepdims = false);
Tensor min(const Tensor& data, const std::vector<int>& axis = {}, bool keepdims = false);
// Of bool elements: whether all are, or any is true.
Tensor all(const Tensor& data, const std::vector<int>& axis = {}, bool keepdims = false);
Tensor any(const Tensor& data, const std::vector<int>& axis = {}, bool keepdims = false);
// sum / number of elements. TypeMismatch unless floating.
Tensor mean(const Tensor& data, const std::vector<int>& axis = {}, bool keepdims = false);
// Position of the extreme element in the reduced dimensions, row-major, int32; of several equal
// ones the first, or the last with `select_last_index`. NaN, as NumPy has it, is beyond all
// numbers. A compute with two outputs, index and value, then one that keeps the index.
Tensor argmax(const Tensor& data, const std::vector<int>& axis = {}, bool keepdims = false,
              bool select_last_index = false);
Tensor argmin(const Tensor& data, const std::vector<int>& axis = {}, bool keepdims = false,
              bool select_last_index = false);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> reduction_rows();

}  // namespace tw::topi
