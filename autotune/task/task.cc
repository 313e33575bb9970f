// SPDX-License-Identifier: Apache-2.0
#include "autotune/task/task.h"

#include <fmt/format.h>

#include <utility>

#include "runtime/error.h"
#include "runtime/thread_pool.h"

namespace tw::autotune {

std::string_view to_string(CacheState state) {
  return state == CacheState::Hot ? "hot" : "cold-constants";
}

CacheState parse_cache_state(std::string_view text) {
  for (CacheState state : {CacheState::Hot, CacheState::ColdConstants}) {
    if (to_string(state) == text) return state;
  }
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("caches are '{}'", text),
         .legal = "hot, cold-constants"});
}

namespace {

// What its results may be off by is known of scalars, and vectors are in lanes as they are.
void require_scalars(const te::Program& program) {
  for (const te::Operation& op : te::operations(program.outputs)) {
    for (int k = 0; k < op->num_outputs(); ++k) {
      const DType type = op->output_dtype(k);
      if (!type.is_vector()) continue;
      raise({.code = ErrorCode::TypeMismatch,
             .what = fmt::format("tuning of elements of type {}", to_string(type)),
             .stage = op.name(),
             .legal = "scalar elements, whose loops the tuner vectorizes; or a schedule by hand"});
    }
  }
}

}  // namespace

Task make_task(const te::Program& program, const Target& target, int threads, std::string name,
               CacheState caches) {
  return make_task(te::to_text(program), target, threads, std::move(name), caches);
}

Task make_task(std::string_view te_text, const Target& target, int threads, std::string name,
               CacheState caches) {
  if (threads < 1 || threads > ThreadPool::kMaxThreads) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("a task for {} threads", threads),
           .legal = fmt::format("1 to {}", int{ThreadPool::kMaxThreads})});
  }
  Task task;
  task.program = te::parse_program(te_text);
  require_scalars(task.program);
  task.te_text = te::to_text(task.program);
  task.workload = te::workload_id(task.program);
  task.name = name.empty() ? task.workload : std::move(name);
  task.target = target;
  task.target_text = target.text();
  task.threads = threads;
  if (!te::constants_of(task.program).empty()) task.caches = caches;
  task.operations = te::count_operations(task.program);
  return task;
}

std::vector<int64_t> constant_shape(const te::Tensor& tensor) {
  std::vector<int64_t> shape;
  for (const Expr& extent : tensor.shape()) {
    const auto value = as_const_int(extent);
    if (!value) {
      raise({.code = ErrorCode::SymbolicExtent,
             .what = fmt::format("an extent of '{}' is not a constant", tensor.name()),
             .stage = tensor.name(),
             .legal = "constant extents, for a program that is to be run"});
    }
    shape.push_back(*value);
  }
  return shape;
}

}  // namespace tw::autotune
