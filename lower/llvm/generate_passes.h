// SPDX-License-Identifier: Apache-2.0
// Which of the code generator's passes run. LLVM adds about 130, of which many wait for what
// kernels never have: exceptions, garbage collection, hardening against speculation, AMX tiles.
// Each costs some microseconds a function, together a good part of a small kernel's compile time.
#pragma once

#include <string_view>
#include <vector>

#include "lower/llvm/target.h"

namespace tw::codegen {

// Passes are named as `llc -debug-pass=Structure` names them.
bool is_left_out(std::string_view pass);
// Names of the table that LLVM never offers for this target: rows without effect.
std::vector<std::string_view> passes_without_effect(const Target& target);

}  // namespace tw::codegen
