// SPDX-License-Identifier: Apache-2.0
// Libraries of other code generators: where they are, how they are loaded, and the kernels that
// they build.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/api.h"
#include "runtime/codegen.h"

namespace tw::vendor {

// Where a library is: in `beside`, unless that is empty; in a folder of TILEWRIGHT_CODEGEN_PATH
// (separated by colons); in the folder of this library; else `library` as it is, which, without a
// folder, the system looks for.
TW_API std::string find_codegen(const std::string& library, const std::string& beside = "");

// Loads a library, which stays for as long as the process does: kernels may live that long. If it
// brings libgomp, whose threads spin for ten milliseconds by default, they spin for some 50 µs
// before they sleep, as our pool's do, unless the environment says otherwise. (One that _core
// brings is told so in __init__.py.) Throws ModuleLoad, in one line, where the library or what it
// needs is missing, or where it is made for another version of codegen_abi.h.
TW_API const tw_codegen& load_codegen(const std::string& name, const std::string& path);

// The kernel of a region, whose constants the caller keeps for as long as it lives; `saved` is what
// Kernel::save gave. What the kernel throws are std::exceptions. Throws CodeGeneration where the
// code generator cannot build the region.
TW_API std::unique_ptr<Kernel> build_kernel(const tw_codegen& codegen, const Region& region,
                                            std::string_view saved = {});

}  // namespace tw::vendor
