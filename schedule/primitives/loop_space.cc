// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitives/loop_space.h"

#include <utility>

#include "ir/expr.h"
#include "schedule/schedule_options.h"
#include "schedule/te/ragged.h"

namespace tw {
namespace {

bool is_of(const IterVar& axis, IterKind kind) {
  return (axis->kind == IterKind::Reduction) == (kind == IterKind::Reduction);
}
bool is_of(const RelationRef& relation, IterKind kind) {
  return is_of(relation->children().front(), kind);
}

}  // namespace

LoopSpace loop_space(const StageData& stage, IterKind kind, const std::string& suffix) {
  LoopSpace result;
  DomainMap& domains = result.domains;
  Analyzer analyzer;
  for (const IterVar& root : stage.op->root_axes()) {
    Range& domain = domains[root->var] = root->domain;
    // Fewer iterations than none would count as some where loops are fused.
    if (te::is_ragged(*stage.op, root) && !analyzer.can_prove_at_least(domain.extent, 0))
      domain.extent = max(domain.extent, make_zero(domain.extent.dtype()));
    if (root->kind != IterKind::Reduction) analyzer.bind(root->var, root->domain);
  }
  for (const RelationRef& relation : stage.relations)
    relation->domain_down(domains, analyzer, ScheduleOptions());

  VarMap offsets;
  for (const IterVar& leaf : stage.leaf_axes) {
    if (!is_of(leaf, kind)) continue;
    const DType type = leaf->var.dtype();
    const Range& domain = domains.at(leaf->var);
    const Var var = suffix.empty() ? leaf->var : Var(leaf.name() + suffix, type);
    // Only the program's own axes do not start at zero.
    const Range range{domain.min, cast(type, domain.extent)};
    result.axes.emplace_back(range, var, kind);
    offsets[leaf->var] = is_zero(domain.min) ? Expr(var) : var - domain.min;
  }
  for (size_t r = stage.relations.size(); r-- > 0;) {
    if (is_of(stage.relations[r], kind)) stage.relations[r]->index_up(offsets, domains);
  }
  VarSet overrun;
  std::vector<IterVar> checked;
  for (size_t r = stage.relations.size(); r-- > 0;) {
    if (is_of(stage.relations[r], kind))
      stage.relations[r]->overrun_up(overrun, checked, domains, analyzer);
  }
  for (const IterVar& root : stage.op->root_axes()) {
    if (!is_of(root, kind)) continue;
    const Expr& offset = offsets.at(root->var);
    const Expr& min = domains.at(root->var).min;
    result.values[root->var] = analyzer.simplify(is_zero(min) ? offset : offset + min);
    if (overrun.contains(root->var)) checked.push_back(root);
  }
  for (const IterVar& axis : checked) {
    const Expr inside = likely(offsets.at(axis->var) < domains.at(axis->var).extent);
    result.condition = result.condition.defined() ? result.condition && inside : inside;
  }
  return result;
}

void copy_relations(const StageData& from, IterKind kind, StageData& to) {
  for (size_t r = 0; r < from.relations.size(); ++r) {
    if (!is_of(from.relations[r], kind)) continue;
    to.relations.push_back(from.relations[r]);
    to.relation_steps.push_back(from.relation_steps[r]);
    for (const IterVar& child : from.relations[r]->children()) to.all_axes.push_back(child);
  }
}

void move_loop(ScheduleData& schedule, StageData& from, const IterVar& axis, StageData& to,
               const IterVar& to_axis) {
  if (const auto marks = from.axis_attributes.find(axis->var);
      marks != from.axis_attributes.end()) {
    AxisAttributes moved = std::move(marks->second);
    from.axis_attributes.erase(marks);
    to.axis_attributes[to_axis->var] = std::move(moved);
  }
  for (StageData* inside : attached_to(schedule, from)) {
    if (!inside->attach_axis->var.same_as(axis->var)) continue;
    inside->attach_stage = &to;
    inside->attach_axis = to_axis;
  }
  for (const auto& stage : schedule.stages) {
    for (auto& [var, attributes] : stage->axis_attributes) {
      for (PrefetchMark& mark : attributes.prefetches) {
        if (mark.scope.defined() && mark.scope->var.same_as(axis->var)) mark.scope = to_axis;
      }
    }
  }
}

}  // namespace tw
