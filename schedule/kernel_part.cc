// SPDX-License-Identifier: Apache-2.0
#include "schedule/kernel_part.h"

#include <algorithm>
#include <unordered_set>

#include "schedule/schedule_data.h"

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
  // Whether all placeholders that the stage depends on are bound.
  bool has_values(const StageData& stage, const std::vector<te::Tensor>& bound) const {
    if (is_placeholder(stage)) return std::ranges::find(bound, stage.op.output(0)) != bound.end();
    return std::ranges::all_of(stage.inputs, [&](const te::Tensor& t) {
      return known_.contains(find_stage(schedule_, t.op().get()));
    });
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

ScheduleParts parts_of(const Schedule& normalized, const std::vector<te::Tensor>& bound) {
  return Split(normalized.data(), bound).run();
}

}  // namespace tw
