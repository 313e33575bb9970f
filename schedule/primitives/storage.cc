// SPDX-License-Identifier: Apache-2.0
// set_scope, double_buffer, storage_align, prefetch, prefetch_ahead: where and how a stage is
// stored, and how it is fetched
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "schedule/primitives/apply.h"
#include "schedule/primitives/checks.h"
#include "schedule/primitives/split.h"

namespace tw {

StepResults apply_set_scope(const PrimitiveCall& call) {
  const std::string& scope = call.text(1);
  require_scope(call, scope);
  require_own_memory(call);
  if (call.stage().storage.precomputed && !is_global(scope)) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = "what is precomputed outlives a call",
               .legal = "global, or compute_root first"});
  }
  if (call.stage().is_output && !is_global(scope)) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = "the memory of an output belongs to the caller",
               .legal = "cache_write, and the scope of the cache"});
  }
  call.stage().storage.scope = scope;
  return {};
}

StepResults apply_double_buffer(const PrimitiveCall& call) {
  StageData& stage = call.stage();
  if (stage.is_output) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = "the memory of an output belongs to the caller",
               .legal = "a stage computed inside a loop"});
  }
  stage.storage.double_buffer = true;
  return {};
}

StepResults apply_storage_align(const PrimitiveCall& call) {
  StageData& stage = call.stage();
  const IterVar& axis = call.axis(1);
  const int64_t factor = call.integer(2), offset = call.integer(3);
  require_own_memory(call);
  require_unaddressed(call);
  if (stage.is_output) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = "the memory of an output belongs to the caller",
               .axis = axis.name(),
               .legal = "a stage between, such as what cache_write gives"});
  }
  if (stage.storage.precomputed) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = "what is precomputed is stored without gaps",
               .axis = axis.name(),
               .legal = "transform_layout, or compute_root first"});
  }
  const std::vector<IterVar>& axes = stage.op->data_axes();
  size_t d = 0;
  while (d < axes.size() && !axes[d]->var.same_as(axis->var)) ++d;
  if (d == axes.size()) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = "the axis is no dimension of what is stored",
               .axis = axis.name(),
               .legal = fmt::format("{}, before it is split", names(axes))});
  }
  require_positive(call, axis, "factor", factor);
  if (offset < 0 || offset >= factor) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("offset is {}", offset),
               .axis = axis.name(),
               .legal = fmt::format("0 to {}", factor - 1)});
  }
  std::erase_if(stage.storage.row_pitches, [&](const RowPitch& p) { return p.dimension == d; });
  stage.storage.row_pitches.push_back({d, factor, offset});
  return {};
}

namespace {

// The output of `source` that argument `k` names; the stage must read it, or `writer` store it.
int output_accessed(const PrimitiveCall& call, const StageData& source, const StageData& writer,
                    const IterVar& axis, size_t k) {
  const StageData& stage = call.stage();
  const int64_t output = call.given(k) ? call.integer(k) : 0;
  const bool stored = &source == &writer && output >= 0 && output < writer.op->num_outputs();
  const bool read = std::any_of(stage.inputs.begin(), stage.inputs.end(), [&](const te::Tensor& t) {
    return find_stage(call.schedule(), t.op().get()) == &source && t.value_index() == output;
  });
  if (!read && !stored) {
    std::string legal;
    for (const te::Tensor& t : stage.inputs) legal += t.name() + ", ";
    call.fail({.code = ErrorCode::NotAConsumer,
               .what = fmt::format("it does not read output {} of '{}', nor does '{}' store it",
                                   output, source.name(), writer.name()),
               .axis = axis.name(),
               .legal = fmt::format("{}or what '{}' stores", legal, writer.name())});
  }
  return static_cast<int>(output);
}

void mark(const PrimitiveCall& call, const IterVar& axis, PrefetchMark mark) {
  call.stage().axis_attributes[axis->var].prefetches.push_back(std::move(mark));
}

}  // namespace

StepResults apply_prefetch(const PrimitiveCall& call) {
  const StageData& source = call.stage(1);
  const IterVar& axis = call.axis(2);
  const int output = output_accessed(call, source, call.stage(), axis, 4);
  if (call.integer(3) < 0 || call.integer(3) > INT32_MAX) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("offset is {}", call.integer(3)),
               .axis = axis.name(),
               .legal = "zero or a positive 32-bit integer"});
  }
  mark(call, axis, {source.op, output, call.integer(3), {}});
  return {};
}

// The axis stood before the tensor.
std::vector<Argument> upgrade_prefetch_1(std::vector<Argument> arguments) {
  std::swap(arguments[1], arguments[2]);
  return arguments;
}

// Whether the scope is around the axis can change with every later step; validate asks at the end.
StepResults apply_prefetch_ahead(const PrimitiveCall& call) {
  const StageData& source = call.stage(2);
  const IterVar& axis = call.axis(1);
  const int output = output_accessed(call, source, call.stage(3), axis, 6);
  const int64_t group = call.given(5) ? call.integer(5) : 1;
  if (group == 0) return {};
  require_positive(call, call.axis(4), "group", group);
  mark(call, axis, {source.op, output, group, call.axis(4)});
  return {};
}

}  // namespace tw
