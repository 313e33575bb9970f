// SPDX-License-Identifier: Apache-2.0
// Kernels of code generators as functions of modules, which executors call as any others.
#pragma once

#include <memory>
#include <vector>

#include "graph/byoc/codegen.h"
#include "runtime/module.h"
#include "runtime/ndarray.h"

namespace tw::graph {

// A module of one function, called as the region: its inputs, then its outputs, compact and
// row-major. `constants` live as long as it does.
std::shared_ptr<const Module> make_region_module(const vendor::Region& region,
                                                 std::unique_ptr<vendor::Kernel> kernel,
                                                 std::vector<NDArray> constants);

// Our kernels, where there are any, and those of regions as one module. It cannot be exported.
std::shared_ptr<Module> with_regions(std::shared_ptr<Module> ours,
                                     std::vector<std::shared_ptr<const Module>> regions);

}  // namespace tw::graph
