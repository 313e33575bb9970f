// SPDX-License-Identifier: Apache-2.0
#include "lower/llvm/generate.h"

#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>

#include "lower/llvm/fatal_error.h"
#include "lower/llvm/generate_passes.h"
#include "lower/llvm/pipeline.h"
#include "runtime/error.h"

namespace tw::codegen {

void PassFilter::add(llvm::Pass* pass) {
  const std::string name = pass->getPassName().str();
  if (!is_left_out(name)) return to_.add(pass);
  left_out_.insert(name);
  delete pass;
}

ObjectPipeline::ObjectPipeline(llvm::TargetMachine& machine, llvm::CodeGenFileType type, bool all)
    : out_(bytes_), filter_(passes_) {
  auto& full = static_cast<llvm::LLVMTargetMachine&>(machine);
  auto* info = new llvm::MachineModuleInfoWrapperPass(&full);
  llvm::TargetPassConfig* config =
      full.createPassConfig(all ? static_cast<llvm::legacy::PassManagerBase&>(passes_) : filter_);
  config->setDisableVerify(true);
  passes_.add(config);
  passes_.add(info);
  // The order in which kernels are written keeps accumulators in registers, and the scheduler takes
  // quadratic time in an unrolled body.
  config->disablePass(&llvm::MachineSchedulerID);
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

namespace {

// Through the pipeline, which is lost where LLVM throws: it is in no state to be destroyed.
llvm::SmallVector<char, 0> run(std::unique_ptr<ObjectPipeline>& pipeline, llvm::Module& module) {
  try {
    return pipeline->run(module);
  } catch (const FatalError&) {
    (void)pipeline.release();
    throw;
  }
}

llvm::SmallVector<char, 0> run_once(llvm::Module& module, const Machine& machine,
                                    llvm::CodeGenFileType type, bool all_passes) {
  auto pipeline = std::make_unique<ObjectPipeline>(*machine.llvm, type, all_passes);
  return run(pipeline, module);
}

}  // namespace

llvm::SmallVector<char, 0> generate_object(llvm::Module& module, Machine& machine,
                                           bool all_passes) {
  constexpr auto kType = llvm::CodeGenFileType::ObjectFile;
  if (all_passes) return run_once(module, machine, kType, true);
  if (machine.pipeline == nullptr) {
    machine.pipeline = std::make_unique<ObjectPipeline>(*machine.llvm, kType);
  }
  return run(machine.pipeline, module);
}

std::string generate_assembly(llvm::Module& module, Machine& machine, bool all_passes) {
  const auto text = run_once(module, machine, llvm::CodeGenFileType::AssemblyFile, all_passes);
  return std::string(text.begin(), text.end());
}

}  // namespace tw::codegen
