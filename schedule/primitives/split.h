// SPDX-License-Identifier: Apache-2.0
// What primitives that split or order axes share.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "schedule/primitive.h"

namespace tw {

// FactorNotPositive unless 0 < value.
void require_positive(const PrimitiveCall& call, const IterVar& axis, std::string_view name,
                      int64_t value);
// Splits a leaf axis; one of `factor` and `nparts` is defined.
std::pair<IterVar, IterVar> split_axis(StageData& stage, const IterVar& parent, const Expr& factor,
                                       const Expr& nparts, int step);
// Puts the leaf axes into this order on the places they have.
void order_axes(StageData& stage, const std::vector<IterVar>& axes);

}  // namespace tw
