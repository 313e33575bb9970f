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
//
// collapse_layout: neighbouring dimensions become one, which is as long as they are together. Where
// they are walked by an axis of their own (fuse) tiles need not end where a row does:
//
//   B(c, y, x) = …                    collapse_layout(B, [y, x])
//   … B(c, y, x) …                    B(c, y.x) = …[y := y.x/56, x := y.x%56]
//                                     … B(c, y*56 + x) …
#include <fmt/format.h>

#include <functional>

#include "ir/arithmetic/analyzer.h"
#include "ir/constant.h"
#include "ir/expr.h"
#include "schedule/index_range.h"
#include "schedule/primitives/apply.h"
#include "schedule/primitives/checks.h"
#include "schedule/primitives/split.h"

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

// The indices that a read has afterwards, from those it had. `reader` is whose read it is.
using NewIndices =
    std::function<std::vector<Expr>(const std::vector<Expr>& old, const te::Operation& reader)>;

// The stage computes `after` now, and who reads it does so by the new indices.
void replace_layout(ScheduleData& schedule, StageData& stage, const te::Operation& after,
                    const NewIndices& new_indices) {
  const te::Operation before = stage.op;
  const std::vector<StageData*> readers = consumers_of(schedule, stage);
  reset_axes(schedule, stage, after);
  stage.aliases.clear();  // they stand for axes that are gone
  for (StageData* reader : readers) {
    set_operation(schedule, *reader, reader->op->with_reads([&](const ProducerLoad& read) {
      if (read.producer.get() != before.get()) return Expr();
      ProducerLoad next = read;
      next.producer = after;
      next.indices = new_indices(read.indices, reader->op);
      return make(std::move(next));
    }));
  }
  refresh_consumers(schedule, stage);
}

void require_own_layout(const PrimitiveCall& call) {
  if (call.stage().is_output) {
    call.fail({.code = ErrorCode::CannotCache,
               .what = "the layout of an output belongs to the caller",
               .legal = "a stage between, such as what cache_read or cache_write gives"});
  }
  require_untouched(call, call.stage());
}

// The number of the dimension that the axis walks.
size_t dimension_of(const PrimitiveCall& call, const IterVar& axis) {
  const te::ComputeNode& compute = require_compute(call);
  if (axis->kind == IterKind::Reduction) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = "a reduction axis is no dimension of what is stored",
               .axis = axis.name(),
               .legal = names(compute.axis)});
  }
  size_t d = 0;
  while (!compute.axis[d]->var.same_as(axis->var)) ++d;
  return d;
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
  const te::ComputeNode& compute = require_compute(call);
  require_own_memory(call);
  require_unaddressed(call);
  require_own_layout(call);
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
    tiled = dimension_of(call, axis);
    require_positive(call, axis, "factor", factor);
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
  const auto new_indices = [&](const std::vector<Expr>& old, const te::Operation&) {
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
  replace_layout(schedule, stage, compute.change_axes(in_order(axes, order), values, inside),
                 new_indices);
  return {};
}

StepResults apply_collapse_layout(const PrimitiveCall& call) {
  ScheduleData& schedule = call.schedule();
  StageData& stage = call.stage();
  const te::ComputeNode& compute = require_compute(call);
  require_own_memory(call);
  require_unaddressed(call);
  require_own_layout(call);
  // Of a dimension that was two no step needs a row alone, and other steps' rows are not there.
  if (stage.scan != nullptr) {
    call.fail(
        {.code = ErrorCode::BadArgument,
         .what = fmt::format("it is computed in each step of '{}', for rows of that step only",
                             stage.scan->name()),
         .legal = "transform_layout, which keeps dimensions apart"});
  }
  const std::vector<IterVar>& collapsed = call.axes(1);
  if (collapsed.size() < 2) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("{} axes to collapse", collapsed.size()),
               .legal = "two or more dimensions that follow each other"});
  }
  const size_t first = dimension_of(call, collapsed[0]), end = first + collapsed.size();
  for (size_t k = 1; k < collapsed.size(); ++k) {
    if (dimension_of(call, collapsed[k]) == first + k) continue;
    call.fail({.code = ErrorCode::FuseNotAdjacent,
               .what = fmt::format("the dimension does not follow '{}'", collapsed[k - 1].name()),
               .axis = collapsed[k].name(),
               .legal = fmt::format("neighbours in the order {}", names(compute.axis))});
  }
  DType type = collapsed[0]->var.dtype();
  std::string name = collapsed[0].name();
  Expr extent = collapsed[0]->domain.extent;
  for (size_t d = first + 1; d < end; ++d) {
    const IterVar& axis = compute.axis[d];
    if (axis->var.dtype().bits > type.bits) type = axis->var.dtype();
    name += "." + axis.name();
    const auto a = as_const_int(extent), b = as_const_int(axis->domain.extent);
    if (a && b && *b > 0 && *a > as_const_int(max_value(type)).value() / *b) {
      call.fail(
          {.code = ErrorCode::BadShape,
           .what = fmt::format("{} * {} elements are more than {} counts", *a, *b, to_string(type)),
           .axis = axis.name(),
           .legal = "fewer dimensions, or axes of type int64"});
    }
    extent = cast(type, extent) * cast(type, axis->domain.extent);
  }

  std::vector<IterVar> axes;
  VarMap values;
  for (size_t d = 0; d < compute.axis.size(); ++d) {
    const IterVar& axis = compute.axis[d];
    if (d > first && d < end) continue;
    const bool here = d == first;
    const DType own = here ? type : axis->var.dtype();
    axes.emplace_back(Range{make_zero(own), here ? extent : axis->domain.extent},
                      Var(here ? name : axis.name(), own), axis->kind);
    if (!here) values[axis->var] = axes.back()->var;
  }
  std::vector<Expr> sizes;
  for (size_t d = first; d < end; ++d) sizes.push_back(cast(type, compute.axis[d]->domain.extent));
  // From the last dimension on, each takes its remainder of what those behind it leave.
  Expr rest = axes[first]->var;
  for (size_t d = end; d-- > first;) {
    const IterVar& axis = compute.axis[d];
    const Expr size = divisor_of(sizes[d - first]);
    values[axis->var] = cast(axis->var.dtype(), d == first ? rest : floor_mod(rest, size));
    rest = simplify(floor_div(rest, size));
  }
  const auto new_indices = [&](const std::vector<Expr>& old, const te::Operation& reader) {
    Analyzer analyzer;
    for (const IterVar& axis : reader->root_axes()) analyzer.bind(axis->var, axis->domain);
    std::vector<Expr> indices;
    for (size_t d = 0; d < old.size(); ++d) {
      if (d <= first || d >= end) {
        indices.push_back(d == first ? cast(type, old[d]) : old[d]);
      } else {
        indices.back() = indices.back() * sizes[d - first] + cast(type, old[d]);
      }
      if (d + 1 == end) indices.back() = analyzer.simplify(indices.back());
    }
    return indices;
  };
  replace_layout(schedule, stage, compute.change_axes(axes, values, Expr()), new_indices);
  return {};
}

}  // namespace tw
