// SPDX-License-Identifier: Apache-2.0
// split, tile. What is computed at the axis goes to the inner part: to the same iterations.
#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "schedule/primitives/apply.h"
#include "schedule/primitives/split.h"
#include "schedule/schedule_data.h"
#include "schedule/symbols.h"

namespace tw {

void require_positive(const PrimitiveCall& call, const IterVar& axis, std::string_view name,
                      int64_t value) {
  if (value > 0 && value <= INT32_MAX) return;
  call.fail({.code = value > 0 ? ErrorCode::BadArgument : ErrorCode::FactorNotPositive,
             .what = fmt::format("{} is {}", name, value),
             .axis = axis.name(),
             .legal = "a positive 32-bit integer"});
}

namespace {

// The size of a part is added to the extent, and 32 bits must hold that for any size of tensors.
void require_addable(const PrimitiveCall& call, const IterVar& axis, std::string_view name,
                     int64_t value) {
  constexpr int64_t kMost = 1 << 24;
  const std::vector<IterVar> roots = call.stage().op->root_axes();
  const bool constant = std::ranges::all_of(
      roots, [](const IterVar& r) { return as_const_int(r->domain.extent).has_value(); });
  if (constant || value <= kMost || axis->var.dtype().bits > 32) return;
  call.fail({.code = ErrorCode::BadArgument,
             .what = fmt::format("{} is {}, and extents are known when the kernel is called", name,
                                 value),
             .axis = axis.name(),
             .legal = fmt::format("1 to {}", kMost)});
}

// A constant, or an expression of symbols, of which the extent of a part is at least one.
Expr size_of_part(const PrimitiveCall& call, const IterVar& axis, std::string_view name, size_t k) {
  const DType type = axis->var.dtype();
  Expr size = call.is_text(k) ? parse_symbolic(call, call.text(k))
                              : make_const(int_type(64), call.integer(k));
  if (const auto constant = as_const_int(size)) {
    require_positive(call, axis, name, *constant);
    require_addable(call, axis, name, *constant);
    return make_const(type, *constant);
  }
  if (!size.dtype().is_int() || size.dtype().bits > type.bits) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("{} is of type {}", name, to_string(size.dtype())),
               .axis = axis.name(),
               .legal = fmt::format("an integer that {} holds", to_string(type))});
  }
  return max(cast(type, size), make_const(type, 1));
}

}  // namespace

std::pair<IterVar, IterVar> split_axis(StageData& stage, const IterVar& parent, const Expr& factor,
                                       const Expr& nparts, int step) {
  const DType type = parent->var.dtype();
  const IterVar outer({}, Var(parent.name() + ".outer", type), parent->kind);
  const IterVar inner({}, Var(parent.name() + ".inner", type), parent->kind);
  auto* relation = new SplitRelation;
  relation->parent = parent;
  relation->outer = outer;
  relation->inner = inner;
  relation->factor = factor;
  relation->nparts = nparts;
  add_relation(stage, RelationRef(relation), step);
  return {outer, inner};
}

StepResults apply_split(const PrimitiveCall& call) {
  StageData& stage = call.stage();
  const IterVar& parent = call.axis(1);
  const bool by_factor = call.given(2), by_nparts = call.given(3);
  if (by_factor == by_nparts) {
    call.fail({.code = ErrorCode::SplitArguments,
               .what = by_factor ? "split with both factor and nparts"
                                 : "split with neither factor nor nparts",
               .axis = parent.name(),
               .legal = "one of factor and nparts"});
  }
  const Expr value = size_of_part(call, parent, by_factor ? "factor" : "nparts", by_factor ? 2 : 3);
  require_unmarked(call, stage, parent);
  const auto [outer, inner] = split_axis(stage, parent, by_factor ? value : Expr(),
                                         by_factor ? Expr() : value, call.number());
  move_attached(call.schedule(), stage, parent, inner);
  return {outer, inner};
}

StepResults apply_tile(const PrimitiveCall& call) {
  StageData& stage = call.stage();
  const IterVar &x = call.axis(1), &y = call.axis(2);
  if (x->var.same_as(y->var)) {
    call.fail({.code = ErrorCode::DuplicateAxis,
               .what = "tile of an axis with itself",
               .axis = x.name(),
               .legal = "two different axes"});
  }
  if (x->kind == IterKind::Ordered || y->kind == IterKind::Ordered) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = "the steps of a scan would run in another order",
               .axis = x.name(),
               .legal = "split"});
  }
  require_positive(call, x, "x_factor", call.integer(3));
  require_positive(call, y, "y_factor", call.integer(4));
  require_addable(call, x, "x_factor", call.integer(3));
  require_addable(call, y, "y_factor", call.integer(4));
  require_unmarked(call, stage, x);
  require_unmarked(call, stage, y);
  const auto [xo, xi] =
      split_axis(stage, x, make_const(x->var.dtype(), call.integer(3)), {}, call.number());
  const auto [yo, yi] =
      split_axis(stage, y, make_const(y->var.dtype(), call.integer(4)), {}, call.number());
  order_axes(stage, {xo, yo, xi, yi});
  move_attached(call.schedule(), stage, x, xi);
  move_attached(call.schedule(), stage, y, yi);
  return {xo, yo, xi, yi};
}

}  // namespace tw
