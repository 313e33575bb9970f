// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/api.h"

namespace tw {

// "0.1.0": the project's version, the same for every language.
TW_API const char* version();

}  // namespace tw
