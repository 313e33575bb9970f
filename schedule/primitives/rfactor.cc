// SPDX-License-Identifier: Apache-2.0
// rfactor: one loop of a reduction becomes an axis of a new stage that reduces over the others; the
// stage reduces over that axis. Loops of the reduction go to the new stage as they are, so that a
// script goes on with the axes it holds; loops over data stay. With k split by 4 and the inner part
// factored:
//
//   B(i) = sum(A(i, k), k: 10)     B.rf(k.inner, i) = sum(A(i, k.outer*4 + k.inner), k.outer: 3,
//                                                         where k.outer*4 + k.inner < 10)
//                                  B(i) = sum(B.rf(k.inner.v, i), k.inner.v: 4)
#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "ir/substitute.h"
#include "schedule/dependence.h"
#include "schedule/primitives/apply.h"
#include "schedule/primitives/checks.h"
#include "schedule/primitives/loop_space.h"
#include "schedule/te/ragged.h"
#include "schedule/te/start.h"
#include "schedule/te/term_order.h"

namespace tw {
namespace {

// What the primitive would lose is refused.
void require_factorable(const PrimitiveCall& call, const StageData& stage) {
  const auto refuse = [&](const IterVar& axis, std::string what, std::string legal) {
    call.fail({.code = ErrorCode::CannotFactor,
               .what = std::move(what),
               .axis = axis.name(),
               .legal = std::move(legal)});
  };
  for (const IterVar& leaf : stage.leaf_axes) {
    const AxisAttributes* marks = stage.attributes_of(leaf);
    if (marks != nullptr && marks->intrin.defined()) {
      refuse(leaf, fmt::format("'{}' computes the loops from here on", marks->intrin->name),
             fmt::format("rfactor first, then tensorize of '{}.rf', which takes the loops of the "
                         "reduction, or of '{}', which keeps those over data",
                         stage.name(), stage.name()));
    }
  }
}

// The new stage takes the terms in groups, and unless the loop is the outermost one in another
// order.
void require_reducer(const PrimitiveCall& call, const te::ComputeNode& compute,
                     const IterVar& axis) {
  const auto refuse = [&](const std::string& why, std::string legal) {
    call.fail(
        {.code = ErrorCode::CannotFactor,
         .what = "the reducer f does not give the same when terms are taken in groups: " + why,
         .axis = axis.name(),
         .legal = std::move(legal)});
  };
  if (const std::string why = te::grouping_matters(compute); !why.empty()) {
    refuse(why,
           "loops in the order of the expression; rfactor is legal where f is associative "
           "and begins with its identity");
  }
  const StageData& stage = call.stage();
  const std::vector<IterVar> in_order = loops_in_order_of_terms(stage);
  const bool outermost =
      takes_terms_in_order(stage) && (in_order.empty() || in_order.front()->var.same_as(axis->var));
  if (outermost) return;
  if (const std::string why = te::order_matters(compute); !why.empty()) {
    refuse(why, in_order.empty() ? "axes of the reduction fused in their order"
                                 : fmt::format("rfactor of '{}', the outermost loop over terms, "
                                               "and these in this order: {}",
                                               in_order.front().name(), names(in_order)));
  }
}

// What the new stage reads may be computed inside a data loop of the old one, where the terms were:
// so is the new stage then, inside the innermost of these.
void stay_beside_inputs(const ScheduleData& schedule, StageData& stage, StageData& factor_stage) {
  size_t innermost = 0;
  for (const StageData* inside : attached_to(schedule, stage)) {
    const std::vector<StageData*> readers = all_consumers_of(schedule, *inside);
    const bool needed =
        inside->is_group() || std::ranges::find(readers, &factor_stage) != readers.end();
    const size_t position = leaf_position(stage, inside->attach_axis);
    if (!needed || position < innermost) continue;
    innermost = position;
    factor_stage.attach_type = AttachType::Scope;
    factor_stage.attach_stage = &stage;
    factor_stage.attach_axis = inside->attach_axis;
  }
}

// The domain of the loop for all elements: an axis of a tensor is as long in each of its rows.
Range longest(const PrimitiveCall& call, const te::ComputeNode& compute, const IterVar& axis,
              const Range& domain) {
  Analyzer analyzer;
  DomainMap elements;
  for (const IterVar& data : compute.axis) {
    elements[data->var] = data->domain;
    analyzer.bind(data->var, data->domain);
  }
  Range whole = te::hull(domain, elements, analyzer);
  const bool reads =
      whole.min.defined() && (te::reads_tensor(whole.min) || te::reads_tensor(whole.extent));
  if (!whole.min.defined() || reads) {
    call.fail({.code = ErrorCode::CannotFactor,
               .what = "this loop is of another length for each element, and no length is the "
                       "longest: a tensor has one",
               .axis = axis.name(),
               .legal = "split it by a factor, and rfactor of the inner loop"});
  }
  if (!whole.extent.same_as(domain.extent) && !analyzer.can_prove_at_least(whole.extent, 0))
    whole.extent = max(whole.extent, make_zero(whole.extent.dtype()));
  return whole;
}

// Both stages get their loops: the new one those of the reduction but for `axis`, with all that is
// at them; the old one keeps its data loops as they are, and `rest` stands where `axis` did.
void divide_loops(ScheduleData& schedule, StageData& stage, const IterVar& axis,
                  StageData& factor_stage, const te::Operation& rest_op, const IterVar& rest) {
  StageData old = stage;
  for (const IterVar& leaf : old.leaf_axes) {
    if (leaf->kind == IterKind::Reduction)
      move_loop(schedule, stage, leaf, factor_stage, axis_of_stage(factor_stage, leaf));
  }
  auto marks = std::move(stage.axis_attributes);
  reset_axes(schedule, stage, rest_op);
  stage.axis_attributes = std::move(marks);
  copy_relations(old, IterKind::DataParallel, stage);
  stage.leaf_axes.clear();
  for (const IterVar& leaf : old.leaf_axes) {
    if (leaf->kind != IterKind::Reduction) stage.leaf_axes.push_back(leaf);
    if (leaf->var.same_as(axis->var)) stage.leaf_axes.push_back(rest);
  }
}

}  // namespace

StepResults apply_rfactor(const PrimitiveCall& call) {
  ScheduleData& schedule = call.schedule();
  StageData& stage = call.stage();
  const IterVar& axis = call.axis(1);
  const te::ComputeNode& compute = require_compute(call);
  if (axis->kind != IterKind::Reduction) {
    call.fail({.code = ErrorCode::CannotFactor,
               .what = "a data axis is not reduced over",
               .axis = axis.name(),
               .legal = compute.is_reduction() ? names(compute.reduce_axis) : "a reduction"});
  }
  require_factorable(call, stage);
  require_reducer(call, compute, axis);
  const auto places = static_cast<int64_t>(compute.axis.size()) + 1;
  int64_t place = call.given(2) ? call.integer(2) : 0;
  if (place < -places || place >= places) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("factor_axis is {}", place),
               .axis = axis.name(),
               .legal = fmt::format("{} to {}; -1 is the last place", -places, places - 1)});
  }
  if (place < 0) place += places;

  LoopSpace space = loop_space(stage, IterKind::Reduction);
  const auto at =
      std::ranges::find_if(space.axes, [&](const IterVar& a) { return a->var.same_as(axis->var); });
  const Range own = (*at)->domain, whole = longest(call, compute, axis, own);
  const Range parts{make_zero(axis->var.dtype()), whole.extent};
  const Expr begin = whole.min;
  const IterVar factor(parts, axis->var, IterKind::DataParallel);
  space.axes.erase(at);
  const Reduce& reduce = *as<Reduce>(compute.body[0]);
  const size_t components = compute.body.size();
  std::vector<IterVar> axes;
  std::vector<std::pair<Var, IterVar>> aliases = stage.aliases;
  VarMap& values = space.values;
  // A reduction that does not start at zero: the data axis does.
  if (!is_zero(begin)) values[axis->var] = axis->var + begin;
  VarMap elements;
  for (const IterVar& data : compute.axis) {
    axes.emplace_back(data->domain, Var(data.name(), data->var.dtype()), data->kind);
    elements[data->var] = values[data->var] = axes.back()->var;
    aliases.emplace_back(data->var, axes.back());
  }
  axes.insert(axes.begin() + place, factor);
  // Loops that begin elsewhere, or are longer, for one element than for another are so in the new
  // stage.
  for (const IterVar& reduced : compute.reduce_axis)
    values[reduced->var] = substitute(values.at(reduced->var), elements);
  for (IterVar& a : space.axes) a = te::over(a, elements);
  Expr condition = space.condition;
  if (!whole.extent.same_as(own.extent)) {
    const Expr value = axis->var + begin;
    const Expr inside = likely(value >= own.min && value < own.min + own.extent);
    condition = condition.defined() ? condition && inside : inside;
  }
  if (condition.defined()) condition = substitute(condition, elements);
  if (reduce.condition.defined() && !is_const_int(reduce.condition, 1)) {
    const Expr own = substitute(reduce.condition, values);
    condition = condition.defined() ? te::guarded_condition(condition, own) : own;
  }
  std::vector<Expr> sources;
  for (const Expr& source : reduce.source) sources.push_back(substitute(source, values));
  std::vector<Expr> partial;
  if (!space.axes.empty()) {
    partial = te::reduce(reduce.combiner, sources, space.axes, condition);
  } else {
    for (size_t c = 0; c < components; ++c) {
      partial.push_back(condition.defined()
                            ? if_then_else(condition, sources[c], reduce.combiner.identity[c])
                            : sources[c]);
    }
  }
  const te::Operation factor_op =
      te::compute_op(stage.op->name + ".rf", std::move(axes), std::move(partial));

  const IterVar rest(parts, Var(axis.name() + ".v", axis->var.dtype()), IterKind::Reduction);
  std::vector<Expr> indices;
  for (const IterVar& data : compute.axis) indices.push_back(data->var);
  indices.insert(indices.begin() + place, rest->var);
  std::vector<Expr> reads;
  for (size_t c = 0; c < components; ++c)
    reads.push_back(factor_op.output(static_cast<int>(c))(indices));
  const te::Operation rest_op =
      te::compute_op(stage.op->name, compute.axis,
                     te::starting_from(te::reduce(reduce.combiner, reads, {rest}), compute.init),
                     stage.op->tag, stage.op->attributes);

  auto owned = std::make_unique<StageData>();
  owned->where = call.where();
  owned->aliases = std::move(aliases);
  StageData& factor_stage = insert_stage(schedule, stage, false, std::move(owned));
  reset_axes(schedule, factor_stage, factor_op);
  divide_loops(schedule, stage, axis, factor_stage, rest_op, rest);
  stay_beside_inputs(schedule, stage, factor_stage);
  refresh_consumers(schedule, stage);
  return {&factor_stage};
}

}  // namespace tw
