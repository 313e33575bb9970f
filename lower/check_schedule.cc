// SPDX-License-Identifier: Apache-2.0
#include "lower/check_schedule.h"

#include <algorithm>

#include "lower/pipeline.h"
#include "schedule/schedule_data.h"
#include "schedule/te/placeholder.h"

namespace tw {
namespace {

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
    if (error.code() == ErrorCode::CannotTensorize) throw;
  }
}

}  // namespace

std::vector<Finding> check_lowered(const Schedule& schedule,
                                   const std::vector<te::Tensor>& stored) {
  return check(schedule, stored, [&](const Schedule& tried) { lower_intrinsics(tried, stored); });
}

}  // namespace tw
