// SPDX-License-Identifier: Apache-2.0
#include "lower/llvm/generate_passes.h"

#include <algorithm>
#include <array>

#include "lower/llvm/machine.h"
#include "lower/llvm/pipeline.h"

namespace tw::codegen {
namespace {

// Passes that cost time and do nothing for kernels, or next to nothing: with and without them,
// kernels ran within the noise of each other (README.md).
constexpr auto kLeftOut = std::to_array<std::string_view>({
    // Out-of-order processors reorder better.
    "Post RA top-down list latency scheduler",
    // The emitter leaves addresses that need no reduction: README.md.
    "Canonicalize Freeze Instructions in Loops",
    "Loop Strength Reduction",

    // What optimisation of the IR has done already.
    "Early Tail Duplication",
    "Optimize machine instruction PHIs",
    "Early If-Conversion",
    "Machine InstCombiner",
    "Machine Common Subexpression Elimination",
    "Machine code sinking",
    "Machine Loop Invariant Code Motion",  // the one after register allocation
    "PostRA Machine Sink",
    "Shrink Wrapping analysis",
    "Tail Duplication",
    "Machine Copy Propagation Pass",
    "Live Range Shrink",
    "Control Flow Optimizer",
    "Machine Late Instructions Cleanup Pass",
    "Detect Dead Lanes",
    "Rename Disconnected Subregister Components",

    // Choices between instructions that kernels do not have, or not where it counts.
    "X86 Domain Reassignment Pass",
    "X86 cmov Conversion",
    "X86 Fixup SetCC",
    "X86 LEA Optimize",
    "X86 LEA Fixup",
    "X86 Avoid Store Forwarding Blocks",
    "X86 Byte/Word Instruction Fixup",
    "X86 Fixup Inst Tuning",
    "X86 Execution Dependency Fix",
    "X86 Optimize Call Frame",
    "X86 Atom pad short functions",
    "X86 Partial Reduction",

    // Types and intrinsics that kernels do not have.
    "Expand large div/rem",
    "Expand large fp convert",
    "Expand Atomic instructions",
    "Expand vector predication intrinsics",
    "Lower constant intrinsics",
    "Constant Hoisting",
    "Merge contiguous icmps into a memcmp",
    "Expand memcmp() to load/stores",
    "Replace intrinsics with calls to vector library",
    "Partially inline calls to library functions",
    "Interleaved Access Pass",
    "X86 FP Stackifier",
    // Tiles.
    "Lower AMX intrinsics",
    "Lower AMX type for load/store",
    "Tile Register Pre-configure",
    "Tile Register Configure",
    "X86 Lower Tile Copy",
    // Exceptions, garbage collection, threads, stacks, other systems, tools.
    "Lower Garbage Collection Instructions",
    "Shadow Stack GC Lowering",
    "Analyze Machine Code For Garbage Collection",
    "Fixup Statepoint Caller Saved",
    "StackMap Liveness Analysis",
    "Exception handling preparation",
    "Prepare callbr",
    "Expand indirectbr instructions",
    "Contiguously Lay Out Funclets",
    "Safe Stack instrumentation pass",
    "Insert stack protectors",
    "TLS Variable Hoist",
    "Local Dynamic TLS Access Clean-up",
    "X86 PIC Global Base Reg Initialization",
    "X86 Windows Fixup Buffer Security Check",
    "X86 DynAlloca Expander",
    "Argument Stack Rebase",
    "Local Stack Slot Allocation",
    "Stack Frame Layout Analysis",
    "Check CFA info and insert CFI instructions if needed",
    "Instrument function entry/exit with calls to e.g. mcount() (post inlining)",
    "Insert fentry calls",
    "Insert XRay ops",
    "Implement the 'patchable-function' attribute",
    "Remove Redundant DEBUG_VALUE analysis",
    "Live DEBUG_VALUE analysis",
    "Machine Sanitizer Binary Metadata",
    "Pseudo Probe Inserter",
    "Unpack machine instruction bundles",
    "Register Allocation Pass Scoring",
    "X86 Discriminate Memory Operands",
    "X86 Insert Cache Prefetches",
    "X86 insert wait instruction",
    // Hardening.
    "Insert KCFI indirect call checks",
    "X86 Indirect Branch Tracking",
    "X86 Indirect Thunks",
    "X86 Return Thunks",
    "X86 speculative load hardening",
    "X86 Speculative Execution Side Effect Suppression",
    "X86 Load Value Injection (LVI) Load Hardening",
    "X86 Load Value Injection (LVI) Ret-Hardening",
});

}  // namespace

bool is_left_out(std::string_view pass) {
  return std::ranges::find(kLeftOut, pass) != kLeftOut.end();
}

std::vector<std::string_view> passes_without_effect(const Target& target) {
  const ObjectPipeline pipeline(*machine_for(target).llvm, llvm::CodeGenFileType::ObjectFile);
  std::vector<std::string_view> names(kLeftOut.begin(), kLeftOut.end());
  std::erase_if(names,
                [&](std::string_view name) { return pipeline.filter().left_out().contains(name); });
  return names;
}

}  // namespace tw::codegen
