// SPDX-License-Identifier: Apache-2.0
// What a compiled library says about its functions, as records and as JSON text. A library
// exports the text as `const char tw_module_metadata[]`:
//
//   {"tilewright": "0.1.0", "version": 2, "target": "llvm -mcpu=…",
//    "instruction_sets": ["avx", "avx2", …], "parameters": "0123456789abcdef",
//    "functions": [{"name": "add", "symbol": "add.kernel", "unchecked": "add.unchecked",
//      "workspace": {"call": 0, "thread": 4096}, "arguments": [
//       {"name": "A", "kind": "tensor", "dtype": "float32", "shape": [128, "n"]},
//       {"name": "n", "kind": "int", "dtype": "int32"},
//       {"name": "B", "kind": "tensor", "dtype": "float32", "shape": [128, "n"], "output": true,
//        "may_share": [0]}]}]}
//
// Version 1 had no parameters and none of what follows a function's or a tensor's first fields;
// that is read too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/api.h"
#include "runtime/dtype.h"

namespace tw {

// What args[i] of a kernel points to; the numbers of TW_ARG_.
enum class ArgumentKind : int32_t { Tensor = 0, Int = 1, Float = 2 };
TW_API std::string_view to_string(ArgumentKind kind);  // "tensor", "int", "float"

// A number, or the text of what it is computed from ("n", "n*2").
using Extent = std::variant<int64_t, std::string>;

struct ArgumentInfo {
  std::string name;
  ArgumentKind kind = ArgumentKind::Tensor;
  DType dtype;
  std::vector<Extent> shape;  // of tensors
  bool output = false;        // the kernel writes it
  // Of outputs: the inputs, by their position, that may begin at the same address. Each element of
  // them is read only where, and before, the output's element of that position is written. Several
  // inputs may do so at once; two outputs may not.
  std::vector<int32_t> may_share;
  bool operator==(const ArgumentInfo&) const = default;
};

// Scratch memory of one call in bytes, and of each thread in the call's parallel regions. Nothing:
// it depends on the arguments.
struct WorkspaceSize {
  std::optional<int64_t> call = 0, thread = 0;
  bool operator==(const WorkspaceSize&) const = default;
};

struct FunctionInfo {
  std::string name;
  std::string symbol;     // of the entry; empty: the name
  std::string unchecked;  // the symbol of the entry without checks; empty: there is none
  WorkspaceSize workspace;
  std::vector<ArgumentInfo> arguments;
  bool operator==(const FunctionInfo&) const = default;
};

struct ModuleInfo {
  std::string target;                         // as given to build; may be empty
  std::vector<std::string> instruction_sets;  // that the target has; by LLVM's names
  std::string parameters;  // checksum of the file beside the library, hexadecimal; empty: none
  std::vector<FunctionInfo> functions;
  bool operator==(const ModuleInfo&) const = default;
};

TW_API std::string metadata_to_json(const ModuleInfo& info);
// Throws ModuleLoad for text that is not such JSON or has a newer version. Unknown fields are
// ignored.
TW_API ModuleInfo metadata_from_json(std::string_view json);

// "gemm(A: float32[128, n], n: int32)"
TW_API std::string to_string(const FunctionInfo& info);

}  // namespace tw
