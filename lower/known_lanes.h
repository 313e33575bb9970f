// SPDX-License-Identifier: Apache-2.0
// What the lanes of a vector without variables are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/expr.h"

namespace tw::pass {

// The integers of a vector's lanes; nothing where they depend on a variable or on memory.
std::optional<std::vector<int64_t>> known_lanes(const Expr& vector);

// The lanes that a mask turns on: all `lanes` of one that is undefined; nothing where that is not
// known.
std::optional<std::vector<bool>> known_mask(const Expr& mask, int lanes);

}  // namespace tw::pass
