// SPDX-License-Identifier: Apache-2.0
// Groups to kernels: each different program is scheduled, from a tuning log or by the prior, and
// compiled once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "autotune/build.h"
#include "graph/group.h"
#include "runtime/ndarray.h"

namespace tw::graph {

// A kernel of a network, and how often it is called.
struct BuiltKernel {
  std::string name;  // of the function
  te::Program program;
  autotune::BuiltProgram built;
  int calls = 0;
};

// Parameters that kernels take packed: computed once, from others.
struct Packing {
  Function function;
  std::vector<std::string> inputs, outputs;  // names of parameters, in the order of its arguments
};

// What the graph attribute `module` holds after GraphFuseCompile.
struct CompiledGroups {
  std::shared_ptr<Module> module;  // a function for each kernel
  std::vector<BuiltKernel> kernels;
  std::vector<Packing> packings;
};

struct GroupBuildOptions {
  Target target;
  int threads = 0;       // that a kernel may use; 0: those of the global pool
  std::string log = {};  // path of a tuning log; empty: none
};
// What the graph attributes 'target', 'threads' and 'log' say; this machine, 0 and none without
// them.
GroupBuildOptions build_options_of(const Graph& graph);

// One for each different program, named by the first group that has it, and `kernel_of` says of
// each group which.
struct BuiltGroups {
  std::vector<BuiltKernel> kernels;
  std::vector<size_t> kernel_of;
};
// Before they are built.
BuiltGroups different_kernels(const std::vector<Group>& groups);
// Compiles in parallel.
BuiltGroups build_groups(const std::vector<Group>& groups, const GroupBuildOptions& options);

// The parameters of a compiled graph: packed ones computed, and those that it no longer reads left
// out. `variables`: names of the graph's variables. BadArgument where a parameter is missing.
using Parameters = std::map<std::string, NDArray>;
Parameters pack_parameters(const CompiledGroups& compiled, Parameters parameters,
                           const std::vector<std::string>& variables);

// Is told of each kernel before it is compiled: its name, and what gives its loops as text. For
// debug logs; null: nobody is told.
using KernelObserver = std::function<void(const std::string&, const std::function<std::string()>&)>;
void observe_kernels(KernelObserver observer);

}  // namespace tw::graph
