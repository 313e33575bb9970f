// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/tiles.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace tw::autotune {
namespace {

int64_t product(const std::vector<int64_t>& tiles) {
  return std::accumulate(tiles.begin(), tiles.end(), int64_t{1}, std::multiplies<>());
}

TEST(Tiles, EveryChoiceIsAnother) {
  for (const int64_t preferred : {1, 4, 8, 16}) {
    for (int64_t extent = 1; extent <= 130; ++extent) {
      const auto choices = tile_choices(extent, {.preferred_inner = preferred});
      const std::set<std::vector<int64_t>> distinct(choices.begin(), choices.end());
      EXPECT_EQ(distinct.size(), choices.size()) << extent << " in lanes of " << preferred;
    }
  }
}

TEST(Tiles, EveryExtentHasTilesOfWholeVectors) {
  for (const int64_t lanes : {4, 8, 16}) {
    for (int64_t extent = lanes; extent <= 130; ++extent) {
      bool whole = false;
      for (const auto& tiles : tile_choices(extent, {.preferred_inner = lanes})) {
        whole |= tiles.back() % lanes == 0;
        // A tile divides the extent, or its last copy is partial; none lies beyond.
        EXPECT_LT(product(tiles), 2 * extent + lanes * tiles.back()) << extent;
      }
      EXPECT_TRUE(whole) << extent;
    }
  }
}

TEST(Tiles, RowsOfPrimeExtentsAreMoreThanOne) {
  for (const int64_t extent : {17, 31, 127, 1021}) {
    int64_t most = 0;
    for (const auto& tiles : tile_choices(extent, {})) {
      if (extent % tiles.back() != 0) most = std::max(most, tiles.back());
    }
    EXPECT_EQ(most, 12) << extent;
  }
}

TEST(Tiles, LimitsHold) {
  for (const auto& tiles : tile_choices(4096, {.greatest_inner = 16, .greatest_product = 256})) {
    EXPECT_EQ(tiles.size(), 3u);
    EXPECT_LE(tiles[2], 16);
    EXPECT_LE(tiles[1] * tiles[2], 256);
    EXPECT_EQ(4096 % product(tiles), 0);
  }
}

}  // namespace
}  // namespace tw::autotune
