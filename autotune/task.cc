// SPDX-License-Identifier: Apache-2.0
#include "autotune/task.h"

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

}  // namespace tw::autotune
