// SPDX-License-Identifier: Apache-2.0
#include "schedule/kernel_part.h"

#include <algorithm>
#include <unordered_set>

#include "ir/substitute.h"
#include "schedule/schedule_data.h"
#include "schedule/schedule_options.h"

namespace tw {
namespace {

using StageSet = std::unordered_set<const StageData*>;

class Split {
 public:
  Split(const ScheduleData& schedule, const std::vector<te::Tensor>& bound) : schedule_(schedule) {
    for (const auto& stage : schedule_.stages) {
      TW_CHECK(stage->attach_type != AttachType::Inline, "a schedule that is not normalised");
      // Producers stand before consumers. Where nothing is bound nothing is prepared, not even what
      // reads no tensor.
      if (!bound.empty() && has_values(*stage, bound)) known_.insert(stage.get());
      if (stage->storage.precomputed && known_.contains(stage.get())) prepared_.insert(stage.get());
    }
  }

  ScheduleParts run() {
    ScheduleParts parts;
    StageSet needed;
    for (const te::Tensor& t : schedule_.outputs)
      need(*find_stage(schedule_, t.op().get()), needed);
    parts.main = part(needed, [&](const StageData* s) { return !prepared_.contains(s); });
    parts.main.given = schedule_.outputs;

    needed.clear();
    for (const StageData* stage : prepared_) {
      needed.insert(stage);
      need_inputs(*stage, needed);
    }
    parts.preparation = part(needed, [](const StageData*) { return true; });
    for (const auto& stage : schedule_.stages) {
      if (!prepared_.contains(stage.get())) continue;
      for (int k = 0; k < stage->op->num_outputs(); ++k) {
        parts.main.given.push_back(stage->op.output(k));
        parts.preparation.given.push_back(stage->op.output(k));
      }
    }
    return parts;
  }

 private:
  // Whether all placeholders that the stage depends on are bound, and it depends on nothing else
  // that a call brings.
  bool has_values(const StageData& stage, const std::vector<te::Tensor>& bound) const {
    if (is_placeholder(stage)) return std::ranges::find(bound, stage.op.output(0)) != bound.end();
    const auto is_known = [&](const te::Tensor& t) {
      return known_.contains(find_stage(schedule_, t.op().get()));
    };
    return std::ranges::all_of(stage.inputs, is_known) && !symbol_of(stage).defined();
  }

  void need(const StageData& stage, StageSet& needed) const {
    if (!needed.insert(&stage).second || prepared_.contains(&stage)) return;
    need_inputs(stage, needed);
  }
  void need_inputs(const StageData& stage, StageSet& needed) const {
    for (const te::Tensor& t : stage.inputs) need(*find_stage(schedule_, t.op().get()), needed);
  }

  // Those of `needed` that stand at the outermost level, in the order of computation.
  template <class Computed>
  KernelPart part(const StageSet& needed, Computed computed) const {
    KernelPart result;
    for (const auto& stage : schedule_.stages) {
      if (stage->attach_type != AttachType::GroupRoot || !needed.contains(stage.get())) continue;
      if (!is_placeholder(*stage) && computed(stage.get())) result.stages.push_back(stage.get());
    }
    return result;
  }

  const ScheduleData& schedule_;
  StageSet known_;  // their values are when the kernel is built
  StageSet prepared_;
};

}  // namespace

Var symbol_of(const StageData& stage) {
  const te::Operation& op = stage.op;
  DomainMap domains;
  Analyzer analyzer;
  for (const IterVar& root : op->root_axes()) domains[root->var] = root->domain;
  for (const RelationRef& relation : stage.relations)
    relation->domain_down(domains, analyzer, ScheduleOptions());
  std::vector<Expr> parts = op->evaluated();
  for (int k = 0; k < op->num_outputs(); ++k) {
    const std::vector<Expr> shape = op->output_shape(k);
    parts.insert(parts.end(), shape.begin(), shape.end());
  }
  for (const IterVar& axis : stage.all_axes) {
    const Range& domain = domains.at(axis->var);
    parts.insert(parts.end(), {domain.min, domain.extent});
  }
  for (const Expr& part : parts) {
    for (const Var& v : free_vars(part)) {
      if (!domains.contains(v)) return v;
    }
  }
  return {};
}

ScheduleParts parts_of(const Schedule& normalized, const std::vector<te::Tensor>& bound) {
  return Split(normalized.data(), bound).run();
}

}  // namespace tw
