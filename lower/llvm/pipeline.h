// SPDX-License-Identifier: Apache-2.0
// The code generator's passes, set up.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <functional>
#include <set>
#include <string>

namespace tw::codegen {

// Hands on the passes that it is given, without those that are left out (generate_passes.h).
class PassFilter final : public llvm::legacy::PassManagerBase {
 public:
  explicit PassFilter(llvm::legacy::PassManagerBase& to) : to_(to) {}
  void add(llvm::Pass* pass) override;
  const std::set<std::string, std::less<>>& left_out() const { return left_out_; }

 private:
  llvm::legacy::PassManagerBase& to_;
  std::set<std::string, std::less<>> left_out_;
};

// May run many modules, each of a context of its own, one after the other; setting up costs as much
// as compiling a small kernel.
class ObjectPipeline {
 public:
  ObjectPipeline(llvm::TargetMachine& machine, llvm::CodeGenFileType type, bool all = false);
  llvm::SmallVector<char, 0> run(llvm::Module& module);
  const PassFilter& filter() const { return filter_; }

 private:
  llvm::SmallVector<char, 0> bytes_;
  llvm::raw_svector_ostream out_;
  llvm::legacy::PassManager passes_;
  PassFilter filter_;
};

}  // namespace tw::codegen
