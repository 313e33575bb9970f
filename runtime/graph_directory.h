// SPDX-License-Identifier: Apache-2.0
// A network as a directory that this library alone loads:
//
//   model.so       its kernels, as Module::export_library writes them (and model.params beside it
//                  where they have large constants); missing where other code generators have all
//   regions.json   and more, where they have some: region_directory.h
//   graph.params   its parameters (parameter_file.h)
//   graph.json     its plan (graph_plan.h), with two graph attributes more: "export_version", and
//                  "files", which says of the others how long they are and what is in them, so
//                  that files of different exports are not taken for one
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/api.h"
#include "runtime/graph_plan.h"
#include "runtime/module.h"
#include "runtime/parameter_file.h"

namespace tw {

struct DeployedGraph {
  std::shared_ptr<const GraphPlan> plan;
  std::shared_ptr<const Module> module;
  std::vector<NamedArray> parameters;
  std::string json;  // of the plan
};

// Our kernels in the place of a region that another code generator has built.
struct FallbackGraph {
  std::string region;  // its name
  // A network whose inputs are called as the region's, BuiltRegion::parameters.
  std::string json;
  std::shared_ptr<const Module> module;
  std::vector<NamedArray> parameters;
};

// Writes the directory. It appears, or takes the place of one that an earlier export wrote, in one
// step: whoever loads it meanwhile, or after this process was killed, finds the old one or the new
// one (and beside it, when it was killed, `.NAME.….partial`, which may be deleted). Throws
// what read_graph_plan, planned_functions, write_parameters and export_library throw; BadArgument
// where `directory` is there and is something else.
TW_API void export_graph(const std::string& directory, std::string_view graph_json,
                         const Module& module, std::span<const NamedArray> parameters,
                         std::span<const FallbackGraph> fallbacks = {});

// Maps the parameters, whose values are read when they are used; `verify` reads them all and
// compares their checksum. Throws BadGraph, BadParameters or ModuleLoad, naming the file, where one
// is missing, cut short, newer than this library, or of another export; and what read_regions
// throws.
TW_API DeployedGraph load_graph(const std::string& directory, bool verify = false);

}  // namespace tw
