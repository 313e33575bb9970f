// SPDX-License-Identifier: Apache-2.0
#include "autotune/worker/build.h"

#include "autotune/replay.h"

namespace tw::autotune {

LoweredCandidate lower_candidate(const te::Program& program, const std::string& trace,
                                 const Target& target) {
  LoweredCandidate result;
  result.kernel = lower_program(program, replay(program, trace), target, "candidate");
  result.ir_hash = ir_hash(result.kernel);
  return result;
}

}  // namespace tw::autotune
