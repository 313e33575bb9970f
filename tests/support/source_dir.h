// SPDX-License-Identifier: Apache-2.0
// Where the checkout is, wherever a test program was started from.
#pragma once

#include <string>

namespace tw {

// The root of the checkout, without a slash at its end.
std::string source_dir();

}  // namespace tw
