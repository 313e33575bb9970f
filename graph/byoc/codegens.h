// SPDX-License-Identifier: Apache-2.0
// The code generators that there are: libraries behind runtime/codegen.h, and what they compute.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/byoc/pattern_table.h"
#include "runtime/codegen.h"

namespace tw::graph {

struct Codegen {
  std::string name;     // of the compiler, and of its pattern table
  std::string library;  // a path; without a folder: beside our own libraries
};

// Those of codegens.def, and those that were registered.
std::vector<Codegen> codegens();
// In the place of an earlier one of that name. Its patterns are register_pattern_table's.
void register_codegen(Codegen codegen);
// BadArgument with the nearest name.
Codegen find_codegen(std::string_view name);
// The file of its library.
std::string library_path(const Codegen& codegen);

// Raises ModuleLoad, in one line, where the library or what it needs is missing.
const tw_codegen& load_library(const Codegen& codegen);
// Raises ModuleLoad too, and CodeGeneration where it cannot build the region.
std::unique_ptr<vendor::Kernel> build_kernel(const Codegen& codegen, const vendor::Region& region);

// Builds regions and runs them on zeros in a process of its own: of each what went wrong, or empty.
std::vector<std::string> try_regions(const Codegen& codegen,
                                     const std::vector<vendor::Region>& regions);

// Rows of codegens.def.
#define CODEGEN(name, library, patterns, doc) PatternTable patterns();
#include "graph/byoc/codegens.def"
#undef CODEGEN

}  // namespace tw::graph
