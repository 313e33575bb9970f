// SPDX-License-Identifier: Apache-2.0
// vectorize, parallel, unroll, pragma: marks on a leaf axis
#include <fmt/format.h>

#include <algorithm>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "runtime/nearest_word.h"
#include "schedule/dependence.h"
#include "schedule/primitives/apply.h"
#include "schedule/schedule_data.h"
#include "schedule/schedule_options.h"

namespace tw {
namespace {

// True when the extent of the axis is sure to depend on a symbol. The region of a stage that may
// still be computed inside another's loop is known at lowering only; a reduction always runs over
// its whole domain, and an output is always computed whole.
bool surely_symbolic(const StageData& stage, const IterVar& axis) {
  if (!stage.is_output && axis->kind != IterKind::Reduction) return false;
  bool symbolic = false;
  for (const IterVar& root : stage.op->root_axes()) symbolic |= !as_const_int(root->domain.extent);
  if (!symbolic) return false;
  DomainMap domains;
  Analyzer analyzer;
  for (const IterVar& root : stage.op->root_axes()) domains[root->var] = root->domain;
  for (const RelationRef& relation : stage.relations)
    relation->domain_down(domains, analyzer, ScheduleOptions());
  return !as_const_int(domains.at(axis->var).extent);
}

void require_constant(const PrimitiveCall& call, const IterVar& axis) {
  if (!surely_symbolic(call.stage(), axis)) return;
  call.fail(
      {.code = ErrorCode::SymbolicExtent,
       .what = fmt::format("'{}' of an axis whose extent is not a constant", call.primitive().name),
       .axis = axis.name(),
       .legal = "an axis of constant extent, such as the inner axis of a split by a factor"});
}

// A loop of one iteration has nothing to wait for, whatever it is over.
void refuse_dependent(const PrimitiveCall& call, const IterVar& axis) {
  const IterVar root = dependent_root(call.stage(), axis, "");
  if (!root.defined()) return;
  if (root->kind != IterKind::Reduction) {
    call.fail({.code = ErrorCode::ParallelReduction,
               .what = fmt::format("'{}' of the steps of a scan, each of which reads what those "
                                   "before it store",
                                   call.primitive().name),
               .axis = axis.name(),
               .legal = "an axis of a stage that is computed in each step"});
  }
  call.fail({.code = ErrorCode::ParallelReduction,
             .what = fmt::format("'{}' of a reduction axis, whose iterations write one element",
                                 call.primitive().name),
             .axis = axis.name(),
             .legal = "a data axis"});
}

// Those of TVM that every parallel loop fulfils, whose values they do not change: it launches its
// threads, deals its iterations out to them, and ends when all of them have.
constexpr std::string_view kFulfilled[] = {"parallel_launch_point", "parallel_stride_pattern",
                                           "parallel_barrier_when_finish"};

// Those of TVM that are none here, and what to write in their place.
struct OtherPragma {
  std::string_view name, why, instead;
};
constexpr std::string_view kLinked =
    "ctypes.CDLL(library, ctypes.RTLD_GLOBAL) of a library that has the function, and "
    "tir.call_extern of its name";
constexpr OtherPragma kOtherPragmas[] = {
    {"debug_skip_region", "what a stage computes is computed",
     "a placeholder in place of the stage, to time the rest without it"},
    {"import_llvm", "kernels take no code of others along", kLinked},
    {"import_c", "kernels take no code of others along", kLinked},
};

void require_known_pragma(const PrimitiveCall& call, const std::string& name) {
  std::vector<std::string_view> known;
  for (std::string_view key : attr::kPragmas) {
    key.remove_prefix(std::string_view(attr::kPragmaPrefix).size());
    if (key == name) return;
    known.push_back(key);
  }
  for (const OtherPragma& other : kOtherPragmas) {
    if (name != other.name) continue;
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("the pragma '{}' is none here: {}", name, other.why),
               .axis = call.axis(1).name(),
               .legal = std::string(other.instead)});
  }
  call.fail(
      {.code = ErrorCode::BadArgument,
       .what = fmt::format("unknown pragma '{}'{}", name, suggestion(nearest_word(name, known))),
       .axis = call.axis(1).name(),
       .legal = fmt::format("{}", fmt::join(known, ", "))});
}

StepResults mark(const PrimitiveCall& call, ForKind kind) {
  AxisAttributes& attributes = call.stage().axis_attributes[call.axis(1)->var];
  attributes.for_kind = kind;  // a loop is of one kind, the last that was asked for
  attributes.thread.clear();
  attributes.where = call.where();
  return {};
}

}  // namespace

StepResults apply_vectorize(const PrimitiveCall& call) {
  refuse_dependent(call, call.axis(1));
  require_constant(call, call.axis(1));
  return mark(call, ForKind::Vectorized);
}

StepResults apply_parallel(const PrimitiveCall& call) {
  refuse_dependent(call, call.axis(1));
  return mark(call, ForKind::Parallel);
}

StepResults apply_unroll(const PrimitiveCall& call) {
  require_constant(call, call.axis(1));
  return mark(call, ForKind::Unrolled);
}

StepResults apply_pragma(const PrimitiveCall& call) {
  const std::string& name = call.text(2);
  if (std::ranges::find(kFulfilled, name) != std::end(kFulfilled)) return {};
  require_known_pragma(call, name);
  if (call.given(3) && call.is_text(3)) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("pragma_value of '{}' is an expression or a text", name),
               .axis = call.axis(1).name(),
               .legal = "an integer"});
  }
  const Expr value = make_const(int_type(32), call.given(3) ? call.integer(3) : 1);
  if (attr::kPragmaPrefix + name == attr::kParallelDynamic && *as_const_int(value) < 1) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("parallel tasks of {} iterations", *as_const_int(value)),
               .axis = call.axis(1).name(),
               .legal = "1 or more"});
  }
  auto& pragmas = call.stage().axis_attributes[call.axis(1)->var].pragmas;
  for (auto& [key, old] : pragmas) {
    if (key == name) {
      old = value;
      return {};
    }
  }
  pragmas.emplace_back(name, value);
  return {};
}

}  // namespace tw
