// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "graph/node.h"

namespace tw::graph {

// What is done about an x to which every way ends at an operator that passes no gradient on: it is
// an error (NoGradient), or its gradient is zero.
enum class WhereItEnds : uint8_t { Raise, Zero };

// The gradients of the sum of all ys with respect to xs, in reverse mode. `of_ys`: the gradients of
// the ys; none: ones. An x on which no y depends has zeros.
std::vector<Entry> differentiate(const std::vector<Entry>& ys, const std::vector<Entry>& xs,
                                 const std::vector<Entry>& of_ys,
                                 WhereItEnds where_it_ends = WhereItEnds::Raise);

}  // namespace tw::graph
