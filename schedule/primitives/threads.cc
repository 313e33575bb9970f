// SPDX-License-Identifier: Apache-2.0
// bind, env_threads, set_store_predicate: loops that are threads of an accelerator.
//
// A bound loop means what the loop means: iterations of a data axis are independent, be they
// threads or not. What threads of a block share (`shared` scope) is inferred for all of them, so
// that lowering may compute it once.
#include <fmt/format.h>

#include "ir/expr.h"
#include "ir/substitute.h"
#include "schedule/dependence.h"
#include "schedule/primitives/apply.h"
#include "schedule/symbols.h"

namespace tw {

StepResults apply_bind(const PrimitiveCall& call) {
  StageData& stage = call.stage();
  const IterVar& axis = call.axis(1);
  const ThreadTag thread = parse_thread(call, call.text(2));
  const IterVar root = dependent_root(stage, axis, thread.tag);
  if (root.defined() && root->kind != IterKind::Reduction) {
    call.fail({.code = ErrorCode::ParallelReduction,
               .what = fmt::format("the steps of a scan as {}, each of which reads what those "
                                   "before it store",
                                   thread.tag),
               .axis = axis.name(),
               .legal = "an axis of a stage that is computed in each step"});
  }
  if (root.defined()) {
    call.fail({.code = ErrorCode::ParallelReduction,
               .what = fmt::format(
                   "a reduction axis as {}, whose iterations cannot reduce together", thread.tag),
               .axis = axis.name(),
               .legal = "threadIdx, or a data axis"});
  }
  for (const auto& [var, marks] : stage.axis_attributes) {
    if (marks.thread != thread.tag || thread.is_virtual() || var.same_as(axis->var)) continue;
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("'{}' of this stage is {} already", var.name(), thread.tag),
               .axis = axis.name(),
               .legal = "one axis of a stage for each thread axis; fuse them first"});
  }
  AxisAttributes& attributes = stage.axis_attributes[axis->var];
  attributes.for_kind = ForKind::Serial;
  attributes.thread = thread.tag;
  attributes.thread_extent = thread.extent;
  attributes.where = call.where();
  return {};
}

// Where threads start is for a device to know; the loops that are bound to them say what runs. That
// each is launched with one extent is checked with the loops.
StepResults apply_env_threads(const PrimitiveCall& call) {
  for (const std::string& text : call.texts(1)) {
    const ThreadTag thread = parse_thread(call, text);
    if (thread.is_virtual() || thread.extent == 0) {
      call.fail({.code = ErrorCode::BadArgument,
                 .what = fmt::format(
                     "{} {}", text,
                     thread.is_virtual() ? "is no thread that a device starts" : "has no extent"),
                 .legal = "blockIdx and threadIdx with an extent, as in "
                          "te.thread_axis((0, 64), \"threadIdx.x\")"});
    }
  }
  call.stage().env_threads = call.texts(1);
  return {};
}

StepResults apply_set_store_predicate(const PrimitiveCall& call) {
  StorePredicate predicate;
  predicate.condition = parse_symbolic(call, call.text(1), &predicate.threads);
  if (!predicate.condition.dtype().is_bool()) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("'{}' is no condition", call.text(1)),
               .legal = "a condition over thread axes, such as tx.equal(0)"});
  }
  call.stage().store_predicate = std::move(predicate);
  return {};
}

}  // namespace tw
