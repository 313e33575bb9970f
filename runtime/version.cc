// SPDX-License-Identifier: Apache-2.0
#include "runtime/version.h"

// The build passes the number; a compile by hand has none.
#ifndef TW_VERSION
#define TW_VERSION "unknown"
#endif

namespace tw {

const char* version() { return TW_VERSION; }

}  // namespace tw
