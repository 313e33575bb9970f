// SPDX-License-Identifier: Apache-2.0
// LLVM IR to better LLVM IR.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace tw::codegen {

struct OptimizeOptions {
  int level = 3;
  bool vectorize = false;  // LLVM's own pipeline for the level, its vectorizers included
  bool unroll = false;     // some loop asks to be unrolled
};
void optimize(llvm::Module& module, llvm::TargetMachine& machine, const OptimizeOptions& options);

}  // namespace tw::codegen
