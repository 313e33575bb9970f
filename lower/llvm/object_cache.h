// SPDX-License-Identifier: Apache-2.0
// Objects of small kernels that many compiles have in common: candidates of one search pack their
// weights into a handful of layouts.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include <functional>

#include "lower/kernel.h"
#include "lower/llvm/target.h"

namespace tw::codegen {

using Object = llvm::SmallVector<char, 0>;

// What `generate` made for an equal kernel and target, else what it makes now. The kernels may
// differ in the arrays of their constants, which code finds through slots. Keeps the last few
// objects of the process; threads may call it at once.
Object cached_object(const Kernel& kernel, const Target& target,
                     const std::function<Object()>& generate);

}  // namespace tw::codegen
