// SPDX-License-Identifier: Apache-2.0
#include "schedule/region.h"

#include "ir/expr.h"
#include "schedule/index_range.h"
#include "schedule/te/ragged.h"

namespace tw {
namespace {

// Offsets of all axes while those loops stand still; loops of one iteration always do.
DomainMap parts_of(const StageData& stage, const std::vector<Var>& still, const DomainMap& domains,
                   Analyzer& analyzer) {
  DomainMap parts;
  for (size_t k = 0; k < stage.leaf_axes.size(); ++k) {
    const Var& var = stage.leaf_axes[k]->var;
    const Range& domain = domains.at(var);
    const bool stands = k < still.size() && still[k].defined() && !is_one(domain.extent);
    parts[var] = stands ? Range{still[k], make_const(var.dtype(), 1)} : domain;
  }
  // Loops of the stages that compute its parts.
  for (const IterVar& root : stage.op->root_axes()) {
    if (root->kind == IterKind::Opaque)
      parts[root->var] = {make_zero(root->var.dtype()), domains.at(root->var).extent};
  }
  for (size_t r = stage.relations.size(); r-- > 0;)
    stage.relations[r]->domain_up(parts, domains, analyzer);
  return parts;
}

}  // namespace

std::vector<IterVar> loops_between(const StageData& stage, const StageData& parent,
                                   const IterVar& axis) {
  std::vector<IterVar> loops;
  for (const StageData* s = &stage; s != &parent; s = s->attach_stage) {
    if (s->attach_type == AttachType::ScanInit) continue;
    const StageData& around = *s->attach_stage;
    const size_t begin = &around == &parent ? leaf_position(parent, axis) + 1 : 0;
    const size_t end = leaf_position(around, s->attach_axis) + 1;
    loops.insert(loops.begin(), around.leaf_axes.begin() + static_cast<std::ptrdiff_t>(begin),
                 around.leaf_axes.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return loops;
}

DomainMap root_ranges(const StageData& stage, const StageData& parent, const IterVar& axis,
                      const DomainMap& domains, Analyzer& analyzer) {
  std::vector<Var> still;
  if (&stage == &parent) {
    const size_t inside = leaf_position(parent, axis) + 1;
    for (size_t k = 0; k < inside; ++k) still.push_back(stage.leaf_axes[k]->var);
  }
  const DomainMap parts = parts_of(stage, still, domains, analyzer);
  // Loops between the place and the stage run, and move the stage's region.
  DomainMap between;
  for (const IterVar& loop : loops_between(stage, parent, axis))
    between[loop->var] = domains.at(loop->var);
  const IndexRange range_of(between, analyzer);
  // Those of the stage's own may move the ends of its reduction.
  DomainMap running = between;
  for (size_t k = still.size(); k < stage.leaf_axes.size(); ++k) {
    const Var& var = stage.leaf_axes[k]->var;
    running[var] = domains.at(var);
  }
  DomainMap ranges;
  for (const IterVar& root : stage.op->root_axes()) {
    const Range& part = parts.at(root->var);
    const Range& domain = domains.at(root->var);
    if (te::is_ragged(*stage.op, root)) {
      ranges[root->var] = te::hull({domain.min + part.min, part.extent}, running, analyzer);
      continue;
    }
    const Range start = range_of(domain.min);
    ranges[root->var] =
        is_known(start) ? Range{start.min + part.min, start.extent + part.extent - 1} : Range{};
  }
  return ranges;
}

RootValues root_values(const StageData& stage, const StageData& parent, const IterVar& axis,
                       const DomainMap& domains) {
  RootValues result;
  for (const IterVar& loop : loops_between(stage, parent, axis))
    result.running[loop->var] = domains.at(loop->var);
  for (size_t k = &stage == &parent ? leaf_position(parent, axis) + 1 : 0;
       k < stage.leaf_axes.size(); ++k) {
    const Var& var = stage.leaf_axes[k]->var;
    result.running[var] = domains.at(var);
  }
  VarMap offsets;
  for (const IterVar& leaf : stage.leaf_axes) offsets[leaf->var] = leaf->var;
  for (const IterVar& root : stage.op->root_axes()) {
    if (root->kind != IterKind::Opaque) continue;
    offsets[root->var] = root->var;
    result.running[root->var] = {make_zero(root->var.dtype()), domains.at(root->var).extent};
  }
  for (size_t r = stage.relations.size(); r-- > 0;) stage.relations[r]->index_up(offsets, domains);
  for (const IterVar& root : stage.op->root_axes())
    result.values[root->var] = domains.at(root->var).min + offsets.at(root->var);
  return result;
}

DomainMap root_ranges(const StageData& stage, const std::vector<Var>& vars, size_t inside,
                      const DomainMap& domains, Analyzer& analyzer) {
  const std::vector<Var> still(vars.begin(), vars.begin() + static_cast<std::ptrdiff_t>(inside));
  const DomainMap parts = parts_of(stage, still, domains, analyzer);
  DomainMap ranges;
  for (const IterVar& root : stage.op->root_axes()) {
    const Range& part = parts.at(root->var);
    ranges[root->var] = {domains.at(root->var).min + part.min, part.extent};
  }
  return ranges;
}

}  // namespace tw
