// SPDX-License-Identifier: Apache-2.0
// Which tile extents a knob offers.
#pragma once

#include <cstdint>
#include <vector>

namespace tw::autotune {

// Ways to cut an extent into `levels` nested tiles: (t_1, …, t_levels), outer to inner, where t_k
// is the number of tiles of level k+1 inside one of level k; the loops over the outermost tiles
// take what is left. Every product divides the extent; where no innermost tile is then a multiple
// of `preferred_inner`, multiples of it (or of fewer lanes that cover the extent) are offered too,
// and the last tile is partial. So are rows, where no few of them divide the extent.
struct TileLimits {
  int levels = 3;
  int64_t greatest_inner = 64;      // of the innermost level
  int64_t greatest_product = 1024;  // of all levels but the outermost
  int64_t preferred_inner = 1;      // vector lanes, or 1: rows
};
std::vector<std::vector<int64_t>> tile_choices(int64_t extent, const TileLimits& limits);

std::vector<int64_t> divisors(int64_t n);

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace tw::autotune
