// SPDX-License-Identifier: Apache-2.0
// Convolutions over one, two or three spatial dimensions, and what is linear in their data or
// weight: transposed ones and gradients.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

// data [N, C, ...], weight [F, C / groups, ...] -> [N, F, ...], with one, two or three spatial
// dimensions in the place of `...`. `strides` and `dilation`: one value, or one for each of them.
// The stage is "compute", its axes nn, ff, (zz, yy,) xx, rc, (rz, ry,) rx; with padding a stage
// "pad_temp" stands before it. BadShape for ranks or extents that do not fit, an empty result, or
// groups that do not divide both channels; BadArgument for values out of range.
Tensor conv(const Tensor& data, const Tensor& weight, const std::vector<int64_t>& strides = {1},
            const Padding& padding = {}, const std::vector<int64_t>& dilation = {1},
            int64_t groups = 1, std::optional<DType> out_type = {});
// Of two spatial dimensions.
Tensor conv2d_nchw(const Tensor& data, const Tensor& weight,
                   const std::vector<int64_t>& strides = {1}, const Padding& padding = {},
                   const std::vector<int64_t>& dilation = {1}, int64_t groups = 1,
                   std::optional<DType> out_type = {});

// The transpose of a convolution with weight [C, F / groups, ...]: data [N, C, ...] -> [N, F, ...],
// each element of data spread over the window that it would have been computed from. Extents are
// (in - 1) * stride + (kernel - 1) * dilation + 1 + output_padding - padding. `output_padding`, one
// value or one for each dimension, is less than the stride or the dilation. Kernels have constant
// extents. ONNX ConvTranspose.
Tensor conv_transpose(const Tensor& data, const Tensor& weight,
                      const std::vector<int64_t>& strides = {1}, const Padding& padding = {},
                      const std::vector<int64_t>& output_padding = {0},
                      const std::vector<int64_t>& dilation = {1}, int64_t groups = 1,
                      std::optional<DType> out_type = {});
// The gradient of conv's data, whose spatial dimensions have these extents, from that of its
// result: grad [N, F, ...], weight [F, C / groups, ...] -> [N, C, ...].
Tensor conv_data_gradient(const Tensor& grad, const Tensor& weight,
                          const std::vector<Expr>& extents,
                          const std::vector<int64_t>& strides = {1}, const Padding& padding = {},
                          const std::vector<int64_t>& dilation = {1}, int64_t groups = 1,
                          std::optional<DType> out_type = {});
// The gradient of conv's weight, whose spatial dimensions have these extents: grad [N, F, ...],
// data [N, C, ...] -> [F, C / groups, ...].
Tensor conv_weight_gradient(const Tensor& grad, const Tensor& data, const std::vector<Expr>& kernel,
                            const std::vector<int64_t>& strides = {1}, const Padding& padding = {},
                            const std::vector<int64_t>& dilation = {1}, int64_t groups = 1,
                            std::optional<DType> out_type = {});

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> conv_rows();
std::vector<Operator> conv_transpose_rows();

}  // namespace tw::topi::nn
