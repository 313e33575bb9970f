// SPDX-License-Identifier: Apache-2.0
#include "schedule/infer_bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ir/expr.h"
#include "ir/share.h"
#include "ir/visit.h"
#include "schedule/index_range.h"
#include "schedule/ragged_domain.h"
#include "schedule/region.h"
#include "schedule/scan_stages.h"
#include "schedule/schedule_data.h"
#include "schedule/te/ragged.h"
#include "schedule/validate.h"
#include "schedule/whole_blocks.h"

namespace tw {
namespace {

// Beyond that many nodes in the start of a region, a stage is computed whole instead.
constexpr int kMostParts = 2000;

// The region of one stage's output that a consumer's body reads.
class ReadRegion : public Visitor {
 public:
  // `values`: where the consumer's axes are fused. `region`: of each axis of the producer's
  // data_axes, where any of it is read.
  ReadRegion(const ScheduleData& schedule, const StageData& producer, DomainMap ranges,
             std::optional<RootValues> values, Analyzer& analyzer,
             std::vector<std::optional<Range>>& region)
      : schedule_(schedule),
        producer_(producer),
        ranges_(std::move(ranges)),
        index_range_(ranges_, analyzer),
        values_(std::move(values)),
        analyzer_(analyzer),
        region_(region) {}

 protected:
  using Visitor::on;
  void on(const ProducerLoad& op) override {
    Visitor::on(op);
    if (find_stage(schedule_, op.producer.get()) != &producer_) return;
    const std::vector<IterVar>& axes = producer_.op->axes_of(op.value_index);
    for (size_t d = 0; d < axes.size(); ++d) {
      const Range range = op.indices[d].defined() ? range_of(op.indices[d]) : Range{};
      std::optional<Range>& known = region_[number_of(axes[d])];
      known = known ? unite(*known, range, analyzer_) : range;
    }
  }
  void on(const Let& op) override {
    visit(op.value);
    ranges_[op.var] = index_range_(op.value);
    visit(op.body);
  }

 private:
  // The parts of a fused axis run together: y*w + x moves by as much as the axis does, though x may
  // run over all its domain.
  Range range_of(const Expr& index) const {
    const Range range = index_range_(index);
    if (!values_ || !has_several(index)) return range;
    const Expr value = analyzer_.simplify(substitute(index, values_->values));
    const Range together = IndexRange(values_->running, analyzer_)(value);
    if (!is_known(together)) return range;
    const auto a = as_const_int(together.extent),
               b = is_known(range) ? as_const_int(range.extent) : std::nullopt;
    return a && (!b || *a < *b) ? together : range;
  }
  size_t number_of(const IterVar& axis) const {
    const std::vector<IterVar>& all = producer_.op->data_axes();
    size_t k = 0;
    while (!all[k]->var.same_as(axis->var)) ++k;
    return k;
  }
  // Whether more than one axis moves it.
  bool has_several(const Expr& index) const {
    VarSet moving;
    for_each_expr(index, [&](const Expr& e) {
      const Variable* v = as<Variable>(e);
      const auto it = v == nullptr ? ranges_.end() : ranges_.find(Var(v));
      if (it != ranges_.end() && !is_single(it->second)) moving.insert(Var(v));
    });
    return moving.size() > 1;
  }

  const ScheduleData& schedule_;
  const StageData& producer_;
  DomainMap ranges_;
  IndexRange index_range_;
  std::optional<RootValues> values_;
  Analyzer& analyzer_;
  std::vector<std::optional<Range>>& region_;
};

class BoundInference {
 public:
  BoundInference(const ScheduleData& schedule, const ScheduleOptions& options)
      : schedule_(schedule), options_(options) {}

  DomainMap run() {
    validate(schedule_);
    // Consumers first: what they read decides the domain of a stage inside their loops.
    for (size_t k = schedule_.stages.size(); k-- > 0;) {
      const StageData& stage = *schedule_.stages[k];
      TW_CHECK(stage.attach_type != AttachType::Inline,
               "infer_bound of a schedule that is not normalised");
      if (is_placeholder(stage) || stage.attach_type == AttachType::InlinedAlready) continue;
      for (const IterVar& axis : stage.op->root_axes()) {
        if (axis->kind != IterKind::Reduction) domains_[axis->var] = axis->domain;
      }
      if (is_region(stage)) infer_region(stage);
      infer_loops(stage, false);
      // In terms of the data loops, where elements have reductions of their own lengths.
      for (const IterVar& axis : stage.op->root_axes()) {
        if (axis->kind == IterKind::Reduction) domains_[axis->var] = reduced(stage, axis);
      }
      infer_loops(stage, true);
      for (const IterVar& axis : stage.all_axes) require_countable(stage, axis);
    }
    check_states(schedule_, domains_, analyzer_);
    return std::move(domains_);
  }

 private:
  Range reduced(const StageData& stage, const IterVar& axis) {
    return te::is_ragged(*stage.op, axis) ? ragged_domain(stage, axis, domains_, analyzer_).range
                                          : domain_of_blocks(schedule_, stage, axis, analyzer_);
  }
  // The domains of the loops over data axes, or of those of the reduction; relations never mix
  // them.
  void infer_loops(const StageData& stage, bool reduction) {
    const auto is_wanted = [&](const IterVar& axis) {
      return (axis->kind == IterKind::Reduction) == reduction;
    };
    for (const RelationRef& relation : stage.relations) {
      if (is_wanted(relation->children().front()))
        relation->domain_down(domains_, analyzer_, options_);
    }
    for (const IterVar& leaf : stage.leaf_axes) {
      if (!is_wanted(leaf)) continue;
      loops_[leaf->var] = domains_.at(leaf->var);
      analyzer_.bind(leaf->var, domains_.at(leaf->var));
    }
  }

  // A product of constants that is none itself is more than the type holds.
  void require_countable(const StageData& stage, const IterVar& axis) const {
    const auto domain = domains_.find(axis->var);
    const Mul* extent = domain == domains_.end() ? nullptr : as<Mul>(domain->second.extent);
    if (extent == nullptr) return;
    const auto a = as_const_int(extent->a), b = as_const_int(extent->b);
    if (!a || !b) return;
    raise({.code = ErrorCode::BadShape,
           .what = fmt::format("{} * {} iterations are more than {} counts", *a, *b,
                               to_string(axis->var.dtype())),
           .stage = stage.name(),
           .axis = axis.name(),
           .where = stage.where,
           .legal = "no fuse of these axes, or axes of type int64"});
  }

  // Data axes of a stage inside a loop: the union of what its consumers read in one iteration.
  void infer_region(const StageData& stage) {
    const std::vector<IterVar>& axes = stage.op->data_axes();
    std::vector<std::optional<Range>> region(axes.size());
    for (const StageData* consumer : consumers_of(schedule_, stage)) {
      if (consumer->attach_type == AttachType::InlinedAlready) continue;
      // It reads nothing; but a scan of no step has what it begins with.
      if (!consumer->op->has_points() && consumer->op->parts().empty()) continue;
      ReadRegion reads(schedule_, stage, ranges_around(*consumer, stage),
                       values_where_fused(*consumer, stage), analyzer_, region);
      for (const Expr& e : consumer->op->evaluated()) reads.visit(e);
    }
    for (std::optional<Range>& range : region) {
      if (range) range = for_all_threads(stage, *range);
    }
    for (size_t d = 0; d < region.size(); ++d) {
      const IterVar& axis = axes[d];
      // Where each of several reads begins elsewhere, the expressions double from stage to stage.
      const Range read = region[d].value_or(axis->domain);
      const bool plain = !is_known(read) || !has_more_parts_than(read.min, kMostParts);
      const Range needed = plain ? of_one_extent(read, axis->domain) : axis->domain;
      const Range range = stage.op->computed(axis, needed);
      const DType type = axis->var.dtype();
      domains_[axis->var] = {cast(type, simplified(range.min)),
                             region_of_blocks(stage, axis, cast(type, simplified(range.extent)))};
    }
  }

  // A region is as large in one iteration as in the next, as its memory is: where a loop inside is
  // longer in each, it is what the longest reads.
  Range of_one_extent(const Range& read, const Range& whole) {
    const Range range = clip(read, whole);
    const auto moves = [&](const Expr& e) {
      const std::vector<Var> vars = free_vars(e);
      return te::reads_tensor(e) ||
             std::ranges::any_of(vars, [&](const Var& v) { return loops_.contains(v); });
    };
    if (is_const(range.extent) || !moves(range.extent)) return range;
    const Range counts =
        te::hull({make_zero(range.extent.dtype()), range.extent}, loops_, analyzer_);
    return is_known(counts) && !te::reads_tensor(counts.extent)
               ? clip({range.min, counts.extent}, whole)
               : whole;
  }

  // What the axes of a consumer run over while the loops around the stage stand still.
  DomainMap ranges_around(const StageData& consumer, const StageData& stage) {
    if (stage.attach_type == AttachType::Scope) {
      return root_ranges(consumer, *stage.attach_stage, stage.attach_axis, domains_, analyzer_);
    }
    DomainMap ranges;
    for (const IterVar& root : consumer.op->root_axes()) ranges[root->var] = domains_.at(root->var);
    return ranges;
  }

  // Of what the threads of a block share, the part that all of them need.
  Range for_all_threads(const StageData& stage, const Range& range) {
    const std::string_view memory = memory_of(stage.storage.scope);
    if ((memory != "shared" && memory != "warp") || !is_known(range)) return range;
    DomainMap threads;
    for (const StageData* s = &stage; s->attach_type == AttachType::Scope; s = s->attach_stage) {
      const StageData& around = *s->attach_stage;
      for (size_t k = 0; k <= leaf_position(around, s->attach_axis); ++k) {
        const IterVar& leaf = around.leaf_axes[k];
        const AxisAttributes* marks = around.attributes_of(leaf);
        if (marks == nullptr || leaf->kind == IterKind::Reduction) continue;
        const bool shares = memory == "warp" ? marks->thread == "threadIdx.x"
                                             : marks->thread.starts_with("threadIdx.") ||
                                                   marks->thread.ends_with("thread");
        if (shares) threads[leaf->var] = domains_.at(leaf->var);
      }
    }
    if (threads.empty()) return range;
    const Range start = IndexRange(threads, analyzer_)(range.min);
    if (!is_known(start)) return {};
    return {start.min, start.extent + range.extent - 1};
  }

  std::optional<RootValues> values_where_fused(const StageData& consumer,
                                               const StageData& stage) const {
    if (stage.attach_type != AttachType::Scope) return std::nullopt;
    const bool fused = std::ranges::any_of(consumer.relations, [](const RelationRef& r) {
      return dynamic_cast<const FuseRelation*>(r.get()) != nullptr;
    });
    if (!fused) return std::nullopt;
    return root_values(consumer, *stage.attach_stage, stage.attach_axis, domains_);
  }

  Expr simplified(const Expr& e) {
    return is_const(e) || is<Variable>(e) ? e : analyzer_.simplify(e);
  }

  const ScheduleData& schedule_;
  const ScheduleOptions& options_;
  DomainMap domains_;
  DomainMap loops_;  // of the leaf axes of consumers
  Analyzer analyzer_;
};

}  // namespace

DomainMap infer_bound(const Schedule& schedule, const ScheduleOptions& options) {
  return BoundInference(schedule.data(), options).run();
}

}  // namespace tw
