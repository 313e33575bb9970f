// SPDX-License-Identifier: Apache-2.0
#include "autotune/space/decisions.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

namespace tw::autotune {
namespace {

using Path = std::vector<size_t>;

// All paths through decisions that `walk` meets.
std::vector<Path> paths(
    const std::function<void(const std::function<size_t(size_t, size_t)>&)>& walk) {
  std::vector<Path> all;
  Decisions decisions;
  while (decisions.begin()) {
    Path path;
    walk([&](size_t op, size_t ways) { return path.emplace_back(decisions.next(op, ways)); });
    all.push_back(path);
  }
  return all;
}

std::vector<Path> free_paths(const std::vector<size_t>& ways) {
  return paths([&](const auto& next) {
    for (size_t op = 0; op < ways.size(); ++op) next(op, ways[op]);
  });
}

TEST(Decisions, FewCombinationsAreAllTaken) {
  EXPECT_EQ(free_paths({}), (std::vector<Path>{{}}));
  EXPECT_EQ(free_paths({3}), (std::vector<Path>{{0}, {1}, {2}}));
  const std::vector<Path> all = free_paths({2, 1, 3});
  EXPECT_EQ(std::set<Path>(all.begin(), all.end()).size(), 6u);
  EXPECT_EQ(all.size(), 6u);
  EXPECT_EQ(all[0], (Path{0, 0, 0}));
}

// However many stages there are: eight paths, all different, in which each way of each comes up.
TEST(Decisions, ManyCombinationsAreSampled) {
  const std::vector<size_t> ways = {3, 2, 4, 3, 3, 2, 3, 4, 3, 3, 2, 3};
  const std::vector<Path> all = free_paths(ways);
  EXPECT_EQ(all.size(), Decisions::kEnough);
  EXPECT_EQ(std::set<Path>(all.begin(), all.end()).size(), all.size());
  EXPECT_EQ(all[0], Path(ways.size(), 0));
  EXPECT_EQ(free_paths(ways), all) << "twice the same";
  for (size_t op = 0; op < ways.size(); ++op) {
    std::set<size_t> taken;
    for (const Path& path : all) taken.insert(path[op]);
    EXPECT_EQ(taken.size(), ways[op]) << op;
  }
}

// Ways that are open behind another one only, and more of them than paths that are enough.
TEST(Decisions, WaysBehindOthersAreTaken) {
  std::set<std::pair<size_t, size_t>> taken;
  const std::vector<Path> all = paths([&](const auto& next) {
    const auto take = [&](size_t op, size_t ways) {
      const size_t way = next(op, ways);
      taken.insert({op, way});
      return way;
    };
    take(0, 2);
    if (take(1, 3) != 2) return;
    if (take(2, 5) == 4) take(3, 6);
  });
  EXPECT_EQ(taken.size(), 2u + 3 + 5 + 6);
  EXPECT_LE(all.size(), 16u);
}

}  // namespace
}  // namespace tw::autotune
