// SPDX-License-Identifier: Apache-2.0
// rfactor: one loop of a reduction becomes an axis of a new stage that reduces over the others; the
// stage reduces over that axis. With k split by 4 and the inner part factored:
//
//   B(i) = sum(A(i, k), k: 10)     B.rf(k.inner, i) = sum(A(i, k.outer*4 + k.inner), k.outer: 3,
//                                                         where k.outer*4 + k.inner < 10)
//                                  B(i) = sum(B.rf(k.inner.v, i), k.inner.v: 4)
#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "ir/substitute.h"
#include "schedule/primitives/apply.h"
#include "schedule/primitives/checks.h"
#include "schedule/schedule_options.h"

namespace tw {
namespace {

// What the primitive would lose is refused: it keeps splits and the order of reduction loops only.
void require_factorable(const PrimitiveCall& call, const StageData& stage,
                        const te::ComputeNode& compute) {
  const auto refuse = [&](std::string what, std::string legal) {
    call.fail(
        {.code = ErrorCode::CannotFactor, .what = std::move(what), .legal = std::move(legal)});
  };
  for (size_t k = 0; k < compute.axis.size(); ++k) {
    if (k < stage.leaf_axes.size() && stage.leaf_axes[k]->var.same_as(compute.axis[k]->var))
      continue;
    refuse("the data axes were split, fused, or moved among or behind the reduction axes already",
           "rfactor first");
  }
  if (!stage.axis_attributes.empty() || !stage.storage.row_pitches.empty())
    refuse("axes of the stage are marked (vectorize, parallel, unroll or a pragma) already",
           "rfactor first, then mark");
  if (const auto inside = attached_to(call.schedule(), stage); !inside.empty()) {
    refuse(fmt::format("'{}' is computed inside its loops", inside[0]->name()),
           "rfactor before compute_at");
  }
  const size_t components = as<Reduce>(compute.body[0])->combiner.lhs.size();
  bool complete = compute.body.size() == components;
  for (size_t k = 0; complete && k < components; ++k)
    complete = as<Reduce>(compute.body[k])->value_index == static_cast<int>(k);
  if (!complete) {
    refuse("its outputs are not the components of the reduction, each once and in order",
           "a reduction all of whose components are outputs");
  }
}

// The reduction in terms of its loops: what they stand for, and when they are inside the domain.
struct Factored {
  IterVar factor;               // a data axis now
  std::vector<IterVar> reduce;  // the other loops
  VarMap values;                // of the program's reduction axes
  Expr condition;               // undefined when always true
};

Factored factor_loops(const StageData& stage, const te::ComputeNode& compute, const IterVar& axis) {
  DomainMap domains;
  Analyzer analyzer;
  const ScheduleOptions options;
  for (const IterVar& root : compute.all_axes) domains[root->var] = root->domain;
  for (const RelationRef& relation : stage.relations)
    relation->domain_down(domains, analyzer, options);

  Factored result;
  VarMap offsets;
  for (const IterVar& leaf : stage.leaf_axes) {
    if (leaf->kind != IterKind::Reduction) continue;
    const DType type = leaf->var.dtype();
    const Range& domain = domains.at(leaf->var);
    const Var var(leaf.name(), type);
    offsets[leaf->var] = var;
    const Range from_zero{make_zero(type), cast(type, domain.extent)};
    if (leaf->var.same_as(axis->var)) {
      result.factor = IterVar(from_zero, var, IterKind::DataParallel);
    } else if (is_zero(domain.min)) {
      result.reduce.emplace_back(from_zero, var, IterKind::Reduction);
    } else {  // the program's own axis, not split
      result.reduce.emplace_back(domain, var, IterKind::Reduction);
      offsets[leaf->var] = var - domain.min;
      result.values[leaf->var] = var;
    }
  }
  for (size_t r = stage.relations.size(); r-- > 0;) stage.relations[r]->index_up(offsets, domains);
  for (const IterVar& root : compute.reduce_axis)
    result.values.try_emplace(root->var, offsets.at(root->var) + domains.at(root->var).min);

  VarSet overrun;
  std::vector<IterVar> checked;
  for (size_t r = stage.relations.size(); r-- > 0;)
    stage.relations[r]->overrun_up(overrun, checked, domains, analyzer);
  for (const IterVar& root : compute.reduce_axis) {
    if (overrun.contains(root->var)) checked.push_back(root);
  }
  for (const IterVar& a : checked) {
    const Expr inside = likely(offsets.at(a->var) < domains.at(a->var).extent);
    result.condition = result.condition.defined() ? result.condition && inside : inside;
  }
  return result;
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
  require_factorable(call, stage, compute);
  const auto places = static_cast<int64_t>(compute.axis.size()) + 1;
  int64_t place = call.given(2) ? call.integer(2) : 0;
  if (place < -places || place >= places) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("factor_axis is {}", place),
               .axis = axis.name(),
               .legal = fmt::format("{} to {}; -1 is the last place", -places, places - 1)});
  }
  if (place < 0) place += places;

  Factored factored = factor_loops(stage, compute, axis);
  const Reduce& reduce = *as<Reduce>(compute.body[0]);
  const size_t components = compute.body.size();
  std::vector<IterVar> axes;
  VarMap& values = factored.values;
  for (const IterVar& data : compute.axis) {
    axes.emplace_back(data->domain, Var(data.name(), data->var.dtype()), data->kind);
    values[data->var] = axes.back()->var;
  }
  axes.insert(axes.begin() + place, factored.factor);
  Expr condition = factored.condition;
  if (reduce.condition.defined() && !is_const_int(reduce.condition, 1)) {
    const Expr own = substitute(reduce.condition, values);
    condition = condition.defined() ? te::guarded_condition(condition, own) : own;
  }
  std::vector<Expr> sources;
  for (const Expr& source : reduce.source) sources.push_back(substitute(source, values));
  std::vector<Expr> partial;
  if (!factored.reduce.empty()) {
    partial = te::reduce(reduce.combiner, sources, factored.reduce, condition);
  } else {
    for (size_t c = 0; c < components; ++c) {
      partial.push_back(condition.defined()
                            ? if_then_else(condition, sources[c], reduce.combiner.identity[c])
                            : sources[c]);
    }
  }
  const te::Operation factor_op =
      te::compute_op(stage.name() + ".rf", std::move(axes), std::move(partial));

  const IterVar rest(factored.factor->domain, Var(axis.name() + ".v", axis->var.dtype()),
                     IterKind::Reduction);
  std::vector<Expr> indices;
  for (const IterVar& data : compute.axis) indices.push_back(data->var);
  indices.insert(indices.begin() + place, rest->var);
  std::vector<Expr> reads;
  for (size_t c = 0; c < components; ++c)
    reads.push_back(factor_op.output(static_cast<int>(c))(indices));
  const te::Operation rest_op =
      te::compute_op(stage.name(), compute.axis, te::reduce(reduce.combiner, reads, {rest}),
                     stage.op->tag, stage.op->attributes);

  auto owned = std::make_unique<StageData>();
  owned->where = call.where();
  StageData& factor_stage = insert_stage(schedule, stage, false, std::move(owned));
  reset_axes(schedule, factor_stage, factor_op);
  reset_axes(schedule, stage, rest_op);
  refresh_consumers(schedule, stage);
  return {&factor_stage};
}

}  // namespace tw
