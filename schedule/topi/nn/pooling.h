// SPDX-License-Identifier: Apache-2.0
// Pooling over one, two or three spatial dimensions.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

enum class PoolType : uint8_t { Max, Average, Sum };

// Where the last window of a dimension does not fit whole, it is left out (Down), kept (Up), or
// kept where it begins before the end of the data, and not in the padding behind it (UpInside).
enum class Rounding : uint8_t { Down, Up, UpInside };

// How images are pooled. `kernel`, `stride`, `dilation`: one value, or one for each spatial
// dimension. With an `output_size` windows do not slide: there are so many, which cover the image;
// window i of n of them reaches from floor(i * extent / n) to ceil((i + 1) * extent / n).
struct Pooling {
  std::vector<int64_t> kernel = {1}, stride = {1}, dilation = {1};
  Padding padding = {};
  PoolType type = PoolType::Max;
  Rounding rounding = Rounding::Down;
  bool count_include_pad = true;
  std::vector<int64_t> output_size = {};
};

// [N, C, ...] with so many spatial dimensions, or with channels in blocks behind them as in
// [N, C / c, H, W, c].
Tensor pool(const Tensor& data, size_t spatial, const Pooling& pooling);
Tensor pool2d(const Tensor& data, const std::vector<int64_t>& kernel,
              const std::vector<int64_t>& stride, const std::vector<int64_t>& dilation,
              const Padding& padding, PoolType type, Rounding rounding = Rounding::Down,
              bool count_include_pad = true);
// One window over all of each image: [N, C, H, W] -> [N, C, 1, 1]. ONNX GlobalMaxPool,
// GlobalAveragePool.
Tensor global_pool(const Tensor& data, PoolType type, size_t spatial = 2);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> pooling_rows();

}  // namespace tw::topi::nn
