// SPDX-License-Identifier: Apache-2.0
// The code generator's passes, set up.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

namespace tw::codegen {

// May run many modules, each of a context of its own, one after the other; setting up costs as much
// as compiling a small kernel.
class ObjectPipeline {
 public:
  ObjectPipeline(llvm::TargetMachine& machine, llvm::CodeGenFileType type);
  llvm::SmallVector<char, 0> run(llvm::Module& module);

 private:
  llvm::SmallVector<char, 0> bytes_;
  llvm::raw_svector_ostream out_;
  llvm::legacy::PassManager passes_;
};

}  // namespace tw::codegen
