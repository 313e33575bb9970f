// SPDX-License-Identifier: Apache-2.0
// Whether this machine has what a library's code may use. A library names it itself, and is loaded
// where there is no compiler to ask.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/api.h"

namespace tw {

// Those of `names` (LLVM's: "avx2", "avx512vnni", "amx-tile") that the processor lacks or the
// system does not save the registers of; in their order. Names that it does not know are left out.
TW_API std::vector<std::string> missing_instruction_sets(std::span<const std::string> names);

}  // namespace tw
