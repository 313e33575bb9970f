// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lower/pipeline.h"
#include "schedule/te/text.h"

namespace tw::autotune {

struct LoweredCandidate {
  KernelModule module;  // with the program's constants, not bound yet
  std::string ir_hash;
};
// Applies a trace to the program and lowers it, exactly as a replay of the record will that has the
// values of all constants.
LoweredCandidate lower_candidate(const te::Program& program, const std::string& trace,
                                 const Target& target);

}  // namespace tw::autotune
