// SPDX-License-Identifier: Apache-2.0
// LLVM's view of a target: what is created once a process, and once a thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lower/llvm/target.h"

namespace llvm {
class Function;
class TargetMachine;
}  // namespace llvm

namespace tw::codegen {

class ObjectPipeline;  // generate.cc

// Registers the code generators; safe to call often and from any thread.
void initialize_llvm();
const std::string& host_triple();

// What a thread keeps for a target from one compile to the next.
struct Machine {
  std::string key;
  std::unique_ptr<llvm::TargetMachine> llvm;
  std::vector<std::string> missing_features;  // Target::features_missing_on_host
  std::unique_ptr<ObjectPipeline> pipeline;   // goes before the machine that it refers to

  Machine();
  Machine(Machine&&) noexcept;
  ~Machine();
};

// This thread's machine for `target`: creating one takes longer than compiling a small kernel, so a
// thread keeps the last few. Valid until the thread asks for other targets.
Machine& machine_for(const Target& target);

// Attributes that every function made for `target` carries: processor, features, vector width.
void add_target_attributes(llvm::Function& function, const Target& target);

}  // namespace tw::codegen
