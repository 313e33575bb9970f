// SPDX-License-Identifier: Apache-2.0
// Schedules from the two texts, for tests that look at what becomes of them.
#pragma once

#include <string>
#include <string_view>

#include "ir/print.h"
#include "schedule/infer_bound.h"
#include "schedule/normalize.h"
#include "schedule/schedule.h"
#include "schedule/schedule_ops.h"
#include "schedule/te/text.h"

namespace tw::test {

// The program's text without its first line, `te 1`; stage k of the trace is operation k of it.
inline Schedule scheduled(std::string_view program, std::string_view trace = "") {
  const Schedule s = Schedule::create(te::parse_program("te 1\n" + std::string(program)).outputs);
  s.apply(parse_trace(trace));
  return s;
}

inline std::string loops(const Schedule& schedule, const ScheduleOptions& options = {}) {
  const Schedule s = normalize(schedule);
  return to_string(schedule_ops(s, infer_bound(s, options), options));
}
inline std::string loops(std::string_view program, std::string_view trace = "",
                         const ScheduleOptions& options = {}) {
  return loops(scheduled(program, trace), options);
}

}  // namespace tw::test
