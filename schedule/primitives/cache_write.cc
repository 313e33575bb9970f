// SPDX-License-Identifier: Apache-2.0
// cache_write: a new stage takes the computation, and the loops it has so far; the stage copies
// from it. Where data axes were split, fused or reordered, the cache is stored in the order of
// these loops, as the tiles that they walk:
//
//   C(i) = A(i)*2, i: 8 split by 4     C.local(i.outer.c, i.inner.c) = A(i.outer.c*4 + i.inner.c)*2
//                                      C(i) = C.local(i/4, i % 4)
#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "schedule/primitives/apply.h"
#include "schedule/primitives/checks.h"
#include "schedule/primitives/loop_space.h"

namespace tw {
namespace {

// The cache's operation, and where the stage reads it.
struct Cached {
  te::Operation op;
  std::vector<IterVar> data_axes;  // one for each data leaf of the stage
  std::vector<Expr> indices;
};

// As the operation has it: any kind of operation can.
Cached same_layout(const StageData& stage, const std::string& name) {
  Cached result;
  te::AxisReplacement fresh;
  for (const IterVar& axis : stage.op->data_axes()) {
    result.data_axes.emplace_back(axis->domain, Var(axis.name() + ".c", axis->var.dtype()),
                                  axis->kind);
    fresh.emplace_back(axis, result.data_axes.back());
    result.indices.push_back(axis->var);
  }
  result.op = stage.op->with_axes(name, fresh);
  return result;
}

Cached layout_of_loops(const PrimitiveCall& call, const StageData& stage, const std::string& name) {
  const LoopSpace space = loop_space(stage, IterKind::DataParallel, ".c");
  const auto& compute = *te::as_op<te::ComputeNode>(stage.op);
  if (!stage.op->intrin().empty() && space.condition.defined()) {
    call.fail({.code = ErrorCode::CannotCache,
               .what = fmt::format("loops run beyond the tensor, and '{}' computes nothing in part",
                                   stage.op->intrin()),
               .legal = "cache_write first, or splits by factors that divide"});
  }
  Cached result;
  result.data_axes = space.axes;
  result.op = compute.change_axes(space.axes, space.values, space.condition)->with_axes(name, {});
  VarMap offsets;
  for (const IterVar& axis : compute.axis) {
    const Expr& min = axis->domain.min;
    offsets[axis->var] = is_zero(min) ? Expr(axis->var) : axis->var - min;
  }
  for (const RelationRef& relation : stage.relations) relation->index_down(offsets, space.domains);
  for (const IterVar& leaf : stage.leaf_axes) {
    if (leaf->kind != IterKind::Reduction) result.indices.push_back(offsets.at(leaf->var));
  }
  return result;
}

bool has_data_axes_in_order(const StageData& stage) {
  std::vector<IterVar> data = stage.leaf_axes;
  std::erase_if(data, [](const IterVar& a) { return a->kind == IterKind::Reduction; });
  return std::ranges::equal(data, stage.op->data_axes(), [](const IterVar& a, const IterVar& b) {
    return a->var.same_as(b->var);
  });
}

}  // namespace

StepResults apply_cache_write(const PrimitiveCall& call) {
  ScheduleData& schedule = call.schedule();
  StageData& stage = call.stage();
  const std::string& scope = call.text(1);
  require_scope(call, scope);
  if (stage.op->intrin().empty()) require_compute(call);
  const std::string name = name_in_scope(stage.op->name, scope);
  const Cached cached =
      has_data_axes_in_order(stage) ? same_layout(stage, name) : layout_of_loops(call, stage, name);

  std::vector<Expr> copies;
  for (int k = 0; k < cached.op->num_outputs(); ++k)
    copies.push_back(cached.op.output(k)(cached.indices));
  const te::Operation copy_op =
      te::compute_op(stage.op->name, stage.op->data_axes(), std::move(copies), stage.op->tag,
                     stage.op->attributes);

  auto owned = std::make_unique<StageData>();
  owned->storage.scope = scope;
  owned->aliases = stage.aliases;
  owned->where = call.where();
  StageData& cache = insert_stage(schedule, stage, false, std::move(owned));
  reset_axes(schedule, cache, cached.op);
  copy_relations(stage, IterKind::Reduction, cache);
  cache.leaf_axes = stage.leaf_axes;
  auto data = cached.data_axes.begin();
  for (IterVar& leaf : cache.leaf_axes) {
    const IterVar old = leaf;
    if (old->kind != IterKind::Reduction) {
      leaf = *data++;
      cache.aliases.emplace_back(old->var, leaf);  // for who holds the loop that moved
    }
    move_loop(schedule, stage, old, cache, leaf);
  }
  reset_axes(schedule, stage, copy_op);
  refresh_consumers(schedule, stage);
  return {&cache};
}

}  // namespace tw
