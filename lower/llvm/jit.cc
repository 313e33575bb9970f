// SPDX-License-Identifier: Apache-2.0
#include "lower/llvm/jit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "runtime/error.h"

// There when the thread sanitizer is.
extern "C" {
__attribute__((weak)) void __tsan_ignore_thread_begin();
__attribute__((weak)) void __tsan_ignore_thread_end();
}

namespace tw::codegen {
namespace {

uintptr_t align_up(uintptr_t value, uintptr_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// One mapping an object: code first, then constants, then writable data, each from a page on, so
// that displacements of 32 bits reach everything.
struct Memory final : llvm::RuntimeDyld::MemoryManager {
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

// The runtime's functions, defined in a library of symbols when a kernel first asks for them.
class RuntimeSymbols final : public llvm::orc::DefinitionGenerator {
 public:
  llvm::Error tryToGenerate(llvm::orc::LookupState&, llvm::orc::LookupKind,
                            llvm::orc::JITDylib& library, llvm::orc::JITDylibLookupFlags,
                            const llvm::orc::SymbolLookupSet& wanted) override {
    llvm::orc::SymbolMap found;
    for (const auto& [name, flags] : wanted) {
      if (void* address = runtime_symbol(*name)) {
        found[name] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
      }
    }
    return found.empty() ? llvm::Error::success()
                         : library.define(llvm::orc::absoluteSymbols(std::move(found)));
  }
};

// The process's one ORC session. Each object gets a library of symbols of its own, so that kernels
// of one name do not meet. Never destroyed: kernels may outlive static objects.
struct Session {
  llvm::orc::ExecutionSession execution;
  llvm::orc::RTDyldObjectLinkingLayer objects;
  llvm::orc::JITDylib& runtime;
  uint64_t next = 0;

  Session()
      : execution(llvm::cantFail(llvm::orc::SelfExecutorProcessControl::Create())),
        objects(execution, [] { return std::make_unique<Memory>(); }),
        runtime(execution.createBareJITDylib("runtime")) {
    runtime.addGenerator(std::make_unique<RuntimeSymbols>());
  }
};

// The session for one thread at a time: loading takes a tenth of a millisecond, and threads that
// load at once would do each other's work inside ORC. ORC is half in LLVM's library, which the
// thread sanitizer does not see, and half in templates here: it sees locks released that nobody
// took. So it looks away inside, and sees this lock.
class SessionAccess {
 public:
  SessionAccess() : lock_(mutex()) {
    if (__tsan_ignore_thread_begin != nullptr) __tsan_ignore_thread_begin();
    static Session* const only = new Session;
    session_ = only;
  }
  ~SessionAccess() {
    if (__tsan_ignore_thread_end != nullptr) __tsan_ignore_thread_end();
  }
  SessionAccess(const SessionAccess&) = delete;
  SessionAccess& operator=(const SessionAccess&) = delete;
  Session* operator->() const { return session_; }
  Session& operator*() const { return *session_; }

 private:
  static std::mutex& mutex() {
    static auto* const never_destroyed = new std::mutex;
    return *never_destroyed;
  }
  Session* session_;
  std::lock_guard<std::mutex> lock_;
};

// Names that the object refers to and nobody defines.
std::vector<std::string> missing_symbols(const llvm::object::ObjectFile& object) {
  std::vector<std::string> missing;
  for (const llvm::object::SymbolRef& symbol : object.symbols()) {
    const uint32_t flags = llvm::cantFail(symbol.getFlags());
    const llvm::StringRef name = llvm::cantFail(symbol.getName());
    if ((flags & llvm::object::SymbolRef::SF_Undefined) == 0 || name.empty()) continue;
    if (runtime_symbol(name) == nullptr) missing.push_back(name.str());
  }
  return missing;
}

}  // namespace

struct LoadedCode::Library {
  llvm::orc::JITDylib* symbols;
  explicit Library(Session& s)
      : symbols(&s.execution.createBareJITDylib(fmt::format("kernels {}", ++s.next))) {
    symbols->addToLinkOrder(s.runtime);
  }
};

LoadedCode::LoadedCode() = default;
LoadedCode::~LoadedCode() {
  if (library_ == nullptr) return;
  const SessionAccess s;
  llvm::cantFail(s->execution.removeJITDylib(*library_->symbols));
}

std::unique_ptr<LoadedCode> LoadedCode::load(llvm::SmallVector<char, 0> object,
                                             const std::vector<std::string>& functions) {
  auto buffer = std::make_unique<llvm::SmallVectorMemoryBuffer>(std::move(object), "kernel",
                                                                /*RequiresNullTerminator=*/false);
  auto file = llvm::object::ObjectFile::createObjectFile(buffer->getMemBufferRef());
  TW_CHECK(static_cast<bool>(file), llvm::toString(file.takeError()));
  if (const auto missing = missing_symbols(**file); !missing.empty()) {
    raise({.code = ErrorCode::UnknownFunction,
           .what = fmt::format("kernels call unknown C functions: {}", fmt::join(missing, ", ")),
           .legal = "functions of runtime/c_api.h and of the C library's math.h"});
  }
  std::unique_ptr<LoadedCode> loaded(new LoadedCode);
  std::string failure = loaded->add(std::move(buffer), functions);
  if (!failure.empty()) {
    raise({.code = ErrorCode::OutOfMemory, .what = "machine code cannot be loaded: " + failure});
  }
  return loaded;
}

std::string LoadedCode::add(std::unique_ptr<llvm::MemoryBuffer> object,
                            const std::vector<std::string>& functions) {
  const SessionAccess s;
  library_ = std::make_unique<Library>(*s);
  llvm::orc::SymbolLookupSet wanted;
  std::vector<llvm::orc::SymbolStringPtr> names;
  for (const std::string& name : functions) {
    names.push_back(s->execution.intern(name));
    wanted.add(names.back());
  }
  if (llvm::Error error = s->objects.add(*library_->symbols, std::move(object))) {
    return llvm::toString(std::move(error));
  }
  auto addresses = s->execution.lookup(
      {{library_->symbols, llvm::orc::JITDylibLookupFlags::MatchExportedSymbolsOnly}},
      std::move(wanted));
  if (!addresses) return llvm::toString(addresses.takeError());
  for (const auto& name : names) {
    addresses_.push_back((*addresses)[name].getAddress().toPtr<void*>());
  }
  return {};
}

}  // namespace tw::codegen
