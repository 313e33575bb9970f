// SPDX-License-Identifier: Apache-2.0
// LLVM's headers that several sources of lower/llvm include; they take longer to read than the
// sources to compile.
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include "cmake/precompiled/std.h"
