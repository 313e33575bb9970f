// SPDX-License-Identifier: Apache-2.0
// Attributes of windows that slide over images: those of convolutions and poolings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/onnx/converter.h"

namespace tw::graph::onnx {

struct Windows {
  std::vector<int64_t> kernel, strides, dilations;  // a value for each dimension of the image
  std::vector<int64_t> pads;                        // before each dimension, then behind each
};

// What a node says of its windows over input 0, (n, c, …), whose `kernel_shape` may be left out
// where `kernel` is not empty. Padding by `auto_pad` is worked out. Images of one to three
// dimensions.
Windows windows_of(Call& c, const std::vector<int64_t>& kernel);

// The attributes of a convolution with those weights, (channels, c / groups, …), over input 0, and
// of a pooling of input 0.
Attributes convolution_of(Call& c, const Value& weight);
Attributes pooling_of(Call& c);

// "conv?d" for two spatial dimensions: "conv2d".
std::string of_dimensions(std::string_view pattern, int64_t spatial);

}  // namespace tw::graph::onnx
