// SPDX-License-Identifier: Apache-2.0
#include "lower/llvm/generate.h"

#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>

#include "lower/llvm/pipeline.h"
#include "runtime/error.h"

namespace tw::codegen {
namespace {

// Passes that cost time and do nothing for kernels.
const void* const kNotWanted[] = {
    // Out-of-order processors reorder better; the order in which kernels are written keeps
    // accumulators in registers, and the scheduler takes quadratic time in an unrolled body.
    &llvm::MachineSchedulerID,
};

}  // namespace

ObjectPipeline::ObjectPipeline(llvm::TargetMachine& machine, llvm::CodeGenFileType type)
    : out_(bytes_) {
  auto& full = static_cast<llvm::LLVMTargetMachine&>(machine);
  auto* info = new llvm::MachineModuleInfoWrapperPass(&full);
  llvm::TargetPassConfig* config = full.createPassConfig(passes_);
  config->setDisableVerify(true);
  passes_.add(config);
  passes_.add(info);
  for (const void* pass : kNotWanted) config->disablePass(pass);
  bool failed = config->addISelPasses();
  if (!failed) {
    config->addMachinePasses();
    config->setInitialized();
    failed = full.addAsmPrinter(passes_, out_, nullptr, type, info->getMMI().getContext());
  }
  if (failed) {
    raise({.code = ErrorCode::CodeGeneration, .what = "this target cannot write machine code"});
  }
  passes_.add(llvm::createFreeMachineFunctionPass());
}

llvm::SmallVector<char, 0> ObjectPipeline::run(llvm::Module& module) {
  bytes_.clear();
  passes_.run(module);
  return bytes_;
}

llvm::SmallVector<char, 0> generate_object(llvm::Module& module, Machine& machine) {
  if (machine.pipeline == nullptr) {
    machine.pipeline =
        std::make_unique<ObjectPipeline>(*machine.llvm, llvm::CodeGenFileType::ObjectFile);
  }
  return machine.pipeline->run(module);
}

std::string generate_assembly(llvm::Module& module, Machine& machine) {
  const auto text = ObjectPipeline(*machine.llvm, llvm::CodeGenFileType::AssemblyFile).run(module);
  return std::string(text.begin(), text.end());
}

}  // namespace tw::codegen
