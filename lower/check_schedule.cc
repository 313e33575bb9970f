// SPDX-License-Identifier: Apache-2.0
#include "lower/check_schedule.h"

#include <algorithm>

#include "lower/pipeline.h"
#include "schedule/scan_stages.h"
#include "schedule/te/placeholder.h"

namespace tw {
namespace {

// The stage that calls an intrinsic and stores into memory of that name: its own, or a scan's.
const StageData* tensorized_stage(const ScheduleData& schedule, const std::string& memory) {
  for (const auto& stage : schedule.stages) {
    if (!intrin_of(*stage).defined()) continue;
    const StageData* holder = holder_of(schedule, *stage);
    if (stage->name() == memory || (holder != nullptr && holder->name() == memory))
      return stage.get();
  }
  return nullptr;
}

void lower_intrinsics(const Schedule& schedule, const std::vector<te::Tensor>& stored) {
  const ScheduleData& data = schedule.data();
  if (std::ranges::none_of(data.stages, [](const auto& s) { return intrin_of(*s).defined(); }))
    return;
  std::vector<LowerArgument> arguments;
  for (const te::Tensor& t : te::placeholders(schedule.outputs())) arguments.emplace_back(t);
  for (const te::Tensor& t : schedule.outputs()) arguments.emplace_back(t);
  for (const te::Tensor& t : stored) arguments.emplace_back(t);
  try {
    lower(schedule, arguments, Target::host(), {.stop_after = "tensorize"});
  } catch (const UserError& error) {
    ErrorInfo info = error.info();
    if (info.code != ErrorCode::CannotTensorize) return;
    const StageData* stage = tensorized_stage(data, info.stage);
    if (stage == nullptr) throw;
    info.stage = stage->name();
    info.where = stage->where;
    raise(std::move(info));
  }
}

}  // namespace

std::vector<Finding> check_lowered(const Schedule& schedule,
                                   const std::vector<te::Tensor>& stored) {
  return check(schedule, stored, [&](const Schedule& tried) { lower_intrinsics(tried, stored); });
}

}  // namespace tw
