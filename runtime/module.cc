// SPDX-License-Identifier: Apache-2.0
#include "runtime/module.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "runtime/c_api.h"
#include "runtime/error.h"
#include "runtime/instruction_sets.h"
#include "runtime/last_error.h"
#include "runtime/parameter_file.h"

namespace tw {
namespace {

// Kernels refer to functions of this library by name. Where it was loaded privately, as a Python
// extension's dependency is, an exported library would not find them: make its names public. They
// are those of c_api.h and our C++ classes, everything else is hidden.
void publish_runtime_symbols() {
  static const bool done = [] {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&tw_parallel_for), &info) != 0 && info.dli_fname) {
      dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    }
    return true;
  }();
  (void)done;
}

// Loads what the file is now. The loader takes a path that it has met for the library which lay
// there then, though another file was put in its place; a slash more makes it look again.
void* open_library(std::string path) {
  for (void* met = nullptr;;) {
    void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (loaded == nullptr) return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    // Under a name that was not met it is found by the file that it is.
    if (loaded == met) return loaded;
    dlclose(loaded);
    met = loaded;
    path.insert(path.begin(), '/');
  }
}

class LibraryModule final : public Module, public std::enable_shared_from_this<LibraryModule> {
 public:
  explicit LibraryModule(const std::string& path) : path_(path) {
    publish_runtime_symbols();
    // An absolute path, so that the loader does not search for a bare name elsewhere.
    char* absolute = realpath(path.c_str(), nullptr);
    if (absolute == nullptr) fail(std::strerror(errno));
    handle_ = open_library(absolute);
    std::free(absolute);
    if (handle_ == nullptr) fail(dlerror());
    try {
      if (const void* text = dlsym(handle_, TW_METADATA_SYMBOL)) {
        metadata_ = static_cast<const char*>(text);
        info_ = metadata_from_json(metadata_);
        check_instruction_sets();
        if (!info_.parameters.empty()) map_parameters();
      }
    } catch (...) {
      dlclose(handle_);
      throw;
    }
  }
  ~LibraryModule() override { dlclose(handle_); }

  std::vector<std::string> function_names() const override {
    std::vector<std::string> names;
    for (const FunctionInfo& function : info_.functions) names.push_back(function.name);
    return names;
  }

  Function get_function(std::string_view name) const override {
    const auto known = std::ranges::find(info_.functions, name, &FunctionInfo::name);
    // A library that describes its functions has no others: a C symbol such as "memcpy" or a
    // helper would be found, and is no kernel.
    const bool listed = known != info_.functions.end();
    void* symbol = nullptr;
    if (listed || metadata_.empty()) {
      const std::string own = listed ? known->symbol : "";
      symbol = dlsym(handle_, own.empty() ? std::string(name).c_str() : own.c_str());
    }
    if (symbol == nullptr) {
      raise({.code = ErrorCode::UnknownFunction,
             .what = fmt::format("'{}' has no function '{}'", path_, name),
             .legal = fmt::format("{}", fmt::join(function_names(), ", "))});
    }
    FunctionInfo info = listed ? *known : FunctionInfo{.name = std::string(name)};
    void* unchecked = info.unchecked.empty() ? nullptr : dlsym(handle_, info.unchecked.c_str());
    return Function(std::move(info), reinterpret_cast<KernelPointer>(symbol), shared_from_this(),
                    reinterpret_cast<KernelPointer>(unchecked));
  }

  const std::string& metadata() const { return metadata_; }

 private:
  void check_instruction_sets() const {
    const std::vector<std::string> missing = missing_instruction_sets(info_.instruction_sets);
    if (missing.empty()) return;
    raise({.code = ErrorCode::TargetFeature,
           .what = fmt::format("'{}' is built for '{}', which needs {}; this machine has not",
                               path_, info_.target, fmt::join(missing, ", ")),
           .legal = "a library that is built for this machine"});
  }
  // Kernels find each array through a variable of the library that is called as the array.
  void map_parameters() {
    const std::string path = parameters_path(path_);
    Parameters parameters = read_parameters(path);
    if (fmt::format("{:016x}", parameters.checksum) != info_.parameters) {
      raise({.code = ErrorCode::BadParameters,
             .what = fmt::format("parameters '{}' are not those of '{}'", path, path_),
             .legal = "the file that export_library wrote beside the library"});
    }
    for (NamedArray& array : parameters.arrays) {
      void* variable = dlsym(handle_, array.name.c_str());
      if (variable == nullptr) {
        raise({.code = ErrorCode::BadParameters,
               .what = fmt::format("'{}' has no parameter '{}'", path_, array.name)});
      }
      *static_cast<const void**>(variable) = array.value.data();
      parameters_.push_back(std::move(array.value));
    }
  }
  [[noreturn]] void fail(const char* reason) const {
    raise({.code = ErrorCode::ModuleLoad,
           .what = fmt::format("cannot load '{}': {}", path_, reason),
           .legal = "a shared library written by export_library"});
  }

  std::string path_;
  void* handle_ = nullptr;
  std::string metadata_;
  ModuleInfo info_;
  std::vector<NDArray> parameters_;  // the code reads them
};

}  // namespace

CallArgument::CallArgument(const NDArray& array)
    : kind_(ArgumentKind::Tensor), tensor_(array.defined() ? &array.tensor() : nullptr) {}

void* CallArgument::pointer() const {
  switch (kind_) {
    case ArgumentKind::Tensor:
      return const_cast<DLTensor*>(tensor_);
    case ArgumentKind::Int:
      return const_cast<int64_t*>(&integer_);
    case ArgumentKind::Float:
      return const_cast<double*>(&real_);
  }
  return nullptr;
}

Function::Function(FunctionInfo info, KernelPointer kernel, std::shared_ptr<const void> owner,
                   KernelPointer unchecked)
    : info_(std::make_shared<const FunctionInfo>(std::move(info))),
      kernel_(kernel),
      unchecked_(unchecked),
      owner_(std::move(owner)) {}

Function Function::unchecked() const {
  Function function = *this;
  if (unchecked_ != nullptr) function.kernel_ = unchecked_;
  return function;
}

void Function::call(std::span<const CallArgument> arguments) const {
  if (!defined()) raise({.code = ErrorCode::UnknownFunction, .what = "the function is undefined"});
  constexpr size_t kInline = 16;
  std::array<void*, kInline> inline_pointers;
  std::array<int32_t, kInline> inline_codes;
  std::vector<void*> more_pointers;
  std::vector<int32_t> more_codes;
  void** pointers = inline_pointers.data();
  int32_t* codes = inline_codes.data();
  if (arguments.size() >= kInline) {
    more_pointers.resize(arguments.size() + 1);
    more_codes.resize(arguments.size());
    pointers = more_pointers.data();
    codes = more_codes.data();
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    pointers[i] = arguments[i].pointer();
    codes[i] = static_cast<int32_t>(arguments[i].kind());
  }
  pointers[arguments.size()] = context();
  last_error().present = false;
  if (kernel_(pointers, codes, static_cast<int32_t>(arguments.size())) != 0) {
    const LastError error = last_error();
    last_error().present = false;
    raise_last_error(error, name());
  }
}

Module::~Module() = default;

std::string Module::source(std::string_view format) const {
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("this module has no source in format '{}'", format)});
}

void Module::export_library(const std::string& path) const {
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("this module cannot be exported to '{}'", path),
         .legal = "a module that was just built; a loaded library is a file already"});
}

std::shared_ptr<Module> load_library(const std::string& path) {
  return std::make_shared<LibraryModule>(path);
}

std::string parameters_path(const std::string& library) {
  return std::filesystem::path(library).replace_extension(".params").string();
}

std::string library_metadata(const Module& module) {
  const auto* library = dynamic_cast<const LibraryModule*>(&module);
  return library != nullptr ? library->metadata() : std::string();
}

}  // namespace tw
