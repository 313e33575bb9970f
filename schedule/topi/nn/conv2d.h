// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

// Two-dimensional cross-correlation, as in ONNX Conv and TVM's topi.nn.conv2d_nchw.
//   data [N, C, H, W], weight [F, C / groups, KH, KW] -> [N, F, OH, OW]
//   OH = (H + top + bottom - ((KH - 1) * dilation + 1)) / stride + 1, and OW likewise
// `strides` and `dilation`: one value or (vertical, horizontal); `padding`: one value, (vertical,
// horizontal) or (top, left, bottom, right). Products and sums are of `out_type`, by default the
// type of data. With padding, a stage "pad_temp" stands before the stage "compute", whose axes are
// nn, ff, yy, xx, rc, ry, rx. BadShape for ranks or extents that do not fit, an empty result, or
// groups that do not divide both channels; BadArgument for values out of range.
Tensor conv2d_nchw(const Tensor& data, const Tensor& weight,
                   const std::vector<int64_t>& strides = {1},
                   const std::vector<int64_t>& padding = {0},
                   const std::vector<int64_t>& dilation = {1}, int64_t groups = 1,
                   std::optional<DType> out_type = {});

// The same with channels in blocks, as oneDNN keeps images: TVM's topi.nn.conv2d_NCHWc.
//   data [N, C / c, H, W, c], weight [F / f, C / c, KH, KW, c, f] -> [N, F / f, OH, OW, f]
// The axes of the stage "conv2d_NCHWc" are nn, ff, yy, xx, fb, rc, ry, rx, rb, where fb and rb are
// places in a block.
Tensor conv2d_nchwc(const Tensor& data, const Tensor& weight,
                    const std::vector<int64_t>& strides = {1},
                    const std::vector<int64_t>& padding = {0},
                    const std::vector<int64_t>& dilation = {1}, std::optional<DType> out_type = {});

}  // namespace tw::topi::nn
