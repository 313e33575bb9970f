// SPDX-License-Identifier: Apache-2.0
// cache_write
#include <fmt/format.h>

#include "schedule/primitives/apply.h"
#include "schedule/primitives/checks.h"

namespace tw {

StepResults apply_cache_write(const PrimitiveCall& call) {
  ScheduleData& schedule = call.schedule();
  StageData& stage = call.stage();
  const std::string& scope = call.text(1);
  require_scope(call, scope);
  require_compute(call);
  require_untouched(call, stage);

  // The cache takes the computation, reduction axes included, over data axes of its own.
  te::AxisReplacement fresh;
  std::vector<Expr> indices;
  for (const IterVar& axis : stage.op->data_axes()) {
    fresh.emplace_back(
        axis, IterVar(axis->domain, Var(axis.name() + ".c", axis->var.dtype()), axis->kind));
    indices.push_back(axis->var);
  }
  const te::Operation cache_op =
      stage.op->with_axes(fmt::format("{}.{}", stage.name(), scope), fresh);
  std::vector<Expr> copies;
  for (int k = 0; k < cache_op->num_outputs(); ++k) copies.push_back(cache_op.output(k)(indices));
  const te::Operation copy_op = te::compute_op(
      stage.name(), stage.op->data_axes(), std::move(copies), stage.op->tag, stage.op->attributes);

  auto owned = std::make_unique<StageData>();
  owned->storage.scope = scope;
  owned->aliases = stage.aliases;
  StageData& cache = insert_stage(schedule, stage, false, std::move(owned));
  reset_axes(schedule, cache, cache_op);
  reset_axes(schedule, stage, copy_op);
  refresh_consumers(schedule, stage);
  return {&cache};
}

}  // namespace tw
