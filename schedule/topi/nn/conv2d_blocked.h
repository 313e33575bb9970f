// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

// Convolutions of images whose channels are in blocks. Arguments and errors are those of conv.

// Channels in blocks: TVM's topi.nn.conv2d_NCHWc. The axes of the stage "conv2d_NCHWc" are nn, ff,
// yy, xx, fb, rc, ry, rx, rb, where fb and rb are places in a block. Data of few channels, as the
// first convolution of a network has, may be [N, C, H, W] with weight [F / f, C, KH, KW, f]; there
// is no axis rb then.
Tensor conv2d_nchwc(const Tensor& data, const Tensor& weight,
                    const std::vector<int64_t>& strides = {1}, const Padding& padding = {},
                    const std::vector<int64_t>& dilation = {1}, std::optional<DType> out_type = {});

// Each channel with filters of its own: weight [F / f, 1, KH, KW, 1, f], where F is a multiple of
// C. TVM's topi.nn.depthwise_conv2d_NCHWc. The stage is
// "depthwise_conv2d_NCHWc", its axes nn, ff, yy, xx, fb, ry, rx.
Tensor depthwise_conv2d_nchwc(const Tensor& data, const Tensor& weight,
                              const std::vector<int64_t>& strides = {1},
                              const Padding& padding = {},
                              const std::vector<int64_t>& dilation = {1},
                              std::optional<DType> out_type = {});

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> conv2d_blocked_rows();

}  // namespace tw::topi::nn
