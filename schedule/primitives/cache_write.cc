// SPDX-License-Identifier: Apache-2.0
// cache_write
#include <fmt/format.h>

#include "schedule/primitives/apply.h"
#include "schedule/primitives/checks.h"
#include "schedule/rewrite_operation.h"

namespace tw {

StepResults apply_cache_write(const PrimitiveCall& call) {
  ScheduleData& schedule = call.schedule();
  StageData& stage = call.stage();
  const std::string& scope = call.text(1);
  require_scope(call, scope);
  require_untouched(call, stage);
  const te::ComputeNode& compute = *compute_of(stage);

  // The cache takes the computation, reduction axes included, over data axes of its own.
  AxisReplacement fresh;
  std::vector<Expr> indices;
  for (const IterVar& axis : compute.axis) {
    fresh.emplace_back(
        axis, IterVar(axis->domain, Var(axis.name() + ".c", axis->var.dtype()), axis->kind));
    indices.push_back(axis->var);
  }
  const te::Operation cache_op =
      replace_axes(stage.op, fmt::format("{}.{}", stage.name(), scope), fresh);
  std::vector<Expr> copies;
  for (int k = 0; k < cache_op->num_outputs(); ++k) copies.push_back(cache_op.output(k)(indices));
  const te::Operation copy_op = te::compute_op(stage.name(), compute.axis, std::move(copies),
                                               stage.op->tag, stage.op->attributes);

  auto owned = std::make_unique<StageData>();
  owned->scope = scope;
  owned->aliases = stage.aliases;
  StageData& cache = insert_stage(schedule, stage, false, std::move(owned));
  reset_axes(schedule, cache, cache_op);
  reset_axes(schedule, stage, copy_op);
  refresh_consumers(schedule, stage);
  return {&cache};
}

}  // namespace tw
