// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lower/kernel.h"
#include "lower/llvm/target.h"
#include "schedule/te/text.h"

namespace tw::autotune {

struct LoweredCandidate {
  Kernel kernel;
  std::string ir_hash;
};
// Applies a trace to the program and lowers it, exactly as a replay of the record will.
LoweredCandidate lower_candidate(const te::Program& program, const std::string& trace,
                                 const Target& target);

}  // namespace tw::autotune
