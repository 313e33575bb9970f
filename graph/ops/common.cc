// SPDX-License-Identifier: Apache-2.0
#include "graph/ops/common.h"

#include <fmt/format.h>

namespace tw::graph {

size_t axis_of(const ShapeInference& s, int64_t axis, size_t rank) {
  const auto n = static_cast<int64_t>(rank);
  if (axis < -n || axis >= n) {
    s.fail(fmt::format("axis {} of a tensor of rank {}", axis, rank),
           fmt::format("{} to {}", -n, n - 1));
  }
  return static_cast<size_t>(axis < 0 ? axis + n : axis);
}

Pair pair_of(const ShapeInference& s, std::string_view attribute) {
  const std::vector<int64_t>& v = s.attributes().tuple(attribute);
  if (v.size() == 1) return {v[0], v[0]};
  if (v.size() == 2) return {v[0], v[1]};
  s.fail(fmt::format("{} has {} values", attribute, v.size()), "one, or (vertical, horizontal)");
}

Border border_of(const ShapeInference& s, std::string_view attribute) {
  const std::vector<int64_t>& v = s.attributes().tuple(attribute);
  if (v.size() == 1) return {v[0], v[0], v[0], v[0]};
  if (v.size() == 2) return {v[0], v[1], v[0], v[1]};
  if (v.size() == 4) return {v[0], v[1], v[2], v[3]};
  s.fail(fmt::format("{} has {} values", attribute, v.size()),
         "one, (vertical, horizontal), or (top, left, bottom, right)");
}

std::vector<int> to_ints(const std::vector<int64_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace tw::graph
