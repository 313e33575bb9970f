// SPDX-License-Identifier: Apache-2.0
#include "lower/known_lanes.h"

#include "ir/interpret.h"
#include "ir/substitute.h"
#include "ir/visit.h"

namespace tw::pass {

std::optional<std::vector<int64_t>> known_lanes(const Expr& vector) {
  if (!free_vars(vector).empty()) return {};
  bool calls = false;
  for_each_expr(vector, [&](const Expr& e) { calls |= is<Call>(e); });
  if (calls) return {};
  std::vector<int64_t> lanes;
  for (const Value& v : evaluate_lanes(vector)) lanes.push_back(v.i);
  return lanes;
}

std::optional<std::vector<bool>> known_mask(const Expr& mask, int lanes) {
  if (!mask.defined()) return std::vector<bool>(static_cast<size_t>(lanes), true);
  const auto known = known_lanes(mask);
  if (!known) return {};
  std::vector<bool> on;
  for (const int64_t lane : *known) on.push_back(lane != 0);
  return on;
}

}  // namespace tw::pass
