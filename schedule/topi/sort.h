// SPDX-License-Identifier: Apache-2.0
// Elements in order along a dimension. Equal elements keep their order; NaN is beyond all numbers:
// last of ascending elements, first of descending ones. The dimension's extent must be constant
// (BadShape). Rows are sorted one beside the other, each in O(n log n).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi {

// The elements in order. NumPy sort(kind="stable").
Tensor sort(const Tensor& data, int axis = -1, bool is_ascend = true);
// Their positions, of type `dtype`. With `valid_count`, int32 of the shape of data without the
// dimension, only so many of each row are sorted, and the others keep their places.
Tensor argsort(const Tensor& data, const std::optional<Tensor>& valid_count = {}, int axis = -1,
               bool is_ascend = true, DType dtype = float_type(32));
// The first `k` of the elements in order, all where k is below 1, and their positions of type
// `dtype`; ret_type "values" or "indices" gives one of the two. O(n log k). BadArgument for more
// than there are. ONNX TopK.
std::vector<Tensor> topk(const Tensor& data, int64_t k = 1, int axis = -1,
                         const std::string& ret_type = "both", bool is_ascend = false,
                         DType dtype = int_type(64));

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> sort_rows();

}  // namespace tw::topi
