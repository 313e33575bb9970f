// SPDX-License-Identifier: Apache-2.0
// Kernels for tests of code generation, written as IR text.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ir/expr.h"
#include "ir/interpret.h"
#include "ir/parse.h"
#include "ir/substitute.h"
#include "lower/llvm/compile.h"
#include "runtime/ndarray.h"

namespace tw::test {

struct TensorArgument {
  std::string name;
  DType dtype = float_type(32);
  std::vector<int64_t> shape;
  bool is_output = false;
};

// The kernel whose body is `text` (declarations of the tensors are added) with these arguments.
inline Kernel make_kernel(const std::string& text, const std::vector<TensorArgument>& tensors,
                          const std::string& name = "kernel") {
  std::string declarations;
  for (const TensorArgument& t : tensors) {
    declarations += fmt::format("declare {}: {}*\n", t.name, to_string(t.dtype));
  }
  Kernel kernel{.name = name, .body = parse_stmt(declarations + text)};
  const std::vector<Var> free = free_vars(kernel.body);
  for (const TensorArgument& t : tensors) {
    KernelArgument argument{.name = t.name, .dtype = t.dtype, .is_output = t.is_output};
    for (int64_t extent : t.shape) argument.shape.push_back(Expr(static_cast<int>(extent)));
    const auto it = std::ranges::find(free, t.name, [](const Var& v) { return v.name(); });
    argument.var = it != free.end() ? *it : buffer_var(t.name, t.dtype);
    kernel.arguments.push_back(argument);
  }
  return kernel;
}

inline Function compile_function(const Kernel& kernel, const Target& target = Target::host(),
                                 const CompileOptions& options = {}) {
  return compile({kernel}, target, options)->get_function(kernel.name);
}

inline void call(const Function& f, const std::vector<NDArray>& arrays) {
  std::vector<CallArgument> arguments(arrays.begin(), arrays.end());
  f.call(arguments);
}

// Runs the kernel with the interpreter on copies of `arrays` and gives them back.
inline std::vector<NDArray> interpret_on(const Kernel& kernel, const std::vector<NDArray>& arrays) {
  std::vector<InterpreterBuffer> buffers;
  for (const NDArray& a : arrays) {
    buffers.push_back(InterpreterBuffer::from_bytes(a.dtype(), a.data(), a.size()));
  }
  InterpreterScope scope;
  for (size_t i = 0; i < arrays.size(); ++i) scope.buffers[kernel.arguments[i].var] = &buffers[i];
  interpret(kernel.body, scope);
  std::vector<NDArray> results;
  for (size_t i = 0; i < arrays.size(); ++i) {
    results.push_back(NDArray::zeros(arrays[i].shape(), arrays[i].dtype()));
    buffers[i].copy_to(results[i].data());
  }
  return results;
}

}  // namespace tw::test
