// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

enum class PoolType : uint8_t { Max, Average };

// The greatest element, or the mean, of each window of data [N, C, H, W]. `kernel`, `stride`,
// `dilation`: one value or (vertical, horizontal); `padding`: one value, (vertical, horizontal) or
// (top, left, bottom, right). `ceil_mode` adds the last, incomplete window unless it would start
// behind the data and its padding before. A mean is over the elements of data in the window, or,
// with `count_include_pad`, over those and the padding, but never over what ceil_mode adds. A
// maximum disregards padding. BadShape unless rank 4, or for an empty result; BadArgument for
// values out of range; TypeMismatch for means of integers. ONNX MaxPool and AveragePool; TVM's
// pool2d.
Tensor pool2d(const Tensor& data, const std::vector<int64_t>& kernel,
              const std::vector<int64_t>& stride, const std::vector<int64_t>& dilation,
              const std::vector<int64_t>& padding, PoolType type, bool ceil_mode = false,
              bool count_include_pad = true);
// One window over all of H and W: [N, C, H, W] -> [N, C, 1, 1]. ONNX GlobalMaxPool,
// GlobalAveragePool.
Tensor global_pool(const Tensor& data, PoolType type);

}  // namespace tw::topi::nn
