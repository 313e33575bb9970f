// SPDX-License-Identifier: Apache-2.0
// Kernels that take their constants as arguments, packed as the schedule wants them: what each of
// their arguments is.
#pragma once

#include <cstddef>
#include <vector>

#include "lower/kernel.h"
#include "schedule/te/text.h"

namespace tw::autotune {

// The constant placeholders of a program that something reads. One that nothing reads is an
// argument like others, which is not looked at.
std::vector<te::Tensor> read_constants(const te::Program& program);

// Numbers of the program's arguments, and from its last one on of arrays that the preparation
// fills, by the kernels' arguments.
struct PackedArguments {
  std::vector<size_t> entry;
  std::vector<size_t> preparation;  // empty where there is none
};
// Of a module whose constants became arguments (constants_to_arguments).
PackedArguments packed_arguments(const te::Program& program, const KernelModule& module);

}  // namespace tw::autotune
