// SPDX-License-Identifier: Apache-2.0
// Tile registers (AMX) are state that Linux saves for a process only once it has asked for it.
#pragma once

#include "runtime/api.h"

namespace tw {

// Asks, at the first call, and says whether the system agreed.
TW_API bool tile_data_granted();

// Asks, at the first call, that code may use tile registers: on all threads of the process, those
// to come included. TargetFeature where that is refused.
// See Documentation/arch/x86/xstate.rst of Linux.
TW_API void request_tile_data();

}  // namespace tw
