// SPDX-License-Identifier: Apache-2.0
// LLVM's view of a target: what is created once a process, and once a thread.
#pragma once

#include <string>

#include "lower/llvm/target.h"

namespace llvm {
class Function;
class TargetMachine;
}  // namespace llvm

namespace tw::codegen {

// Registers the code generators; safe to call often and from any thread.
void initialize_llvm();
const std::string& host_triple();

// This thread's machine for `target`: creating one takes longer than compiling a small kernel, so a
// thread keeps the last few. Valid until the thread asks for other targets.
llvm::TargetMachine& target_machine(const Target& target);

// Attributes that every function made for `target` carries: processor, features, vector width.
void add_target_attributes(llvm::Function& function, const Target& target);

}  // namespace tw::codegen
