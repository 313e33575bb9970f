// SPDX-License-Identifier: Apache-2.0
// The pass pipeline. Schedules have decided about loops, and the emitter leaves rotated loops,
// folded addresses and unrolled bodies behind, so that a handful of passes does what O3 would do
// with the rest; README.md says what each is for.
#include "lower/llvm/optimize.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/ScopedNoAliasAA.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

namespace tw::codegen {

void optimize(llvm::Module& module, llvm::TargetMachine& machine, const OptimizeOptions& options) {
  if (options.level == 0) return;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = options.vectorize;
  tuning.SLPVectorization = options.vectorize;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  // Accesses to different buffers are told apart by their scopes at once; what is left takes a look
  // at addresses.
  functions.registerPass([] {
    llvm::AAManager aliases;
    aliases.registerFunctionAnalysis<llvm::ScopedNoAliasAA>();
    aliases.registerFunctionAnalysis<llvm::BasicAA>();
    return aliases;
  });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);

  if (options.vectorize) {
    builder
        .buildPerModuleDefaultPipeline(options.level >= 3 ? llvm::OptimizationLevel::O3
                                                          : llvm::OptimizationLevel::O2)
        .run(module, modules);
    return;
  }

  llvm::FunctionPassManager passes;
  if (options.unroll) {
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LoopFullUnrollPass()));
  }
  passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  if (options.level >= 2) {
    llvm::LoopPassManager loop_passes;
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()),
                                                         /*UseMemorySSA=*/true,
                                                         /*UseBlockFrequencyInfo=*/false));
  }
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::FunctionPassManager few;  // for what runs once a call
  few.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  for (llvm::Function& f : module) {
    if (!f.isDeclaration()) (f.hasOptNone() ? few : passes).run(f, functions);
  }
}

}  // namespace tw::codegen
