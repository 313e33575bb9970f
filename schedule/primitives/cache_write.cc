// SPDX-License-Identifier: Apache-2.0
// cache_write
#include <fmt/format.h>

#include <algorithm>

#include "schedule/primitives/apply.h"
#include "schedule/rewrite_operation.h"
#include "schedule/schedule_data.h"

namespace tw {
namespace {

// The stage as its operation has it: no relation, order or mark that the cache would lose.
bool is_untouched(const StageData& stage) {
  if (!stage.relations.empty() || !stage.axis_attributes.empty()) return false;
  for (size_t k = 0; k < stage.leaf_axes.size(); ++k) {
    if (!stage.leaf_axes[k]->var.same_as(stage.op->root_axes()[k]->var)) return false;
  }
  return true;
}

}  // namespace

StepResults apply_cache_write(const PrimitiveCall& call) {
  ScheduleData& schedule = call.schedule();
  StageData& stage = call.stage();
  const std::string& scope = call.text(1);
  if (scope != "global" && scope != "local") {
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("unknown storage scope '{}'", scope),
               .legal = "global, local"});
  }
  if (!is_untouched(stage)) {
    call.fail({.code = ErrorCode::CannotCache,
               .what = "the stage's axes were split, fused, reordered or marked already",
               .legal = "cache_write first"});
  }
  if (const auto inside = attached_to(schedule, stage); !inside.empty()) {
    call.fail({.code = ErrorCode::CannotCache,
               .what = fmt::format("'{}' is computed inside its loops", inside[0]->name()),
               .legal = "cache_write before compute_at"});
  }
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
  StageData* cache = owned.get();
  cache->scope = scope;
  cache->aliases = stage.aliases;
  const auto place = std::find_if(schedule.stages.begin(), schedule.stages.end(),
                                  [&](const auto& s) { return s.get() == &stage; });
  schedule.stages.insert(place, std::move(owned));
  reset_axes(schedule, *cache, cache_op);
  reset_axes(schedule, stage, copy_op);
  refresh_consumers(schedule, stage);
  return {cache};
}

}  // namespace tw
