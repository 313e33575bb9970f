// SPDX-License-Identifier: Apache-2.0
// Elements by their positions along a dimension, and back: what gradients of operators that choose
// elements are computed with. A position that is none, such as -1, chooses nothing.
#pragma once

#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi {

// out[.., t, ..] = data[.., indices[.., t, ..], ..], or 0; `indices`, integers, have the extents of
// data in all other dimensions. BadShape where not.
Tensor select_along(const Tensor& data, const Tensor& indices, int axis);
// Zeros of that extent along `axis`, to which each element of `values` is added at its position.
Tensor place_along(const Tensor& values, const Tensor& indices, int64_t extent, int axis);

}  // namespace tw::topi
