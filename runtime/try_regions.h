// SPDX-License-Identifier: Apache-2.0
// Regions in a process of their own, so that what crashes there does not here. Memory that a kernel
// must not touch cannot be touched there.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/api.h"
#include "runtime/codegen.h"

namespace tw::vendor {

// Builds regions by the library of a code generator and runs them on zeros: of each what went
// wrong, or empty. Throws WorkerLost where the program tilewright-codegen, which lies beside this
// library, cannot be started.
TW_API std::vector<std::string> try_regions(const std::string& library,
                                            const std::vector<Region>& regions);

// The same of one that an exported network has; empty where there is no such program.
std::string try_saved_region(const std::filesystem::path& folder, std::string_view region);

}  // namespace tw::vendor
