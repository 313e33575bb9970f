// SPDX-License-Identifier: Apache-2.0
#include "schedule/ragged_domain.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/expr.h"
#include "schedule/dependence.h"
#include "schedule/index_range.h"
#include "schedule/te/ragged.h"

namespace tw {
namespace {

bool comes_from(const StageData& stage, const IterVar& leaf, const IterVar& root) {
  const std::vector<IterVar> roots = roots_of(stage, leaf);
  return std::ranges::any_of(roots, [&](const IterVar& r) { return r->var.same_as(root->var); });
}

// Values of the data axes in terms of the stage's loops; those of one iteration stand still.
VarMap data_values(const StageData& stage, const DomainMap& domains) {
  VarMap offsets, values;
  for (const IterVar& leaf : stage.leaf_axes) {
    if (leaf->kind == IterKind::Reduction) continue;
    const bool once = is_one(domains.at(leaf->var).extent);
    offsets[leaf->var] = once ? make_zero(leaf->var.dtype()) : Expr(leaf->var);
  }
  for (size_t r = stage.relations.size(); r-- > 0;) stage.relations[r]->index_up(offsets, domains);
  for (const IterVar& root : stage.op->data_axes())
    values[root->var] = domains.at(root->var).min + offsets.at(root->var);
  return values;
}

// The hull where data axes that the running loops move are anywhere in their own domains: loops
// that are fused may not say how far that is.
Range hull_of_elements(const StageData& stage, const IterVar& axis, VarMap values,
                       const DomainMap& running, const DomainMap& domains, Analyzer& analyzer) {
  DomainMap anywhere = running;
  for (const IterVar& data : stage.op->data_axes()) {
    Expr& value = values.at(data->var);
    const bool moves =
        std::ranges::any_of(free_vars(value), [&](const Var& v) { return running.contains(v); });
    if (!moves) continue;
    value = data->var;
    anywhere[data->var] = domains.at(data->var);
  }
  return te::hull(domain_at(stage, axis, values, analyzer), anywhere, analyzer);
}

}  // namespace

Range domain_at(const StageData& stage, const IterVar& axis, const VarMap& roots,
                Analyzer& analyzer) {
  const IterVar own = te::over(axis, roots);
  if (!te::reads_tensor(own->domain.min) && !te::reads_tensor(own->domain.extent))
    return own->domain;
  Expr inside = make_bool(true);
  const auto require = [&](const Expr& condition) {
    if (!analyzer.can_prove(condition)) inside = inside && condition;
  };
  for (const IterVar& data : stage.op->data_axes()) {
    if (!uses(axis->domain.min, data->var) && !uses(axis->domain.extent, data->var)) continue;
    const Expr& at = roots.at(data->var);
    require(at >= data->domain.min);
    require(at < data->domain.min + data->domain.extent);
  }
  return te::inside_only(own, inside)->domain;
}

RaggedDomain ragged_domain(const StageData& stage, const IterVar& axis, const DomainMap& domains,
                           Analyzer& analyzer) {
  const auto first = std::ranges::find_if(
      stage.leaf_axes, [&](const IterVar& leaf) { return comes_from(stage, leaf, axis); });
  const VarMap values = data_values(stage, domains);
  const Range own = domain_at(stage, axis, values, analyzer);
  DomainMap running;
  std::vector<IterVar> moving;
  for (auto leaf = first; leaf != stage.leaf_axes.end(); ++leaf) {
    if ((*leaf)->kind == IterKind::Reduction) continue;
    running[(*leaf)->var] = domains.at((*leaf)->var);
    if (uses(own.min, (*leaf)->var) || uses(own.extent, (*leaf)->var)) moving.push_back(*leaf);
  }
  Range range = te::hull(own, running, analyzer);
  if (!range.min.defined())
    range = hull_of_elements(stage, axis, values, running, domains, analyzer);
  if (!range.min.defined()) {
    raise({.code = ErrorCode::LoopOrder,
           .what = fmt::format("'{}' has another length for each iteration of {}, which {} inside "
                               "of it, and no length that is the longest",
                               axis.name(), names(moving), moving.size() == 1 ? "stands" : "stand"),
           .stage = stage.name(),
           .axis = first->name(),
           .where = stage.where,
           .legal = fmt::format("an order with {} outside of {}", names(moving), first->name())});
  }
  const bool exact = is_same(range, own);
  // Fewer than none would count as some where loops are fused.
  if (!analyzer.can_prove_at_least(range.extent, 0))
    range.extent = max(range.extent, make_zero(range.extent.dtype()));
  return {range, exact};
}

}  // namespace tw
