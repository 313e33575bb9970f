// SPDX-License-Identifier: Apache-2.0
// The pass pipeline. Schedules have decided about loops, and the emitter leaves rotated loops,
// folded addresses and unrolled bodies behind, so that a handful of passes does what O3 would do
// with the rest; README.md says what each is for.
#include "lower/llvm/optimize.h"

#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/BasicAliasAnalysis.h>
#include <llvm/Analysis/ScopedNoAliasAA.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopUnrollPass.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

namespace tw::codegen {
namespace {

// In a loop with more accesses LICM leaves sums in memory: it compares each with all places that
// the loop adds to.
constexpr unsigned kMostAccesses = 250;

// Whether the value is the same in all iterations, or will be once what computes it stands before
// the loop.
bool is_invariant(const llvm::Loop& loop, const llvm::Value* value, int depth = 6) {
  if (loop.isLoopInvariant(value)) return true;
  const auto* computed = llvm::cast<llvm::Instruction>(value);
  if (depth == 0 || llvm::isa<llvm::PHINode>(computed) || computed->mayReadOrWriteMemory()) {
    return false;
  }
  return llvm::all_of(computed->operands(), [&](const llvm::Use& operand) {
    return is_invariant(loop, operand.get(), depth - 1);
  });
}

template <class F>
bool any_instruction(const llvm::Loop& loop, F f) {
  return llvm::any_of(loop.blocks(),
                      [&](const llvm::BasicBlock* block) { return llvm::any_of(*block, f); });
}

using Arrays = llvm::SmallPtrSet<const llvm::Value*, 4>;

// Whether it accesses an element of the arrays that is not the same in all iterations, or is more
// than a load or a store.
bool moves_in(const llvm::Loop& loop, const Arrays& arrays, const llvm::Instruction& i) {
  const auto is_element = [&](const llvm::Value* value) {
    return value->getType()->isPointerTy() && arrays.contains(llvm::getUnderlyingObject(value));
  };
  if (const llvm::Value* address = llvm::getLoadStorePointerOperand(&i)) {
    return is_element(address) && !is_invariant(loop, address);
  }
  return i.mayReadOrWriteMemory() && llvm::any_of(i.operands(), is_element);
}

bool has_many_accesses(const llvm::Loop& loop) {
  unsigned accesses = 0;
  for (const llvm::BasicBlock* block : loop.blocks()) {
    accesses +=
        llvm::count_if(*block, [](const llvm::Instruction& i) { return i.mayReadOrWriteMemory(); });
  }
  return accesses >= kMostAccesses;
}

// Whether the loop adds to places of memory that LICM will not move into registers in the loop
// around it as well: it does so with elements of a local array where that loop, too, accesses no
// others, and not too many.
bool has_sums_of_its_own(const llvm::Loop& loop) {
  const llvm::Loop* around = loop.getParentLoop();
  Arrays arrays;
  const bool own = any_instruction(loop, [&](const llvm::Instruction& i) {
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i);
    if (store == nullptr || !is_invariant(loop, store->getPointerOperand())) return false;
    const llvm::Value* array = llvm::getUnderlyingObject(store->getPointerOperand());
    arrays.insert(array);
    return around == nullptr || !llvm::isa<llvm::AllocaInst>(array);
  });
  if (own || arrays.empty()) return own;
  return has_many_accesses(*around) || any_instruction(*around, [&](const llvm::Instruction& i) {
           return moves_in(*around, arrays, i);
         });
}

// LICM that moves sums into registers at once, in the outermost of the loops that add to them. It
// would do so in each of these loops, which compares all places that they add to each time.
struct MoveInvariants : llvm::PassInfoMixin<MoveInvariants> {
  llvm::PreservedAnalyses run(llvm::Loop& loop, llvm::LoopAnalysisManager& loops,
                              llvm::LoopStandardAnalysisResults& results,
                              llvm::LPMUpdater& updater) {
    llvm::LICMOptions options;
    options.MssaNoAccForPromotionCap = has_sums_of_its_own(loop) ? kMostAccesses : 0;
    return llvm::LICMPass(options).run(loop, loops, results, updater);
  }
};

}  // namespace

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
    passes.addPass(llvm::createFunctionToLoopPassAdaptor(MoveInvariants(),
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
