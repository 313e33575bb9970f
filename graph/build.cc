// SPDX-License-Identifier: Apache-2.0
#include "graph/build.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "autotune/log/log.h"
#include "graph/rewrite.h"
#include "ir/print.h"
#include "lower/pipeline.h"
#include "runtime/error.h"
#include "runtime/thread_pool.h"

namespace tw::graph {
namespace {

KernelObserver& observer() {
  static auto* const value = new KernelObserver;
  return *value;
}

// The loops of the schedule in use.
std::string loops_of(const te::Program& program, const Target& target,
                     const autotune::BuildOptions& options) {
  const Schedule schedule = autotune::choose_schedule(program, target, options).schedule;
  const std::vector<LowerArgument> arguments(program.arguments.begin(), program.arguments.end());
  return to_string(lower(schedule, arguments, target, {.simple_mode = true}).body);
}

// glibc keeps what was freed between blocks that live on: after compiling, and where packed arrays
// take turns with those that they were made of, that is as much as a network's weights.
void give_back_memory() { malloc_trim(0); }
constexpr int64_t kMostKept = 16 << 20;  // bytes that are freed before it is asked to

}  // namespace

GroupBuildOptions build_options_of(const Graph& graph) {
  const auto* target = graph.find<std::string>("target");
  GroupBuildOptions options{.target = target != nullptr ? Target::parse(*target) : Target::host()};
  if (const auto* threads = graph.find<int64_t>("threads"))
    options.threads = static_cast<int>(*threads);
  if (const auto* log = graph.find<std::string>("log")) options.log = *log;
  return options;
}

BuiltGroups different_kernels(const std::vector<Group>& groups) {
  BuiltGroups result;
  std::unordered_map<std::string, size_t> known;  // by the program's text; look-ups only
  std::set<std::string> names;
  for (const Group& group : groups) {
    const auto [place, fresh] =
        known.try_emplace(te::to_text(group.program), result.kernels.size());
    if (fresh) {
      result.kernels.push_back({.name = take_name(group.name, names), .program = group.program});
    }
    ++result.kernels[place->second].calls;
    result.kernel_of.push_back(place->second);
  }
  return result;
}

BuiltGroups build_groups(const std::vector<Group>& groups, const GroupBuildOptions& options) {
  std::optional<autotune::Log> log;
  if (!options.log.empty()) log.emplace(options.log, autotune::Log::Mode::Read);
  BuiltGroups result = different_kernels(groups);
  const auto options_of = [&](const BuiltKernel& kernel) {
    return autotune::BuildOptions{.name = kernel.name,
                                  .threads = options.threads,
                                  .log = log ? &*log : nullptr,
                                  .needs_record = false,
                                  .packed = true};
  };
  if (observer()) {
    for (const BuiltKernel& k : result.kernels) {
      observer()(k.name, [&] { return loops_of(k.program, options.target, options_of(k)); });
    }
  }
  if (result.kernels.empty()) return result;  // zero tasks would mean one a thread
  parallel_for(
      {.num_tasks = static_cast<int32_t>(result.kernels.size()), .chunking = Chunking::Dynamic},
      [&](int32_t i, int32_t) {
        BuiltKernel& kernel = result.kernels[static_cast<size_t>(i)];
        kernel.built = autotune::build(kernel.program, options.target, options_of(kernel));
      });
  return result;
}

Parameters pack_parameters(const CompiledGroups& compiled, Parameters parameters,
                           const std::vector<std::string>& variables) {
  // What is packed for nodes that no output depends on is in no graph.
  std::vector<const Packing*> packings;
  for (const Packing& packing : compiled.packings) {
    if (std::ranges::find_first_of(packing.outputs, variables) != packing.outputs.end())
      packings.push_back(&packing);
  }
  // An array goes with its last reader, so that it is not held beside what became of it.
  std::map<std::string, size_t> readers;
  for (const Packing* packing : packings) {
    for (const std::string& name : packing->inputs) ++readers[name];
  }
  for (const std::string& name : variables) ++readers[name];
  std::erase_if(parameters, [&](const auto& p) { return !readers.contains(p.first); });
  int64_t freed = kMostKept;
  for (const Packing* packing : packings) {
    if (freed >= kMostKept) {
      give_back_memory();
      freed = 0;
    }
    std::vector<NDArray> arrays;
    for (const std::string& name : packing->inputs) {
      const auto it = parameters.find(name);
      if (it == parameters.end()) {
        raise({.code = ErrorCode::BadArgument,
               .what = fmt::format("parameter '{}' has no value", name),
               .legal = "a value for each name of param_name_list"});
      }
      arrays.push_back(it->second);
      if (--readers[name] > 0) continue;
      freed += it->second.byte_size();
      parameters.erase(it);
    }
    const std::vector<ArgumentInfo>& infos = packing->function.info().arguments;
    for (size_t k = 0; k < packing->outputs.size(); ++k) {
      std::vector<int64_t> shape;
      const ArgumentInfo& info = infos.at(packing->inputs.size() + k);
      for (const auto& extent : info.shape) shape.push_back(std::get<int64_t>(extent));
      arrays.push_back(NDArray::zeros(shape, info.dtype));  // see bind_constants
      parameters[packing->outputs[k]] = arrays.back();
    }
    const std::vector<CallArgument> arguments(arrays.begin(), arrays.end());
    packing->function.call(arguments);
  }
  return parameters;
}

void observe_kernels(KernelObserver told) { observer() = std::move(told); }

}  // namespace tw::graph
