// SPDX-License-Identifier: Apache-2.0
#include <llvm/Config/llvm-config.h>

#include "lower/llvm/target.h"

namespace tw {

std::string llvm_version() { return LLVM_VERSION_STRING; }

}  // namespace tw
