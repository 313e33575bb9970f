// SPDX-License-Identifier: Apache-2.0
// A trace as a script:
//
//   def apply(s):
//       [A, B, C] = s.stages
//       y_outer, y_inner = C.split(C.op.axis[0], factor=4)  # conv.py:12
//       C_local = s[s.cache_write(C.op.output(0), "local")]
#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace tw {

// A Python function that applies the trace to a fresh schedule of the program that `schedule` is
// of. What it records is equal to the trace.
std::string to_python(const Schedule& schedule, const Trace& trace);

// The outputs of the program, as they were before any primitive rewrote them.
std::vector<te::Tensor> program_outputs(const Schedule& schedule);

}  // namespace tw
