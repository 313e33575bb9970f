// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

// Every pixel `scale_h` times below itself and `scale_w` times beside: [N, C, H, W] ->
// [N, C, H * scale_h, W * scale_w]; further dimensions, blocks of channels, stay. BadArgument for
// scales below 1. ONNX Resize, nearest.
Tensor upsampling(const Tensor& data, int64_t scale_h, int64_t scale_w,
                  const std::string& name = "upsampling", const std::string& tag = kInjective);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> upsampling_rows();

}  // namespace tw::topi::nn
