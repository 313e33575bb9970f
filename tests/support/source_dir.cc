// SPDX-License-Identifier: Apache-2.0
#include "tests/support/source_dir.h"

namespace tw {

std::string source_dir() { return TW_SOURCE_DIR; }

}  // namespace tw
