// SPDX-License-Identifier: Apache-2.0
// Errors about a schedule, which show the loops that they are about.
#pragma once

#include <string>
#include <utility>

#include "runtime/error.h"
#include "schedule/schedule_data.h"

namespace tw {

class ScheduleError : public UserError {
 public:
  ScheduleError(ErrorInfo info, std::string nest)
      : UserError(std::move(info)), nest_(std::move(nest)) {}
  ~ScheduleError() override;
  // The loops around the stage, in lines; the axis, or else the stage, is marked by "> ".
  const std::string& nest() const { return nest_; }

 private:
  std::string nest_;
};

// Raises the error with the nest of its stage. One that is none of the user's is raised as it is.
[[noreturn]] void raise_in(const ScheduleData& schedule, ErrorInfo info);

}  // namespace tw
