// SPDX-License-Identifier: Apache-2.0
// transform_layout: a stage that is stored in tiles. Its operation gets the axes of the new layout,
// so that its loops walk memory in order, and whoever reads it reads by the new indices:
//
//   B(k, j) = …                       transform_layout(B, j, factor=16, order=[1, 0, 2])
//   … B(k, j) …                       B(j.o, k, j.i) = …[j := j.o*16 + j.i]
//                                     … B(j/16, k, j%16) …
//
// Where the factor does not divide, the last tile is padded with zeros (elements of a reduction
// with its identity), which nobody reads.
#include <fmt/format.h>

#include "ir/expr.h"
#include "schedule/primitives/apply.h"
#include "schedule/primitives/checks.h"
#include "schedule/primitives/split.h"
#include "schedule/rewrite_operation.h"

namespace tw {
namespace {

// order[k]: which of `rank` dimensions stands at place k.
void require_permutation(const PrimitiveCall& call, const std::vector<int64_t>& order,
                         size_t rank) {
  std::vector<bool> seen(rank, false);
  bool good = order.size() == rank;
  for (int64_t d : order) {
    good = good && d >= 0 && static_cast<size_t>(d) < rank && !seen[static_cast<size_t>(d)];
    if (good) seen[static_cast<size_t>(d)] = true;
  }
  if (good) return;
  call.fail(
      {.code = ErrorCode::BadArgument,
       .what = fmt::format("the order [{}] is none of {} dimensions", fmt::join(order, ", "), rank),
       .legal = fmt::format("each number from 0 to {} once", rank - 1)});
}

template <class T>
std::vector<T> in_order(const std::vector<T>& list, const std::vector<int64_t>& order) {
  if (order.empty()) return list;
  std::vector<T> result;
  for (int64_t d : order) result.push_back(list[static_cast<size_t>(d)]);
  return result;
}

}  // namespace

StepResults apply_transform_layout(const PrimitiveCall& call) {
  ScheduleData& schedule = call.schedule();
  StageData& stage = call.stage();
  const te::ComputeNode& compute = *compute_of(stage);
  if (stage.is_output) {
    call.fail({.code = ErrorCode::CannotCache,
               .what = "the layout of an output belongs to the caller",
               .legal = "a stage between, such as what cache_read or cache_write gives"});
  }
  require_untouched(call, stage);
  if (call.given(1) != call.given(2) || (!call.given(1) && !call.given(3))) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = call.given(1)   ? "an axis without a factor"
                       : call.given(2) ? "a factor without an axis"
                                       : "neither an axis to tile nor an order",
               .legal = "axis and factor, or order, or all three"});
  }
  const size_t none = compute.axis.size();
  size_t tiled = none;
  int64_t factor = 1;
  if (call.given(1)) {
    const IterVar& axis = call.axis(1);
    factor = call.integer(2);
    if (axis->kind == IterKind::Reduction) {
      call.fail({.code = ErrorCode::BadArgument,
                 .what = "a reduction axis is no dimension of what is stored",
                 .axis = axis.name(),
                 .legal = names(compute.axis)});
    }
    require_positive(call, axis, "factor", factor);
    for (tiled = 0; !compute.axis[tiled]->var.same_as(axis->var);) ++tiled;
  }
  const size_t rank = none + (tiled < none ? 1 : 0);
  const std::vector<int64_t> order = call.given(3) ? call.integers(3) : std::vector<int64_t>();
  if (call.given(3)) require_permutation(call, order, rank);

  // The new axes in the old order, and the values of the old ones.
  std::vector<IterVar> axes;
  VarMap values;
  Expr inside;
  for (size_t d = 0; d < compute.axis.size(); ++d) {
    const IterVar& axis = compute.axis[d];
    const DType type = axis->var.dtype();
    const auto add = [&](const std::string& suffix, const Expr& extent) {
      axes.emplace_back(Range{make_zero(type), extent}, Var(axis.name() + suffix, type),
                        axis->kind);
      return axes.back()->var;
    };
    if (d != tiled) {
      values[axis->var] = add("", axis->domain.extent);
      continue;
    }
    const Expr tile = make_const(type, factor), extent = axis->domain.extent;
    const Var outer = add(".o", floor_div(extent + (tile - 1), tile)), inner = add(".i", tile);
    const Expr value = outer * tile + inner;
    values[axis->var] = value;
    const auto size = as_const_int(extent);
    if (!size || *size % factor != 0) inside = likely(value < extent);
  }
  const te::Operation before = stage.op;
  const te::Operation after = change_axes(before, in_order(axes, order), values, inside);
  const auto new_indices = [&](const std::vector<Expr>& old) {
    std::vector<Expr> indices;
    for (size_t d = 0; d < old.size(); ++d) {
      if (d != tiled) {
        indices.push_back(old[d]);
        continue;
      }
      const Expr tile = make_const(old[d].dtype(), factor);
      indices.push_back(floor_div(old[d], tile));
      indices.push_back(floor_mod(old[d], tile));
    }
    return in_order(indices, order);
  };

  const std::vector<StageData*> readers = consumers_of(schedule, stage);
  reset_axes(schedule, stage, after);
  stage.aliases.clear();  // they stand for axes that are gone
  for (StageData* reader : readers) {
    set_operation(schedule, *reader, rewrite_reads(reader->op, [&](const ProducerLoad& read) {
                    if (read.producer.get() != before.get()) return Expr();
                    ProducerLoad next = read;
                    next.producer = after;
                    next.indices = new_indices(read.indices);
                    return make(std::move(next));
                  }));
  }
  refresh_consumers(schedule, stage);
  return {};
}

}  // namespace tw
