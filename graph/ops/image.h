// SPDX-License-Identifier: Apache-2.0
// What operators on images share: layouts, and windows that slide.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "graph/layout.h"
#include "graph/op.h"
#include "graph/ops/common.h"

namespace tw::graph {

// For each letter of a layout its place in another.
using Places = std::vector<int>;
Places places(std::string_view from, std::string_view to);
// The inference's error unless the attribute is a permutation of the letters.
void require_permutation(const ShapeInference& s, std::string_view attribute, std::string_view of);
// A shape with extent d at at[d], and extent d of one; unknown where the rank is.
Shape placed(const Places& at, std::initializer_list<int64_t> extents);
int64_t extent(const Shape& shape, const Places& at, size_t d);
// The tensor with its dimensions in another order.
te::Tensor ordered(const te::Tensor& tensor, std::string_view from, std::string_view to);

// The spatial dimensions of images, in the order D, H, W.
std::string spatial_letters(const Layout& images);
// The layout of images that an attribute names, in which anything but spatial dimensions may be in
// blocks; the inference's error where it has other dimensions than `natural`, NCHW say.
Layout image_layout_of(const ShapeInference& s, std::string_view attribute,
                       std::string_view natural = "NCHW");
// Narrows input and output, images in one layout: `output` and `input` say what extents are of each
// other's, letter by letter.
void narrow_images(ShapeInference& s, const Layout& layout, const LayoutExtents& input,
                   const LayoutExtents& output);
// What `f` makes of images in a layout, in that layout: it is called on N, C, spatial dimensions
// and blocks behind them.
te::Tensor on_images(const te::Tensor& tensor, std::string_view layout,
                     const std::function<te::Tensor(const te::Tensor&)>& f);
// Images (n, c, …) whose pixels stand along one dimension, (n, c, pixels).
Entry pixels_in_line(const GradientOf& n, const Entry& images, size_t spatial);

// A window along one dimension.
struct Window {
  int64_t kernel, stride, dilation, before, after;
  bool round_up = false;  // a last one that does not fit whole counts too
  bool inside = false;    // but not one that begins in the padding behind the image
};
// Its positions over an extent; unknown where the extent is.
int64_t window_positions(const ShapeInference& s, int64_t extent, const Window& window);

}  // namespace tw::graph
