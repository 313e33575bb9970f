// SPDX-License-Identifier: Apache-2.0
// reorder

#include <algorithm>

#include "schedule/primitives/apply.h"
#include "schedule/primitives/split.h"
#include "schedule/schedule_data.h"

namespace tw {

void order_axes(StageData& stage, const std::vector<IterVar>& axes) {
  std::vector<size_t> places;
  for (const IterVar& axis : axes) places.push_back(leaf_position(stage, axis));
  std::sort(places.begin(), places.end());
  for (size_t k = 0; k < axes.size(); ++k) stage.leaf_axes[places[k]] = axes[k];
}

StepResults apply_reorder(const PrimitiveCall& call) {
  const std::vector<IterVar>& axes = call.axes(1);
  if (axes.empty()) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = "reorder of no axis",
               .legal = "at least one axis"});
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!axes[i]->var.same_as(axes[j]->var)) continue;
      call.fail({.code = ErrorCode::DuplicateAxis,
                 .what = "the axis stands twice in the order",
                 .axis = axes[i].name(),
                 .legal = "each axis once"});
    }
  }
  std::vector<IterVar> before = call.stage().leaf_axes;
  order_axes(call.stage(), axes);
  const auto in_order = [](const IterVar& a) { return a->kind != IterKind::Ordered; };
  std::vector<IterVar> after = call.stage().leaf_axes;
  std::vector<IterVar> steps = before;
  std::erase_if(steps, in_order);
  std::erase_if(after, in_order);
  if (!std::ranges::equal(steps, after, [](const IterVar& a, const IterVar& b) {
        return a->var.same_as(b->var);
      })) {
    call.stage().leaf_axes = std::move(before);
    call.fail({.code = ErrorCode::BadArgument,
               .what = "the steps of a scan would run in another order",
               .axis = axes.front().name(),
               .legal = names(steps)});
  }
  return {};
}

}  // namespace tw
