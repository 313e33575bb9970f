// SPDX-License-Identifier: Apache-2.0
// Compiled functions and the modules they come from: a library on disk here, a JIT elsewhere.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/api.h"
#include "runtime/dlpack.h"
#include "runtime/module_metadata.h"
#include "runtime/ndarray.h"

namespace tw {

// The type of every compiled kernel; c_api.h states the contract. Kernels of this process that are
// no compiled code, such as another library's, find Function::context() behind their last argument.
using KernelPointer = int32_t (*)(void* const* args, const int32_t* type_codes, int32_t num_args);

// One argument of a call. Refers to the tensor, which must outlive the call.
class TW_API CallArgument {
 public:
  CallArgument(const NDArray& array);                                                     // NOLINT
  CallArgument(const DLTensor* tensor) : kind_(ArgumentKind::Tensor), tensor_(tensor) {}  // NOLINT
  CallArgument(int64_t value) : kind_(ArgumentKind::Int), integer_(value) {}              // NOLINT
  CallArgument(int value) : CallArgument(int64_t{value}) {}                               // NOLINT
  CallArgument(double value) : kind_(ArgumentKind::Float), real_(value) {}                // NOLINT

  ArgumentKind kind() const { return kind_; }
  // What args[i] of the kernel is; points into this object for numbers.
  void* pointer() const;

 private:
  ArgumentKind kind_;
  union {
    const DLTensor* tensor_;
    int64_t integer_;
    double real_;
  };
};

// A callable. Keeps the code it runs alive; nothing it returns points into that code.
class TW_API Function {
 public:
  Function() = default;
  // `owner` keeps the code mapped. `info` may have no arguments when nothing is known of them.
  // `unchecked`: the entry without checks, where there is one.
  Function(FunctionInfo info, KernelPointer kernel, std::shared_ptr<const void> owner,
           KernelPointer unchecked = nullptr);

  bool defined() const { return kernel_ != nullptr; }
  const std::string& name() const { return info_->name; }
  const FunctionInfo& info() const { return *info_; }
  KernelPointer kernel() const { return kernel_; }
  // The owner of the code, which callers put behind the last argument.
  void* context() const { return const_cast<void*>(owner_.get()); }
  // The same kernel without the checks of its arguments, for callers whose arguments have passed
  // them: c_api.h says what must stay as it was. Where there is none, this function.
  Function unchecked() const;

  // Runs the kernel. What it refuses is thrown as the typed error that it named: ArgumentShape,
  // ArgumentDType, …
  void call(std::span<const CallArgument> arguments) const;
  void call(std::initializer_list<CallArgument> arguments) const {
    call(std::span(arguments.begin(), arguments.size()));
  }
  template <class... A>
  void operator()(const A&... arguments) const {
    call({CallArgument(arguments)...});
  }

 private:
  std::shared_ptr<const FunctionInfo> info_;
  KernelPointer kernel_ = nullptr;
  KernelPointer unchecked_ = nullptr;
  std::shared_ptr<const void> owner_;
};

// Functions that were compiled together. Always held by a shared_ptr.
class TW_API Module {
 public:
  virtual ~Module();

  // Names it knows; may be empty for a library without metadata.
  virtual std::vector<std::string> function_names() const = 0;
  // Throws UnknownFunction, naming those there are.
  virtual Function get_function(std::string_view name) const = 0;
  // The program as text, for formats "ll", "asm", "ir" … that the module has kept. Throws
  // BadArgument.
  virtual std::string source(std::string_view format) const;
  // Writes a shared library that load_library reads. Throws BadArgument where unsupported.
  virtual void export_library(const std::string& path) const;
};

// Opens a shared library of kernels, and its parameters (parameters_path), where it has some.
// Throws ModuleLoad with the loader's text; BadParameters for parameters that are missing, damaged,
// or of another library. The files must not be overwritten in place while they are loaded; write
// others and rename them.
TW_API std::shared_ptr<Module> load_library(const std::string& path);
// Where a library's parameters are: beside it, "name.params" for "name.so".
TW_API std::string parameters_path(const std::string& library);
// The library's metadata text as it stands there; empty when it has none.
TW_API std::string library_metadata(const Module& module);

}  // namespace tw
