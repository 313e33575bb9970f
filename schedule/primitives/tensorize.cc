// SPDX-License-Identifier: Apache-2.0
// tensorize: an intrinsic in place of the inner loops
#include <fmt/format.h>

#include "schedule/primitives/apply.h"
#include "schedule/schedule_data.h"

namespace tw {

// Primitives that come later may still change the loops, so that what they compute is compared with
// the intrinsic when the schedule is lowered. That they are of the kinds it has is known now.
//
// A stage that calls an intrinsic may be tensorized from one of its loops on: by an intrinsic that
// computes what several calls do.
StepResults apply_tensorize(const PrimitiveCall& call) {
  StageData& stage = call.stage();
  const IterVar& axis = call.axis(1);
  const TensorIntrin intrin = find_tensor_intrin(call.text(2));
  if (!intrin.defined()) {
    ErrorInfo info = unknown_tensor_intrin(call.text(2));
    info.axis = axis.name();
    call.fail(std::move(info));
  }
  for (const IterVar& leaf : stage.leaf_axes) {
    const AxisAttributes* marks = stage.attributes_of(leaf);
    if (marks == nullptr || !marks->intrin.defined() || leaf->var.same_as(axis->var)) continue;
    call.fail({.code = ErrorCode::CannotTensorize,
               .what = fmt::format("'{}' computes the loops from '{}' on", marks->intrin->name,
                                   leaf.name()),
               .axis = axis.name(),
               .legal = "one intrinsic a stage"});
  }
  const bool wanted = intrin->op->is_reduction();
  if (stage.op->is_reduction() != wanted) {
    call.fail({.code = ErrorCode::CannotTensorize,
               .what = fmt::format("the stage is {}, and '{}' computes {}",
                                   wanted ? "no reduction" : "a reduction", intrin->name,
                                   expression_text(intrin->op)),
               .axis = axis.name(),
               .legal = fmt::format("a stage that {}", wanted ? "reduces" : "does not reduce")});
  }
  stage.axis_attributes[axis->var].intrin = intrin;
  return {};
}

}  // namespace tw
