// SPDX-License-Identifier: Apache-2.0
// Images of another size, by interpolation along one spatial dimension after the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::image {

// The words are ONNX Resize's, version 19; "nearest_neighbor" and "round" are TVM's for "nearest"
// and "round_prefer_floor".
struct Resize {
  std::string method = "linear";  // nearest, linear, cubic
  // half_pixel, half_pixel_symmetric, pytorch_half_pixel, align_corners, asymmetric,
  // tf_half_pixel_for_nn, tf_crop_and_resize
  std::string coordinates = "half_pixel";
  std::string rounding = "round_prefer_floor";  // of nearest; round_prefer_ceil, floor, ceil
  double cubic_alpha = -0.75;
  bool exclude_outside = false;  // taps outside of the image count nothing, else as its border
  bool antialias = false;        // filters of linear and cubic are as wide as pixels of the result
  double extrapolation_value = 0;  // of what tf_crop_and_resize takes from outside of the image
  // Extents of the result in parts of the image's, one for each spatial dimension; empty: as they
  // are. The two differ where an extent has been rounded.
  std::vector<double> scales = {};
  // Of tf_crop_and_resize: where it begins, and then where it ends, in parts of each dimension.
  std::vector<double> roi = {};
};

// data [N, C, ...] -> [N, C, *size] with as many spatial dimensions as size has; further dimensions
// behind these stay. Extents are constant. Integers are interpolated as float32 and rounded.
// BadArgument for unknown words and sizes below 1; BadShape for symbolic or empty images.
Tensor resize(const Tensor& data, const std::vector<int64_t>& size, const Resize& how);
// The gradient of resize's data from that of its result; spatial extents are those of `data`.
Tensor resize_gradient(const Tensor& grad, const Tensor& data, const std::vector<int64_t>& size,
                       const Resize& how);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> resize_rows();

}  // namespace tw::topi::image
