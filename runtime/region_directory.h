// SPDX-License-Identifier: Apache-2.0
// Regions of other code generators in the directory of an exported network (graph_directory.h):
//
//   regions.json     of each region its code generator, what it computes and what it is called
//   regions.params   the elements of their constants, and what code generators saved
//                    (parameter_file.h)
//   NAME.fallback/   of some, the same computed by our kernels: an exported network
//
// Where it is loaded, the code generator's library (vendor::find_codegen says where it is looked
// for) builds each region again, with what it saved. Where that fails, our kernels take its place,
// with one line in the log, if the directory has them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/api.h"
#include "runtime/region_module.h"

namespace tw {

inline constexpr const char *kRegions = "regions.json", *kRegionConstants = "regions.params",
                            *kFallback = ".fallback";

// Throws MeasureError (run-crashed) where a code generator fails to save, and what write_parameters
// throws.
void write_regions(const std::filesystem::path& folder,
                   const std::vector<const BuiltRegion*>& regions);

// Throws BadGraph or BadParameters, naming the file, for files that are missing, cut short, damaged
// or newer, and ModuleLoad for a region that nothing here can compute. `verify` reads all
// constants, and first builds and runs each region in a process of its own, where
// tilewright-codegen is beside this library.
std::vector<std::shared_ptr<const Module>> read_regions(const std::filesystem::path& folder,
                                                        bool verify);

// One of them, by its code generator.
TW_API BuiltRegion build_saved_region(const std::filesystem::path& folder, std::string_view name);

}  // namespace tw
