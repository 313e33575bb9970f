// SPDX-License-Identifier: Apache-2.0
#include "autotune/worker/build.h"

#include "autotune/replay.h"
#include "schedule/te/text.h"

namespace tw::autotune {

LoweredCandidate lower_candidate(const te::Program& program, const std::string& trace,
                                 const Target& target) {
  LoweredCandidate result;
  result.module = lower_program(program, replay(program, trace), te::constants_of(program), target,
                                "candidate");
  result.ir_hash = ir_hash(result.module.entry());
  return result;
}

}  // namespace tw::autotune
