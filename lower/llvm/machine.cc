// SPDX-License-Identifier: Apache-2.0
#include "lower/llvm/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/IR/Function.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <list>
#include <memory>

#include "lower/llvm/pipeline.h"
#include "runtime/error.h"

namespace tw::codegen {
namespace {

std::string feature_text(const Target& target) {
  return fmt::format("{}", fmt::join(target.features, ","));
}

std::unique_ptr<llvm::TargetMachine> create(const Target& target) {
  initialize_llvm();
  std::string message;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, message);
  TW_CHECK(found != nullptr, message);
  llvm::TargetOptions options;
  options.EnableFastISel = false;
  options.UseInitArray = true;
  // Position-independent, so that what is loaded in memory and what is exported is one code.
  const auto level = static_cast<llvm::CodeGenOptLevel>(target.opt_level);
  std::unique_ptr<llvm::TargetMachine> machine(
      found->createTargetMachine(target.triple, target.cpu, feature_text(target), options,
                                 llvm::Reloc::PIC_, llvm::CodeModel::Small, level, /*JIT=*/false));
  TW_CHECK(machine != nullptr, target.triple);
  return machine;
}

}  // namespace

void initialize_llvm() {
  static const bool done = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    return true;
  }();
  (void)done;
}

const std::string& host_triple() {
  static const std::string triple = llvm::Triple::normalize(llvm::sys::getDefaultTargetTriple());
  return triple;
}

Machine::Machine() = default;
Machine::Machine(Machine&&) noexcept = default;
Machine::~Machine() = default;

Machine& machine_for(const Target& target) {
  constexpr size_t kKept = 4;
  thread_local std::list<Machine> cache;
  std::string key =
      fmt::format("{}|{}|{}|{}", target.triple, target.cpu, feature_text(target), target.opt_level);
  for (auto it = cache.begin(); it != cache.end(); ++it) {
    if (it->key == key) {
      cache.splice(cache.begin(), cache, it);
      return cache.front();
    }
  }
  Machine& machine = cache.emplace_front();
  machine.key = std::move(key);
  machine.llvm = create(target);
  machine.missing_features = target.features_missing_on_host();
  if (cache.size() > kKept) cache.pop_back();
  return machine;
}

void add_target_attributes(llvm::Function& function, const Target& target) {
  const std::string bits = std::to_string(target.vector_bits);
  function.addFnAttr("target-cpu", target.cpu);
  if (!target.features.empty()) function.addFnAttr("target-features", feature_text(target));
  // LLVM prefers 256 bits on many processors that have 512; schedules count on all of them.
  function.addFnAttr("prefer-vector-width", bits);
  function.addFnAttr("min-legal-vector-width", bits);
  function.addFnAttr("no-trapping-math", "true");
  function.addFnAttr("frame-pointer", "none");
  function.addFnAttr(llvm::Attribute::NoUnwind);
  // A vector register that waits on the stack is stored and read slowly where it lies across two
  // cache lines, which without this depends on where the caller's stack lies: a kernel with a few
  // of them took 2.1 ms in one process and 2.7 ms in the next.
  const llvm::Align of_vector(static_cast<uint64_t>(target.vector_bits) / 8);
  if (of_vector > function.getParent()->getDataLayout().getStackAlignment()) {
    function.addFnAttr(llvm::Attribute::getWithStackAlignment(function.getContext(), of_vector));
  }
}

}  // namespace tw::codegen
