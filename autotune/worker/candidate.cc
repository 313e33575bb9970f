// SPDX-License-Identifier: Apache-2.0
#include "autotune/worker/candidate.h"

#include <utility>
#include <variant>

#include "autotune/log/replay.h"
#include "lower/llvm/compile.h"

namespace tw::autotune {
namespace {

std::vector<CallArgument> pick(const std::vector<NDArray>& arrays,
                               const std::vector<size_t>& numbers) {
  std::vector<CallArgument> arguments;
  for (size_t k : numbers) arguments.emplace_back(arrays[k]);
  return arguments;
}

// Those of resnet18 take 44 MB, of mobilenet 17, of resnet50 100. All candidates of a process share
// the memory.
const NDArray& weights_of_a_network() {
  static const NDArray memory = cold_memory(64 << 20);
  return memory;
}

}  // namespace

CompiledCandidate::CompiledCandidate(const te::Program& program, const std::string& trace,
                                     const Target& target, CacheState caches,
                                     const std::function<const std::vector<NDArray>&()>& arrays)
    : caches_(caches) {
  KernelModule module = lower_candidate(program, replay(program, trace), target, caches);
  ir_hash_ = autotune::ir_hash(module.entry());
  if (caches == CacheState::ColdConstants) {
    arguments_ = packed_arguments(program, module);
  } else {
    std::vector<ConstantValue> values;
    for (size_t k = 0; k < program.arguments.size(); ++k) {
      if (te::is_constant(program.arguments[k])) {
        values.push_back({program.arguments[k], arrays()[k]});
      } else {
        arguments_.entry.push_back(k);
      }
    }
    bind_constants(module, values);
  }
  const CompileOptions options{.verify = false};
  function_ = compile({module.entry()}, target, options)->get_function(module.entry().name);
  if (const Kernel* preparation = module.preparation())
    preparation_ = compile_preparation(*preparation, target);
}

void CompiledCandidate::prepare(const te::Program& program, const std::vector<NDArray>& arrays) {
  if (calls_) return;
  std::vector<NDArray> all = arrays;
  if (preparation_.defined()) {
    // What it fills comes last among its arguments, in the order of their numbers.
    for (size_t k = 0; k < arguments_.preparation.size(); ++k) {
      if (arguments_.preparation[k] < all.size()) continue;
      std::vector<int64_t> shape;
      const ArgumentInfo& info = preparation_.info().arguments[k];
      for (const auto& extent : info.shape) shape.push_back(std::get<int64_t>(extent));
      all.push_back(NDArray::zeros(shape, info.dtype));  // see bind_constants
    }
    preparation_.call(pick(all, arguments_.preparation));
  }
  std::vector<NDArray> of_call;
  std::vector<bool> rotates;
  for (size_t k : arguments_.entry) {
    of_call.push_back(all[k]);
    rotates.push_back(k >= arrays.size() || te::is_constant(program.arguments[k]));
  }
  const bool cold = caches_ == CacheState::ColdConstants;
  calls_.emplace(std::move(of_call), rotates, cold ? weights_of_a_network() : NDArray());
}

void CompiledCandidate::call() { function_.call(calls_->next()); }

}  // namespace tw::autotune
