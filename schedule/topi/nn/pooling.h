// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

enum class PoolType : uint8_t { Max, Average };

// Where the last window of a dimension does not fit whole, it is left out (Down), kept (Up), or
// kept where it begins before the end of the data, and not in the padding behind it (UpInside).
enum class Rounding : uint8_t { Down, Up, UpInside };

// [N, C, H, W], or with channels in blocks [N, C / c, H, W, c]. `kernel`, `stride`, `dilation`: one
// value or (vertical, horizontal).
Tensor pool2d(const Tensor& data, const std::vector<int64_t>& kernel,
              const std::vector<int64_t>& stride, const std::vector<int64_t>& dilation,
              const Padding& padding, PoolType type, Rounding rounding = Rounding::Down,
              bool count_include_pad = true);
// One window over all of H and W: [N, C, H, W] -> [N, C, 1, 1]. ONNX GlobalMaxPool,
// GlobalAveragePool.
Tensor global_pool(const Tensor& data, PoolType type);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> pooling_rows();

}  // namespace tw::topi::nn
