// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "ir/node.h"

namespace tw {

// The extents of the memory of a tensor of elements of a type: memory holds scalars, so elements
// that are vectors are rows of their lanes.
inline std::vector<Expr> memory_shape(std::vector<Expr> shape, DType type) {
  if (type.is_vector()) shape.emplace_back(int{type.lanes});
  return shape;
}

}  // namespace tw
