// SPDX-License-Identifier: Apache-2.0
// Kernels to machine code: in memory, as an object, or as a shared library.
#pragma once

#include <memory>
#include <vector>

#include "lower/kernel.h"
#include "lower/llvm/target.h"
#include "lower/pipeline.h"
#include "runtime/module.h"

namespace tw {

struct CompileOptions {
  bool fast_math_contract = true;  // a*b+c may become an fma
  bool llvm_vectorize = false;     // LLVM's loop and SLP vectorizers; schedules decide otherwise
  bool keep_sources = false;       // get_source works without compiling again
  // For another machine: features that this one lacks are no error, and the module is there to be
  // exported and read. A call of what this machine cannot run is still refused.
  bool cross = false;
  // Take the code of an equal kernel, where one was compiled not long ago. For kernels without
  // arguments, compiled alone.
  bool reuse = false;
  // Let LLVM look for mistakes in what was made for it, which are an error then. Without, they are
  // undefined: for processes that may be lost and whose results are compared, like the tuner's
  // workers. A kernel that names LLVM's intrinsics is looked at anyway.
  bool verify = true;
};
// Seconds by phase.
struct CompileTimings {
  double emit = 0, optimize = 0, generate = 0, link = 0;
};

// One LLVM context a call, so compiles run in parallel. The module owns its code: it goes when the
// last function taken from it goes. Supports get_function, source("ll" | "asm" | "ir"),
// export_library(path). Throws TargetFeature where this machine lacks what the target has, unless
// cross.
std::shared_ptr<Module> compile(const KernelModule& kernels, const Target& target,
                                const CompileOptions& options = {},
                                CompileTimings* timings = nullptr);

// Several compiled modules as one, whose functions have different names (BadArgument): exported, it
// is one library. They are for the same target.
std::shared_ptr<Module> join(std::vector<std::shared_ptr<Module>> modules);

// The preparation of a bound module and the device kernels behind it, compiled, or loaded anew
// where an equal one was compiled before: candidates of one task pack their weights into a handful
// of layouts.
Function compile_preparation(const KernelModule& preparation, const Target& target,
                             CompileTimings* timings = nullptr);

// Compiles and runs the preparations of a bound module: what remains is to be called. Code for a
// machine other than this one is prepared by code for this one.
KernelModule prepare(KernelModule module, const Target& target);

}  // namespace tw
