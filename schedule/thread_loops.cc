// SPDX-License-Identifier: Apache-2.0
#include "schedule/thread_loops.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "ir/substitute.h"
#include "schedule/symbols.h"

namespace tw {
namespace {

// Beyond that many threads only the first and the last are asked for a store.
constexpr int64_t kMostThreads = 1024;

// The extent that env_threads of the stage, or of one that it is computed in, gives the thread
// axis; 0: none does.
int64_t started_extent(const StageData& stage, const std::string& tag) {
  for (const StageData* s = &stage; s != nullptr;
       s = s->attach_type == AttachType::Scope ? s->attach_stage : nullptr) {
    for (const std::string& text : s->env_threads) {
      const auto started = read_thread(text);
      if (started && started->tag == tag) return started->extent;
    }
  }
  return 0;
}

void require_extent(const StageData& stage, const IterVar& leaf, const AxisAttributes& marks,
                    const Expr& extent, int64_t threads, Analyzer& analyzer) {
  if (threads == 0 || analyzer.can_prove(extent <= make_const(extent.dtype(), threads))) return;
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("an axis of more iterations than the {} threads of {}", threads,
                             marks.thread),
         .stage = stage.name(),
         .axis = leaf.name(),
         .where = marks.where,
         .legal = fmt::format("the inner part of a split by {}", threads)});
}

// Whether the condition holds for some values of the variables from `k` on.
bool holds_for_some(const Expr& condition, const std::vector<std::pair<Var, int64_t>>& vars,
                    size_t k, Analyzer& analyzer) {
  if (k == vars.size()) return analyzer.can_prove(condition);
  const auto& [var, extent] = vars[k];
  const bool all = extent <= kMostThreads && vars.size() == 1;
  for (int64_t v = 0; v < extent; v += all ? 1 : std::max<int64_t>(1, extent - 1)) {
    const VarMap value{{var, make_const(var.dtype(), v)}};
    if (holds_for_some(substitute(condition, value), vars, k + 1, analyzer)) return true;
  }
  return false;
}

// Loops over data that are bound tell elements apart, so that the predicate must hold for each of
// their iterations; all other threads compute the same element.
void require_stored(const StageData& stage, const DomainMap& domains, Analyzer& analyzer) {
  const StorePredicate& predicate = stage.store_predicate;
  if (!predicate.condition.defined()) return;
  VarMap own;
  std::vector<std::pair<Var, int64_t>> others;
  for (const ThreadVar& thread : predicate.threads) {
    int64_t threads = 1;
    for (const StageData* s = &stage; s != nullptr;
         s = s->attach_type == AttachType::Scope ? s->attach_stage : nullptr) {
      for (const IterVar& leaf : s->leaf_axes) {
        const AxisAttributes* marks = s->attributes_of(leaf);
        if (marks == nullptr || marks->thread != thread.tag) continue;
        if (s == &stage && leaf->kind != IterKind::Reduction) {
          own[thread.var] = cast(thread.var.dtype(), leaf->var);
        } else {
          threads = std::max(threads, as_const_int(domains.at(leaf->var).extent).value_or(1));
        }
      }
    }
    if (!own.contains(thread.var)) others.emplace_back(thread.var, threads);
  }
  if (holds_for_some(substitute(predicate.condition, own), others, 0, analyzer)) return;
  raise({.code = ErrorCode::BadArgument,
         .what = "under the store predicate, elements would not be stored",
         .stage = stage.name(),
         .where = stage.where,
         .legal = "a condition that one of the threads which compute an element fulfils, such as "
                  "tx.equal(0) where a reduction is bound to tx"});
}

}  // namespace

void check_threads(const ScheduleData& schedule, const DomainMap& domains, Analyzer& analyzer) {
  for (const auto& stage : schedule.stages) {
    if (is_placeholder(*stage) || stage->attach_type == AttachType::InlinedAlready) continue;
    for (const IterVar& leaf : stage->leaf_axes) {
      const AxisAttributes* marks = stage->attributes_of(leaf);
      if (marks == nullptr || marks->thread.empty()) continue;
      const Expr& extent = domains.at(leaf->var).extent;
      require_extent(*stage, leaf, *marks, extent, marks->thread_extent, analyzer);
      require_extent(*stage, leaf, *marks, extent, started_extent(*stage, marks->thread), analyzer);
    }
    require_stored(*stage, domains, analyzer);
  }
}

}  // namespace tw
