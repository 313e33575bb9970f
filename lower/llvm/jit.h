// SPDX-License-Identifier: Apache-2.0
// Machine code in memory.
#pragma once

#include <llvm/ADT/SmallVector.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tw::codegen {

// What kernels may refer to: the C API of the runtime, the C library's mathematics, and helpers of
// code generation. Null for any other name: nothing is looked up in the process.
void* runtime_symbol(std::string_view name);

// An object file, loaded. The memory goes with it.
class LoadedCode {
 public:
  // Throws UnknownFunction for a symbol that is neither in the object nor a runtime_symbol.
  static std::unique_ptr<LoadedCode> load(llvm::SmallVector<char, 0> object,
                                          const std::vector<std::string>& functions);
  ~LoadedCode();
  void* address(size_t function) const { return addresses_[function]; }
  size_t code_bytes() const;

 private:
  struct Memory;
  LoadedCode();
  std::unique_ptr<Memory> memory_;
  std::vector<void*> addresses_;
};

}  // namespace tw::codegen
