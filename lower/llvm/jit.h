// SPDX-License-Identifier: Apache-2.0
// Machine code in memory.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tw::codegen {

// What kernels may refer to: the C API of the runtime, the C library's mathematics, and helpers of
// code generation. Null for any other name: nothing is looked up in the process.
void* runtime_symbol(std::string_view name);

// An object file, loaded through ORC. Its library of symbols and its memory go with it.
class LoadedCode {
 public:
  // Throws UnknownFunction for a symbol that is neither in the object nor a runtime_symbol.
  static std::unique_ptr<LoadedCode> load(llvm::SmallVector<char, 0> object,
                                          const std::vector<std::string>& functions);
  ~LoadedCode();
  void* address(size_t function) const { return addresses_[function]; }

 private:
  struct Library;
  LoadedCode();
  // What went wrong, or nothing.
  std::string add(std::unique_ptr<llvm::MemoryBuffer> object,
                  const std::vector<std::string>& functions);
  std::unique_ptr<Library> library_;
  std::vector<void*> addresses_;
};

}  // namespace tw::codegen
