// SPDX-License-Identifier: Apache-2.0
// Images read at positions that a tensor gives. Jaderberg et al., "Spatial Transformer Networks",
// 2015.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::image {

// How positions are read. Of a dimension -1 and 1 are the centers of its first and last pixels with
// `align_corners`, else their outer edges.
struct GridSample {
  std::string method = "bilinear";  // nearest, whose halves are even; bilinear; bicubic of images
                                    // of two dimensions, with Keys' factor -0.75
  // What lies outside of an image: 0 (zeros), its nearest pixel (border), or its mirror image
  // (reflection), about centers of pixels with `align_corners` and else about their edges.
  std::string padding = "zeros";
  bool align_corners = true;
};

// data [n, c, ...] at the positions of grid [n, d, ...], of d spatial dimensions, the last one
// first: [n, c, ...] with the spatial extents of grid. BadShape for images whose spatial extents
// are symbolic or 0; BadArgument for unknown words. PyTorch's grid_sample, with TVM's order of the
// grid.
Tensor grid_sample(const Tensor& data, const Tensor& grid, const GridSample& how);

// Positions [n, d, *target_shape] for grid_sample: those of an image of that shape, moved by
// matrices data [n, d, d + 1].
Tensor affine_grid(const Tensor& data, const std::vector<int64_t>& target_shape,
                   bool align_corners = true);
// The gradient of affine_grid's data, [n, d, d + 1], from that of its result.
Tensor affine_grid_grad(const Tensor& grad, bool align_corners = true);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> grid_sample_rows();

}  // namespace tw::topi::image
