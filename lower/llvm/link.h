// SPDX-License-Identifier: Apache-2.0
// Machine code in files.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <string>
#include <vector>

#include "lower/kernel.h"
#include "lower/llvm/emit.h"

namespace tw::codegen {

// What an object for a file is made of besides kernels.
struct ObjectParts {
  ConstantPlace constants;
  std::string parameters;  // checksum of the library's parameters, hexadecimal; empty: none
  std::string assembly;    // for the module: it brings the arrays of ConstantPlace::Object along
};

// Writes what the name's ending says: a shared library (".so"), an object (".o") or a C header
// (".h") that declares the kernels. Constants that are not small stand in a file beside the library
// (runtime/parameter_file.h), and in the object itself. Throws BadArgument for another ending,
// LinkFailed saying what is missing. Each file appears complete or not at all.
void export_code(const std::string& path, const std::vector<Kernel>& kernels,
                 const std::function<llvm::SmallVector<char, 0>(const ObjectParts&)>& object);

// Adds `const char name[] = text;`, visible from outside.
void add_constant(llvm::Module& module, const std::string& name, const std::string& text);

}  // namespace tw::codegen
