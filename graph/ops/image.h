// SPDX-License-Identifier: Apache-2.0
// What operators on images share: layouts, and windows that slide.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "graph/op.h"

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

// A window along one dimension.
struct Window {
  int64_t kernel, stride, dilation, before, after;
  bool round_up = false;  // a last one that does not fit whole counts too
};
// Its positions over an extent; unknown where the extent is.
int64_t window_positions(const ShapeInference& s, int64_t extent, const Window& window);

}  // namespace tw::graph
