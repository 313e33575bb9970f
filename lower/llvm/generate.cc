// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/raw_ostream.h>

#include "lower/llvm/optimize.h"
#include "runtime/error.h"

namespace tw::codegen {
namespace {

void generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::raw_pwrite_stream& out,
              llvm::CodeGenFileType type) {
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true)) {
    raise({.code = ErrorCode::CodeGeneration, .what = "this target cannot write machine code"});
  }
  passes.run(module);
}

}  // namespace

llvm::SmallVector<char, 0> generate_object(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  generate(module, machine, out, llvm::CodeGenFileType::ObjectFile);
  return bytes;
}

std::string generate_assembly(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  generate(module, machine, out, llvm::CodeGenFileType::AssemblyFile);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace tw::codegen
