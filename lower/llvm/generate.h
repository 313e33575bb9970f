// SPDX-License-Identifier: Apache-2.0
// LLVM IR to machine code. The module's IR is used up: it may not be generated from twice. With
// `all_passes` nothing is left out, for IR that the emitter's promises do not hold of. Inside a
// FatalErrorScope they throw FatalError.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Module.h>

#include <string>

#include "lower/llvm/machine.h"

namespace tw::codegen {

llvm::SmallVector<char, 0> generate_object(llvm::Module& module, Machine& machine,
                                           bool all_passes = false);
std::string generate_assembly(llvm::Module& module, Machine& machine, bool all_passes = false);

}  // namespace tw::codegen
