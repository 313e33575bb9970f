// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/tiles.h"

#include <algorithm>
#include <bit>

namespace tw::autotune {
namespace {

constexpr size_t kMostChoices = 4096;
// Rows of a register tile: fewer leave its sums waiting for each other, and of more than 14 there
// are no two vectors each. Where no number of them divides an extent, the last tile is partial,
// which asks in every row: 384 to 64 channels at 13x13 took 120 us so, and 57 in 13 whole rows.
constexpr int64_t kLeastRows = 4, kMostRows = 14, kFewRows = 16;
constexpr int64_t kPartialRows[] = {4, 6, 8, 12};

// Extends `inner` (innermost level last) outwards by divisors of what is left.
void extend(int64_t rest, int64_t product, int levels, const TileLimits& limits,
            std::vector<int64_t>& tiles, std::vector<std::vector<int64_t>>& result) {
  if (levels == 0) {
    result.emplace_back(tiles.rbegin(), tiles.rend());
    return;
  }
  for (int64_t d : divisors(rest)) {
    // The outermost of the levels may be as large as it likes.
    if (levels > 1 && product * d > limits.greatest_product) break;
    tiles.push_back(d);
    extend(rest / d, product * d, levels - 1, limits, tiles, result);
    tiles.pop_back();
  }
}

}  // namespace

std::vector<int64_t> divisors(int64_t n) {
  std::vector<int64_t> low, high;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d != n / d) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

std::vector<std::vector<int64_t>> tile_choices(int64_t extent, const TileLimits& limits) {
  std::vector<std::vector<int64_t>> result;
  std::vector<int64_t> tiles;
  const bool rows = limits.preferred_inner <= 1;
  bool has_good_inner = rows && extent <= kFewRows;
  for (int64_t inner : divisors(extent)) {
    if (inner > limits.greatest_inner) break;
    has_good_inner |=
        rows ? kLeastRows <= inner && inner <= kMostRows : inner % limits.preferred_inner == 0;
    tiles = {inner};
    extend(extent / inner, inner, limits.levels - 1, limits, tiles, result);
  }
  const auto add_partial = [&](int64_t inner) {
    for (int64_t middle = 1; middle == 1 || middle * inner < 2 * extent; middle *= 2) {
      if (extent % (inner * middle) == 0) continue;  // one of those that divide
      std::vector<int64_t> partial(static_cast<size_t>(limits.levels), 1);
      partial.back() = inner;
      if (limits.levels > 1) partial[partial.size() - 2] = middle;
      result.push_back(partial);
    }
  };
  if (!has_good_inner && rows) {
    for (int64_t inner : kPartialRows) {
      if (inner <= limits.greatest_inner) add_partial(inner);
    }
  }
  if (!has_good_inner && !rows) {
    // Tiles of whole vectors, the last of them partial; one of fewer lanes where they cover all.
    const auto covering =
        static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(extent, 1))));
    const int64_t lanes = std::min(limits.preferred_inner, covering);
    for (int64_t inner = lanes; inner <= limits.greatest_inner && inner < extent + lanes;
         inner += lanes) {
      add_partial(inner);
    }
  }
  if (result.size() <= kMostChoices) return result;
  // Too many to search one by one: every n-th keeps the spread.
  std::vector<std::vector<int64_t>> thinned;
  const double step = double(result.size()) / double(kMostChoices);
  for (size_t i = 0; i < kMostChoices; ++i) thinned.push_back(result[size_t(double(i) * step)]);
  return thinned;
}

}  // namespace tw::autotune
