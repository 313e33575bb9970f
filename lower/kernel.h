// SPDX-License-Identifier: Apache-2.0
// Kernels as passes see them, once a schedule has become statements.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/node.h"
#include "runtime/ndarray.h"

namespace tw {

// One argument of a kernel, in call order.
struct KernelArgument {
  std::string name;
  DType dtype;
  bool is_tensor = true;    // otherwise a scalar
  std::vector<Expr> shape;  // constants, or variables that the caller's arrays decide
  Var var;                  // the buffer variable, or the scalar
  bool is_output = false;
  // Of an output: each element is written once, by a stage that runs once and reduces nothing.
  bool written_once = false;
  // Of an output: the arguments that may begin at the same address (share_arguments).
  std::vector<int> may_share = {};
  // The tensor that `var` holds, for storage_flatten to bind accesses to it; undefined in kernels
  // that were never tensor programs.
  ProducerRef producer;
  int value_index = 0;
};

// An array that belongs to the kernel and not to a call: weights, and what is computed from them
// when the kernel is built. Code generation puts its address, or a copy of it, into the code.
struct KernelConstant {
  std::string name;
  DType dtype;
  std::vector<Expr> shape;  // constants
  Var var;                  // the buffer variable, free in the body to the end
  ProducerRef producer;
  int value_index = 0;
  NDArray value;  // undefined until bind_constants
};

// What a kernel is to the others of its module.
enum class KernelRole {
  Entry,        // is called from outside
  Preparation,  // runs once before an entry is called, and computes its constants
  Device,       // is launched by one of the others, on buffers and numbers (split_host_device)
};

// Before make_api the arguments' variables are free in `body`; afterwards the body unpacks them
// from the calling convention (runtime/c_api.h) and checks them. Those of a device kernel stay
// free: its caller gives them, and of its buffers no shape is known.
struct Kernel {
  std::string name = "default_function";
  KernelRole role = KernelRole::Entry;
  std::vector<KernelArgument> arguments;
  std::vector<KernelConstant> constants;
  Stmt body;
};

// Kernels that are lowered and compiled together, of different names.
struct KernelModule {
  std::vector<Kernel> kernels;

  KernelModule() = default;
  KernelModule(Kernel kernel) { kernels.push_back(std::move(kernel)); }       // NOLINT
  KernelModule(std::vector<Kernel> several) : kernels(std::move(several)) {}  // NOLINT
  KernelModule(std::initializer_list<Kernel> several) : kernels(several) {}

  // Throws InternalError unless there is exactly one.
  const Kernel& entry() const;
  // The first; null where nothing has to be prepared.
  const Kernel* preparation() const;
  // A kernel of this module and the device kernels that it launches, in this order.
  KernelModule with_devices(const Kernel& kernel) const;
};

// The name of the device kernel that a call launches; empty for other calls.
std::string_view launched_kernel(const Expr& call);

}  // namespace tw
