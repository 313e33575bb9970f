// SPDX-License-Identifier: Apache-2.0
// LLVM IR to better LLVM IR, and to machine code.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <string>

namespace tw::codegen {

struct OptimizeOptions {
  int level = 3;
  bool vectorize = false;    // LLVM's loop and SLP vectorizers, in its own pipeline for the level
  bool unroll = false;       // some loop asks to be unrolled
};
void optimize(llvm::Module& module, llvm::TargetMachine& machine, const OptimizeOptions& options);

// Both consume the module's IR: it may not be generated from twice.
llvm::SmallVector<char, 0> generate_object(llvm::Module& module, llvm::TargetMachine& machine);
std::string generate_assembly(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace tw::codegen
