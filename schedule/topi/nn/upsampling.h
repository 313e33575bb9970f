// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

// Every pixel so many times along each spatial dimension: [N, C, H, W] -> [N, C, H * scales[0],
// W * scales[1]], and likewise for other numbers of them; further dimensions, blocks of channels,
// stay. BadArgument for scales below 1. ONNX Resize, nearest.
Tensor upsampling(const Tensor& data, const std::vector<int64_t>& scales,
                  const std::string& name = "upsampling", const std::string& tag = kInjective);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> upsampling_rows();

}  // namespace tw::topi::nn
