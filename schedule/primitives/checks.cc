// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/attributes.h"
#include "schedule/scan_stages.h"

namespace tw {
namespace {

bool has_own_loops(const StageData& stage) {
  if (!stage.relations.empty() || !stage.axis_attributes.empty()) return true;
  if (!stage.storage.row_pitches.empty()) return true;
  for (size_t k = 0; k < stage.leaf_axes.size(); ++k) {
    if (!stage.leaf_axes[k]->var.same_as(stage.op->root_axes()[k]->var)) return true;
  }
  return false;
}

}  // namespace

const te::ComputeNode& require_compute(const PrimitiveCall& call) {
  const auto* compute = te::as_op<te::ComputeNode>(call.stage().op);
  if (compute != nullptr && !call.stage().op->intrin().empty()) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("'{}' of a stage that '{}' computes", call.primitive().name,
                                   call.stage().op->intrin()),
               .legal = "a stage of te.compute that calls no tensor intrinsic"});
  }
  if (compute != nullptr) return *compute;
  call.fail({.code = ErrorCode::BadArgument,
             .what = fmt::format("'{}' of a stage whose elements are no expressions of their "
                                 "positions",
                                 call.primitive().name),
             .legal = "a stage of te.compute"});
}

void require_scope(const PrimitiveCall& call, const std::string& scope) {
  const std::string_view memory = memory_of(scope);
  if (scope.empty() || memory == "global" || memory == "local" || memory == "shared" ||
      memory == "warp" || scope == attr::kTileScope) {
    return;
  }
  call.fail({.code = ErrorCode::BadArgument,
             .what = fmt::format("unknown storage scope '{}'", scope),
             .legal = "global, local, shared, warp, amx.tile; '' for what lowering finds best"});
}

bool is_global(const std::string& scope) { return scope.empty() || scope == "global"; }

std::string name_in_scope(const std::string& name, const std::string& scope) {
  return fmt::format("{}.{}", name, scope.empty() ? "cache" : scope);
}

void require_own_memory(const PrimitiveCall& call) {
  const StageData* holder = holder_of(call.schedule(), call.stage());
  if (holder == nullptr) return;
  call.fail({.code = ErrorCode::BadArgument,
             .what = fmt::format("'{}' of a stage that stores into '{}'", call.primitive().name,
                                 holder->name()),
             .legal = "cache_write, and the stage that it gives, or the stage that holds it"});
}

void require_unaddressed(const PrimitiveCall& call) {
  const StageData* reader = reader_of_memory(call.schedule(), call.stage());
  if (reader == nullptr) return;
  call.fail({.code = ErrorCode::BadArgument,
             .what = fmt::format("'{}' of what '{}' addresses in memory, row-major without gaps",
                                 call.primitive().name, reader->name()),
             .legal = "cache_read, and the stage that it gives for the other readers"});
}

void require_untouched(const PrimitiveCall& call, const StageData& stage) {
  if (has_own_loops(stage)) {
    call.fail({.code = ErrorCode::CannotCache,
               .what = "the stage's axes were split, fused, reordered or marked already",
               .legal = fmt::format("{} first", call.primitive().name)});
  }
  if (const auto inside = attached_to(call.schedule(), stage); !inside.empty()) {
    call.fail({.code = ErrorCode::CannotCache,
               .what = fmt::format("'{}' is computed inside its loops", inside[0]->name()),
               .legal = fmt::format("{} before compute_at", call.primitive().name)});
  }
}

StageData& insert_stage(ScheduleData& schedule, const StageData& place, bool after,
                        std::unique_ptr<StageData> stage) {
  auto at = std::find_if(schedule.stages.begin(), schedule.stages.end(),
                         [&](const auto& s) { return s.get() == &place; });
  stage->scan = place.scan;
  stage->group = place.group;
  attach_at_home(*stage);
  if (after) ++at;
  return **schedule.stages.insert(at, std::move(stage));
}

}  // namespace tw
