// SPDX-License-Identifier: Apache-2.0
// Padding with elements of the tensor itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

// What stands around the elements 1 2 3: Edge 1 1|1 2 3|3 3, Reflect 3 2|1 2 3|2 1, Symmetric
// 2 1|1 2 3|3 2, Wrap 2 3|1 2 3|1 2; further out it goes on so. NumPy's pad.
enum class PadMode : uint8_t { Edge, Reflect, Symmetric, Wrap };
// "edge", "reflect", "symmetric", "wrap"; BadArgument for other words.
PadMode pad_mode_of(const std::string& word);

// `before` and `after`: elements around each dimension. BadShape unless there is an amount of at
// least 0 for each dimension, and an element in each that is padded.
Tensor pad_by_elements(const Tensor& data, const std::vector<int64_t>& before,
                       const std::vector<int64_t>& after, PadMode mode);
// The gradient of what was padded, whose shape is constant, from that of the result.
Tensor pad_by_elements_gradient(const Tensor& grad, const Tensor& data,
                                const std::vector<int64_t>& before,
                                const std::vector<int64_t>& after, PadMode mode);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> mirror_pad_rows();

}  // namespace tw::topi::nn
