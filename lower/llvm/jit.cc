// SPDX-License-Identifier: Apache-2.0
#include "lower/llvm/jit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ExecutionEngine/JITSymbol.h>
#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/error.h"

namespace tw::codegen {
namespace {

uintptr_t align_up(uintptr_t value, uintptr_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace

// One mapping an object: code first, then constants, then writable data, each from a page on, so
// that displacements of 32 bits reach everything.
struct LoadedCode::Memory final : llvm::RuntimeDyld::MemoryManager {
  struct Part {
    uint8_t* begin = nullptr;
    uint8_t* free = nullptr;
    uint8_t* end = nullptr;

    uint8_t* take(uintptr_t size, uintptr_t alignment) {
      auto* at = reinterpret_cast<uint8_t*>(
          align_up(reinterpret_cast<uintptr_t>(free), std::max<uintptr_t>(alignment, 1)));
      if (begin == nullptr || at + size > end) return nullptr;
      free = at + size;
      return at;
    }
  };
  Part code, constants, data;
  uint8_t* base = nullptr;
  size_t bytes = 0;

  ~Memory() override {
    if (base != nullptr) munmap(base, bytes);
  }
  bool needsToReserveAllocationSpace() override { return true; }
  void reserveAllocationSpace(uintptr_t code_size, llvm::Align code_alignment, uintptr_t ro_size,
                              llvm::Align ro_alignment, uintptr_t rw_size,
                              llvm::Align rw_alignment) override {
    static const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t sizes[] = {align_up(code_size + code_alignment.value(), page),
                               align_up(ro_size + ro_alignment.value(), page),
                               align_up(rw_size + rw_alignment.value(), page)};
    bytes = sizes[0] + sizes[1] + sizes[2];
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
      bytes = 0;
      return;
    }
    base = static_cast<uint8_t*>(mapped);
    uint8_t* at = base;
    Part* const parts[] = {&code, &constants, &data};
    for (size_t i = 0; i < 3; ++i) {
      *parts[i] = {at, at, at + sizes[i]};
      at += sizes[i];
    }
  }
  uint8_t* allocateCodeSection(uintptr_t size, unsigned alignment, unsigned,
                               llvm::StringRef) override {
    return code.take(size, alignment);
  }
  uint8_t* allocateDataSection(uintptr_t size, unsigned alignment, unsigned, llvm::StringRef,
                               bool read_only) override {
    return (read_only ? constants : data).take(size, alignment);
  }
  void registerEHFrames(uint8_t*, uint64_t, size_t) override {}  // kernels do not unwind
  void deregisterEHFrames() override {}
  bool finalizeMemory(std::string* message) override {
    const auto size = [](const Part& p) { return static_cast<size_t>(p.end - p.begin); };
    if (mprotect(code.begin, size(code), PROT_READ | PROT_EXEC) != 0 ||
        mprotect(constants.begin, size(constants), PROT_READ) != 0) {
      if (message != nullptr) *message = std::strerror(errno);
      return true;
    }
    return false;
  }
};

namespace {

class Resolver final : public llvm::LegacyJITSymbolResolver {
 public:
  std::vector<std::string> missing;

  llvm::JITSymbol findSymbol(const std::string& name) override {
    void* address = runtime_symbol(name);
    if (address == nullptr) {
      missing.push_back(name);
      return nullptr;
    }
    return {static_cast<uint64_t>(reinterpret_cast<uintptr_t>(address)),
            llvm::JITSymbolFlags::Exported};
  }
  llvm::JITSymbol findSymbolInLogicalDylib(const std::string&) override { return nullptr; }
};

}  // namespace

LoadedCode::LoadedCode() : memory_(std::make_unique<Memory>()) {}
LoadedCode::~LoadedCode() = default;
size_t LoadedCode::code_bytes() const {
  return static_cast<size_t>(memory_->code.free - memory_->code.begin);
}

std::unique_ptr<LoadedCode> LoadedCode::load(llvm::SmallVector<char, 0> object,
                                             const std::vector<std::string>& functions) {
  std::unique_ptr<LoadedCode> loaded(new LoadedCode);
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "kernel"));
  TW_CHECK(static_cast<bool>(file), llvm::toString(file.takeError()));
  Resolver resolver;
  llvm::RuntimeDyld linker(*loaded->memory_, resolver);
  const auto info = linker.loadObject(**file);
  if (loaded->memory_->base == nullptr) {
    raise({.code = ErrorCode::OutOfMemory, .what = "no memory for machine code"});
  }
  if (!linker.hasError()) linker.resolveRelocations();
  if (!resolver.missing.empty()) {
    raise({.code = ErrorCode::UnknownFunction,
           .what = fmt::format("kernels call unknown C functions: {}",
                               fmt::join(resolver.missing, ", ")),
           .legal = "functions of runtime/c_api.h and of the C library's math.h"});
  }
  TW_CHECK(!linker.hasError(), linker.getErrorString().str());
  for (const std::string& name : functions) {
    const llvm::JITEvaluatedSymbol symbol = linker.getSymbol(name);
    TW_CHECK(symbol.getAddress() != 0, name);
    loaded->addresses_.push_back(reinterpret_cast<void*>(symbol.getAddress()));
  }
  std::string message;
  if (loaded->memory_->finalizeMemory(&message)) {
    raise({.code = ErrorCode::OutOfMemory,
           .what = "cannot make machine code executable: " + message});
  }
  return loaded;
}

}  // namespace tw::codegen
