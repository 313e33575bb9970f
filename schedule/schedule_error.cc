// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule_error.h"

#include <utility>

#include "schedule/show.h"

namespace tw {

ScheduleError::~ScheduleError() = default;

void raise_in(const ScheduleData& schedule, ErrorInfo info) {
  if (kind_of(info.code) != ErrorKind::User || info.stage.empty()) raise(std::move(info));
  std::string nest = to_text(nest_rows(schedule, culprit_of(info)));
  throw ScheduleError(std::move(info), std::move(nest));
}

}  // namespace tw
