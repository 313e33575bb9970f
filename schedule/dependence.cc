// SPDX-License-Identifier: Apache-2.0
#include "schedule/dependence.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "ir/expr.h"
#include "schedule/schedule_options.h"

namespace tw {
namespace {

// Greatest minus least value of `e` while `vars` run over their domains.
std::optional<int64_t> spread(const Expr& e, const std::vector<IterVar>& vars,
                              const DomainMap& domains, Analyzer& analyzer) {
  IntervalMap relaxed;
  for (const IterVar& v : vars) relaxed[v->var] = Interval::of(domains.at(v->var));
  const Interval values = analyzer.interval(e, relaxed);
  if (!values.is_bounded()) return std::nullopt;
  return as_const_int(analyzer.simplify(values.greatest - values.least));
}

// Of all axes, were the stage computed whole.
DomainMap whole_domains(const StageData& stage) {
  DomainMap domains;
  Analyzer analyzer;
  for (const IterVar& root : stage.op->root_axes()) domains[root->var] = root->domain;
  for (const RelationRef& relation : stage.relations)
    relation->domain_down(domains, analyzer, ScheduleOptions());
  return domains;
}

bool runs_once(const DomainMap& domains, const IterVar& leaf) {
  const auto extent = as_const_int(domains.at(leaf->var).extent);
  return extent && *extent <= 1;
}

bool same_variable(const IterVar& a, const IterVar& b) { return a->var.same_as(b->var); }

// Those of the axes that walk several terms of a reduction.
std::vector<IterVar> loops_over_terms(std::vector<IterVar> axes, const DomainMap& domains) {
  std::erase_if(axes, [&](const IterVar& a) {
    return a->kind != IterKind::Reduction || runs_once(domains, a);
  });
  return axes;
}

std::vector<IterVar> loops_in_order_of_terms(const StageData& stage, const DomainMap& domains) {
  std::vector<IterVar> loops = loops_over_terms(stage.op->root_axes(), domains);
  for (const RelationRef& relation : stage.relations) {
    const std::vector<IterVar> parents = loops_over_terms(relation->parents(), domains);
    const std::vector<IterVar> children = loops_over_terms(relation->children(), domains);
    if (parents.empty()) continue;
    const auto at = std::ranges::search(loops, parents, same_variable).begin();
    if (at == loops.end()) return {};
    const auto place = loops.erase(at, at + static_cast<std::ptrdiff_t>(parents.size()));
    loops.insert(place, children.begin(), children.end());
  }
  return loops;
}

}  // namespace

std::string concurrency(const AxisAttributes& marks) {
  if (!marks.thread.empty()) return marks.thread;
  const bool in_order = marks.for_kind == ForKind::Serial || marks.for_kind == ForKind::Unrolled;
  return in_order ? "" : std::string(to_string(marks.for_kind));
}

bool is_dependent(IterKind kind) {
  return kind == IterKind::Reduction || kind == IterKind::Ordered || kind == IterKind::Opaque;
}

std::vector<IterVar> roots_of(const StageData& stage, const IterVar& leaf) {
  VarSet above = {leaf->var};
  for (size_t r = stage.relations.size(); r-- > 0;) {
    bool reached = false;
    for (const IterVar& child : stage.relations[r]->children())
      reached |= above.contains(child->var);
    if (!reached) continue;
    for (const IterVar& parent : stage.relations[r]->parents()) above.insert(parent->var);
  }
  std::vector<IterVar> roots;
  for (const IterVar& root : stage.op->root_axes()) {
    if (above.contains(root->var)) roots.push_back(root);
  }
  return roots;
}

IterVar dependent_root(const StageData& stage, const IterVar& leaf, std::string_view thread) {
  for (const IterVar& root : roots_of(stage, leaf)) {
    if (!is_dependent(root->kind)) continue;
    const bool together = thread.starts_with("threadIdx.") && root->kind == IterKind::Reduction;
    if (!together) return runs_once(whole_domains(stage), leaf) ? IterVar() : root;
  }
  return {};
}

IterVar dependent_root(const StageData& stage, const IterVar& leaf) {
  const AxisAttributes* marks = stage.attributes_of(leaf);
  return dependent_root(stage, leaf, marks == nullptr ? std::string_view() : marks->thread);
}

std::vector<IterVar> loops_in_order_of_terms(const StageData& stage) {
  return loops_in_order_of_terms(stage, whole_domains(stage));
}

bool takes_terms_in_order(const StageData& stage) {
  const DomainMap domains = whole_domains(stage);
  return std::ranges::equal(loops_over_terms(stage.leaf_axes, domains),
                            loops_in_order_of_terms(stage, domains), same_variable);
}

bool regions_are_apart(const StageData& stage, const IterVar& loop,
                       const std::vector<IterVar>& inner, const DomainMap& domains) {
  const auto iterations = as_const_int(domains.at(loop->var).extent);
  if (iterations && *iterations <= 1) return true;
  Analyzer analyzer;
  for (const IterVar& axis : stage.op->data_axes()) {
    // The first element of an iteration's region is coefficient * iteration + the rest.
    const Range& region = domains.at(axis->var);
    const auto extent = as_const_int(region.extent);
    const auto linear = linear_form(analyzer.simplify(region.min), {loop->var});
    if (!extent || !linear) continue;
    const auto step = as_const_int(analyzer.simplify(linear->coefficients[0]));
    const auto width = spread(linear->constant, inner, domains, analyzer);
    if (step && width && std::abs(*step) >= *extent + *width) return true;
  }
  return false;
}

}  // namespace tw
