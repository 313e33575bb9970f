// SPDX-License-Identifier: Apache-2.0
// fuse. What is computed at one of the axes is computed at the fused one: there its region is that
// of one iteration of all.
#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/primitives/apply.h"
#include "schedule/schedule_data.h"

namespace tw {
namespace {

std::string kind_name(IterKind kind) {
  if (kind == IterKind::Ordered) return "an axis whose iterations run in order";
  return kind == IterKind::Reduction ? "a reduction axis" : "a data axis";
}

// The loop that a stage of rank 0 has anyway, so that `fuse(*axes)` gives one of any stage.
IterVar add_singleton(StageData& stage, int step) {
  auto* relation = new SingletonRelation;
  relation->axis = IterVar({}, Var("singleton", int_type(32)), IterKind::DataParallel);
  add_relation(stage, RelationRef(relation), step);
  return relation->axis;
}

}  // namespace

StepResults apply_fuse(const PrimitiveCall& call) {
  StageData& stage = call.stage();
  const std::vector<IterVar>& axes = call.axes(1);
  if (axes.empty()) {
    if (!stage.op->data_axes().empty()) {
      call.fail({.code = ErrorCode::BadArgument,
                 .what = "fuse of no axis",
                 .legal = "at least one axis, but for a stage of rank 0"});
    }
    return {add_singleton(stage, call.number())};
  }
  for (size_t k = 1; k < axes.size(); ++k) {
    for (size_t j = 0; j < k; ++j) {
      if (!axes[k]->var.same_as(axes[j]->var)) continue;
      call.fail({.code = ErrorCode::DuplicateAxis,
                 .what = "fuse of an axis with itself",
                 .axis = axes[k].name(),
                 .legal = "different axes"});
    }
    if (leaf_position(stage, axes[k]) != leaf_position(stage, axes[k - 1]) + 1) {
      call.fail(
          {.code = ErrorCode::FuseNotAdjacent,
           .what = fmt::format("the axis does not stand right inside '{}'", axes[k - 1].name()),
           .axis = axes[k].name(),
           .legal = fmt::format("neighbours in the order {}", names(stage.leaf_axes))});
    }
    if (axes[k]->kind != axes[k - 1]->kind) {
      call.fail({.code = ErrorCode::FuseKinds,
                 .what = fmt::format("fuse of '{}', {}, with {}", axes[k - 1].name(),
                                     kind_name(axes[k - 1]->kind), kind_name(axes[k]->kind)),
                 .axis = axes[k].name(),
                 .legal = "axes of one kind"});
    }
  }
  if (axes.size() > 1) {
    for (const IterVar& axis : axes) require_unmarked(call, stage, axis);
  }
  IterVar fused = axes[0];
  for (size_t k = 1; k < axes.size(); ++k) {
    auto* relation = new FuseRelation;
    relation->outer = fused;
    relation->inner = axes[k];
    // The wider type of the two holds the fused index when it holds either domain's product.
    const DType a = fused->var.dtype(), b = axes[k]->var.dtype();
    fused = IterVar(
        {}, Var(fmt::format("{}.{}.fused", fused.name(), axes[k].name()), a.bits >= b.bits ? a : b),
        fused->kind);
    relation->fused = fused;
    add_relation(stage, RelationRef(relation), call.number());
    move_attached(call.schedule(), stage, relation->outer, fused);
    move_attached(call.schedule(), stage, relation->inner, fused);
  }
  return {fused};
}

}  // namespace tw
