// SPDX-License-Identifier: Apache-2.0
// Machine code in files.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <string>
#include <vector>

#include "lower/kernel.h"

namespace tw::codegen {

// Writes what the name's ending says: a shared library (".so"), an object (".o") or a C header
// (".h") that declares the kernels. Throws BadArgument for another ending, LinkFailed saying what
// is missing. The file appears complete or not at all.
void export_code(const std::string& path, const std::vector<Kernel>& kernels,
                 const std::function<llvm::SmallVector<char, 0>()>& object);

// Adds `const char name[] = text;`, visible from outside.
void add_constant(llvm::Module& module, const std::string& name, const std::string& text);

}  // namespace tw::codegen
