// SPDX-License-Identifier: Apache-2.0
#include "schedule/check_reads.h"

#include <algorithm>

#include "ir/expr.h"
#include "schedule/index_range.h"
#include "schedule/schedule_data.h"
#include "schedule/te/check_bounds.h"

namespace tw {
namespace {

// What the data axes of a stage inside a loop run over, in all iterations: the region, but for what
// of it lies outside the tensor, which is guarded.
class Regions {
 public:
  Regions(const ScheduleData& schedule, const DomainMap& domains) : domains_(domains) {
    for (const auto& stage : schedule.stages) {
      if (is_placeholder(*stage) || stage->attach_type == AttachType::InlinedAlready) continue;
      for (const IterVar& leaf : stage->leaf_axes) {
        analyzer_.bind(leaf->var, domains.at(leaf->var));
        loops_[leaf->var] = domains.at(leaf->var);
      }
    }
  }

  // Whether a loop that the stage stands in has no iteration.
  bool is_empty(const StageData& stage) const {
    for (const StageData* s = &stage; is_region(*s); s = s->attach_stage) {
      if (s->attach_type == AttachType::ScanInit) continue;  // none of its loops stands around
      const StageData* parent = s->attach_stage;
      for (size_t k = leaf_position(*parent, s->attach_axis) + 1; k-- > 0;) {
        if (is_const_int(domains_.at(parent->leaf_axes[k]->var).extent, 0)) return true;
      }
    }
    return false;
  }

  DomainMap of(const StageData& stage) {
    DomainMap result;
    for (const IterVar& axis : stage.op->data_axes()) {
      const Range& region = domains_.at(axis->var);
      const auto min = as_const_int(axis->domain.min), extent = as_const_int(axis->domain.extent);
      if (!is_known(region)) continue;
      if (!min || !extent) {
        // The rows that are given are not computed, however many others there are.
        const Range start = IndexRange(loops_, analyzer_)(region.min);
        if (stage.scan != nullptr && is_known(start))
          result[axis->var] = {start.min, start.extent + region.extent - 1};
        continue;
      }
      const ConstBound first = analyzer_.const_bound(region.min),
                       end = analyzer_.const_bound(analyzer_.simplify(region.min + region.extent));
      const int64_t low = std::max(first.least, *min);
      const int64_t high = std::min(end.greatest, *min + *extent);
      const DType type = axis->var.dtype();
      result[axis->var] = {make_const(type, low),
                           make_const(type, std::max<int64_t>(high - low, 0))};
    }
    return result;
  }

  // The same in terms of the loops, which says more: of axes that depend on each other, as the
  // parts of a split do.
  std::optional<te::DoubtfulRead> doubt_in_loops(const StageData& stage) const {
    DomainMap ranges = loops_;
    VarMap values;
    for (const IterVar& axis : stage.op->data_axes()) {
      const Range& region = domains_.at(axis->var);
      if (!is_known(region)) continue;
      values[axis->var] = region.min;
      if (is_one(region.extent)) continue;
      const Var offset(axis.name(), axis->var.dtype());
      ranges[offset] = {make_zero(axis->var.dtype()), region.extent};
      values[axis->var] = region.min + offset;
    }
    return te::doubtful_read(stage.op, ranges, values);
  }

 private:
  const DomainMap& domains_;
  DomainMap loops_;
  Analyzer analyzer_;
};

}  // namespace

void check_reads(const Schedule& normalized, const DomainMap& domains) {
  const ScheduleData& schedule = normalized.data();
  const bool inside = std::ranges::all_of(schedule.stages, [](const auto& stage) {
    return !stage->origin_op.defined() || !te::doubtful_read(stage->origin_op);
  });
  if (inside) return;
  Regions regions(schedule, domains);
  for (const auto& stage : schedule.stages) {
    if (is_placeholder(*stage) || stage->attach_type == AttachType::InlinedAlready) continue;
    auto doubt = te::doubtful_read(stage->op);
    if (doubt && is_region(*stage)) {
      if (regions.is_empty(*stage)) continue;
      doubt = te::doubtful_read(stage->op, regions.of(*stage));
      if (doubt && !regions.doubt_in_loops(*stage)) continue;
    }
    if (!doubt) continue;
    doubt->error.stage = stage->name();
    doubt->error.where = stage->where;
    raise(std::move(doubt->error));
  }
}

}  // namespace tw
