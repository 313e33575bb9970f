// SPDX-License-Identifier: Apache-2.0
// Checks for schedules that nothing may refuse, such as points of a design space.
#pragma once

#include <string>
#include <vector>

#include "runtime/error.h"
#include "tests/support/schedule_case.h"

namespace tw::test {

// The same checks, in which lowering that refuses the schedule is a failure.
inline std::vector<ScheduleCheck> unrefused(const std::vector<ScheduleCheck>& checks) {
  std::vector<ScheduleCheck> result;
  for (const ScheduleCheck& check : checks) {
    result.push_back({check.name, [check](const ScheduleCase& c, const CaseData& d) {
                        try {
                          return check.run(c, d);
                        } catch (const Error& error) {
                          return std::string(error.what());
                        }
                      }});
  }
  return result;
}

}  // namespace tw::test
