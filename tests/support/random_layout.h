// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <random>

#include "graph/layout.h"

namespace tw::test {

// The dimensions of a layout without blocks in any order, and some of them in blocks that divide
// their extents and stand anywhere.
inline graph::Layout random_layout(const graph::Layout& natural,
                                   const graph::LayoutExtents& extents, std::mt19937& rng) {
  auto dimensions = natural.dimensions();
  if (rng() % 2 == 0) std::shuffle(dimensions.begin(), dimensions.end(), rng);
  graph::Layout layout = graph::Layout::of(dimensions);
  for (const auto& d : natural.dimensions()) {
    std::vector<int64_t> blocks;
    for (int64_t b = 1; b <= extents.at(d.letter); ++b) {
      if (extents.at(d.letter) % b == 0) blocks.push_back(b);
    }
    if (blocks.empty() || rng() % 3 != 0) continue;
    // Blocks behind all dimensions are what rules have to do with most of the time.
    const size_t place = rng() % 3 == 0 ? rng() % (layout.rank() + 1) : layout.rank();
    layout = layout.split(d.letter, place, blocks[rng() % blocks.size()]);
  }
  return layout;
}

}  // namespace tw::test
