// SPDX-License-Identifier: Apache-2.0
// Kernels of code generators as functions of modules, which executors call as any others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/api.h"
#include "runtime/codegen.h"
#include "runtime/module.h"
#include "runtime/ndarray.h"

namespace tw {

// A region that a code generator has built, and what is needed to build it elsewhere.
struct BuiltRegion {
  vendor::Region region;
  std::shared_ptr<vendor::Kernel> kernel;
  // Builds it again where it is called and the pool has another number of threads than
  // region.threads; null: the kernel is for any number.
  const tw_codegen* codegen = nullptr;
  std::vector<NDArray> constants = {};  // keep the elements of constants
  // How the graph calls the region's first values, inputs and constants.
  std::vector<std::string> parameters = {};
  std::string compiler = {}, library = {};  // the code generator and its library
  std::string body = {};                    // what it computes: a graph, as JSON
};

// A module of one function, called as the region: its inputs, then its outputs, compact and
// row-major. What the kernel throws in a run becomes MeasureError (run-crashed), as does that it
// wrote behind its scratch memory, or cannot be built for as many threads as there are by then.
TW_API std::shared_ptr<const Module> make_region_module(BuiltRegion region);

// Our kernels, where there are any, and those of regions, of which there may be none, as one
// module. Only as a part of a network is it exported (graph_directory.h).
TW_API std::shared_ptr<Module> with_regions(std::shared_ptr<Module> ours,
                                            std::vector<std::shared_ptr<const Module>> regions);
// The two parts of such a module: of others, the module itself and nothing. Regions stay its own.
TW_API const Module* without_regions(const Module& module);
TW_API std::vector<const BuiltRegion*> regions_of(const Module& module);

}  // namespace tw
