// SPDX-License-Identifier: Apache-2.0
#include "schedule/scan_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ir/expr.h"
#include "ir/guarded_visitor.h"
#include "ir/print.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "schedule/index_range.h"
#include "schedule/region.h"
#include "schedule/te/ragged.h"
#include "schedule/validate.h"

namespace tw {
namespace {

using Role = te::Part::Role;

StageData* stage_of_part(const ScheduleData& schedule, const te::Part& part) {
  return find_stage(schedule, part.tensor.op().get());
}

void require_only_steps(const ScheduleData& schedule, const StageData& state,
                        const StageData& scan) {
  for (const StageData* reader : consumers_of(schedule, state)) {
    if (reader->scan != nullptr) continue;
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("it reads '{}', a state of the scan '{}', and no update needs it",
                               state.name(), scan.name()),
           .stage = reader->name(),
           .where = SourceScope::current(),
           .legal = fmt::format("'{}' itself, which has the rows of all steps", scan.name())});
  }
}

void require_own_part(const ScheduleData& schedule, const StageData& part, const StageData& scan) {
  const auto refuse = [&](std::string what) {
    raise({.code = ErrorCode::BadArgument,
           .what = std::move(what),
           .stage = part.name(),
           .where = SourceScope::current(),
           .legal = fmt::format("'{}' itself, which holds the same elements, or a compute of its "
                                "own for the other reader",
                                scan.name())});
  };
  if (part.is_output) {
    refuse(fmt::format("it is stored in the scan '{}', and an output too", scan.name()));
  }
  const bool init = part.attach_type == AttachType::ScanInit;
  for (const StageData* reader : consumers_of(schedule, part)) {
    if (reader == &scan || (!init && reader->scan == &scan)) continue;
    refuse(fmt::format("it is stored in the scan '{}', and '{}' reads it", scan.name(),
                       reader->name()));
  }
}

// The stages on the ways from states, and from inputs, to updates.
void mark_steps(ScheduleData& schedule, StageData& scan, const std::vector<te::Tensor>& from) {
  std::vector<StageData*> reached, needed;
  const auto is_in = [](const std::vector<StageData*>& list, const StageData* s) {
    return std::ranges::find(list, s) != list.end();
  };
  const auto is_start = [&](const te::Tensor& t) {
    return std::ranges::find(from, t) != from.end();
  };
  for (const auto& stage : schedule.stages) {
    if (stage.get() == &scan) break;
    const bool reads = std::ranges::any_of(stage->inputs, [&](const te::Tensor& t) {
      return is_start(t) || is_in(reached, find_stage(schedule, t.op().get()));
    });
    if (reads) reached.push_back(stage.get());
  }
  for (const te::Part& part : scan.op->parts()) {
    if (part.role == Role::Update) needed.push_back(stage_of_part(schedule, part));
  }
  for (size_t k = schedule.stages.size(); k-- > 0;) {
    StageData* stage = schedule.stages[k].get();
    if (!is_in(needed, stage)) continue;
    for (const te::Tensor& t : stage->inputs) {
      StageData* source = find_stage(schedule, t.op().get());
      if (is_in(reached, source) && !is_in(needed, source)) needed.push_back(source);
    }
    // A scan inside this one has its stages already.
    if (stage->scan != nullptr) continue;
    stage->scan = &scan;
    if (stage->attach_type == AttachType::GroupRoot) attach_at_home(*stage);
  }
}

}  // namespace

StageData* holder_of(const ScheduleData& schedule, const StageData& stage) {
  for (const auto& other : schedule.stages) {
    for (const te::Part& part : other->op->parts()) {
      if (part.role != Role::State && stage_of_part(schedule, part) == &stage) return other.get();
    }
  }
  return nullptr;
}

void place_scan_stages(ScheduleData& schedule) {
  for (const auto& scan : schedule.stages) {
    const std::vector<te::Part> parts = scan->op->parts();
    if (parts.empty()) continue;
    std::vector<te::Tensor> from = scan->op->step_inputs();
    for (const te::Part& part : parts) {
      StageData* stage = stage_of_part(schedule, part);
      if (part.role == Role::State) {
        from.push_back(part.tensor);
        stage->scan = scan.get();
      } else if (part.role == Role::Init) {
        stage->attach_type = AttachType::ScanInit;
        stage->attach_stage = scan.get();
      }
    }
    mark_steps(schedule, *scan, from);
  }
  for (const auto& scan : schedule.stages) {
    for (const te::Part& part : scan->op->parts()) {
      const StageData& stage = *stage_of_part(schedule, part);
      part.role == Role::State ? require_only_steps(schedule, stage, *scan)
                               : require_own_part(schedule, stage, *scan);
    }
  }
}

void attach_at_home(StageData& stage) {
  stage.attach_type = stage.scan ? AttachType::ScanUpdate : AttachType::GroupRoot;
  stage.attach_stage = stage.scan;
  stage.attach_axis = {};
}

void attach_updates(ScheduleData& schedule) {
  for (const auto& stage : schedule.stages) {
    if (stage->attach_type != AttachType::ScanUpdate) continue;
    stage->attach_type = AttachType::Scope;
    stage->attach_axis = stage->attach_stage->leaf_axes.back();
  }
}

void validate_scans(const ScheduleData& schedule) {
  for (const auto& scan : schedule.stages) {
    for (const te::Part& part : scan->op->parts()) {
      if (part.role != Role::State) continue;
      const IterVar& step = scan->leaf_axes.back();
      for (const StageData* reader : all_consumers_of(schedule, *stage_of_part(schedule, part))) {
        if (reader->scan != scan.get() || reader->attach_type == AttachType::InlinedAlready)
          continue;
        if (runs_inside(*reader, *scan, step)) continue;
        raise({.code = ErrorCode::BadAttach,
               .what = fmt::format("it depends on the state '{}', and is not computed in each step "
                                   "of '{}'",
                                   part.tensor.name(), scan->name()),
               .stage = reader->name(),
               .axis = step.name(),
               .where = reader->where,
               .legal = "a loop of a stage that is computed in each step, or compute_root"});
      }
    }
  }
}

namespace {

// Reads of a state, of which those of rows that might not be computed yet are kept.
class Rows : public GuardedVisitor {
 public:
  // `ranges`: where the axes of the reader are in the step that computes row `now`.
  Rows(const te::Tensor& state, const te::Operation& reader, const DomainMap& ranges,
       const Expr& now, Analyzer& analyzer)
      : state_(state), now_(now), range_of_(ranges, analyzer), analyzer_(analyzer) {
    for (const IterVar& axis : reader->root_axes()) {
      const Range& range = ranges.at(axis->var);
      const bool known = is_known(range);
      if (known && is_one(range.extent)) {
        here_[axis->var] = range.min;
        continue;
      }
      if (known) analyzer_.bind(axis->var, range);
      if (axis->kind != IterKind::Reduction) regions_.insert(axis->var);
    }
  }
  struct Read {
    Expr row;
    bool is_late;  // and not only may be
  };
  std::optional<Read> doubtful;

 protected:
  using GuardedVisitor::on;
  void on(const Reduce& op) override {
    if (op.condition.defined()) visit(op.condition);
    const auto terms = [&] {
      for (const Expr& e : op.source) visit(e);
    };
    op.condition.defined() && !is_const_int(op.condition, 1) ? given(op.condition, terms) : terms();
  }
  void on(const ProducerLoad& op) override {
    GuardedVisitor::on(op);
    if (op.producer.get() != state_.op().get() || !op.indices[0].defined()) return;
    if (!doubtful || !doubtful->is_late) judge(op.indices[0]);
  }
  void visit_given(const Expr& condition, const Expr& value) override {
    given(condition, [&] { visit(value); });
  }

 private:
  template <class F>
  void given(const Expr& condition, F inside) {
    const bool outer = std::exchange(always_, false);
    const Analyzer::Scope scope = analyzer_.assume(substitute(condition, here_));
    inside();
    always_ = outer;
  }
  void judge(const Expr& index) {
    const Range range = range_of_(index);
    if (is_known(range)) {
      const Expr end = range.min + range.extent;
      if (analyzer_.can_prove(end <= cast(end.dtype(), now_))) return;
      const bool late = always_ && analyzer_.can_prove(end > cast(end.dtype(), now_));
      if (late) return keep(index, true);
    }
    // Of a region more may be computed than what is read of it in the end.
    const Expr row = substitute(index, here_);
    if (te::reads_tensor(row) || !uses_any(row, regions_)) {
      if (!is_earlier(row)) keep(index, false);
    }
  }
  bool is_earlier(const Expr& row) {
    const DType type = row.dtype();
    const Expr now = cast(type, now_);
    const auto positive = [&](const Expr& e) { return analyzer_.can_prove(e > make_zero(type)); };
    if (analyzer_.can_prove(row < now)) return true;
    if (const Max* op = as<Max>(row)) return is_earlier(op->a) && is_earlier(op->b);
    if (const Min* op = as<Min>(row)) return is_earlier(op->a) || is_earlier(op->b);
    if (const FloorMod* op = as<FloorMod>(row))
      return positive(op->b) && analyzer_.can_prove(op->b <= now);
    const FloorDiv* quotient = as<FloorDiv>(row);
    return quotient != nullptr && positive(quotient->b) &&
           analyzer_.can_prove(quotient->a < now * quotient->b);
  }
  void keep(const Expr& index, bool is_late) { doubtful = Read{index, is_late}; }

  const te::Tensor& state_;
  Expr now_;
  IndexRange range_of_;
  Analyzer& analyzer_;
  VarMap here_;         // axes of one position
  VarSet regions_;      // data axes of several
  bool always_ = true;  // whether it is read whatever the conditions are
};

// A cache that is made of fused loops has their order, in which rows of a step lie among others.
std::string legal_rows(const StageData& reader, bool is_late) {
  if (!is_late) {
    return "rows that are of earlier steps whatever is read: te.min(…, t - 1) of an index in step "
           "t";
  }
  const bool has_fused = std::ranges::any_of(reader.op->root_axes(), [](const IterVar& axis) {
    return axis->kind != IterKind::Reduction && axis.name().find(".fused") != std::string::npos;
  });
  return has_fused ? "rows of earlier steps; cache_write before loops over steps are fused"
                   : "rows of earlier steps";
}

}  // namespace

void check_states(const ScheduleData& schedule, const DomainMap& domains, Analyzer& analyzer) {
  for (const auto& scan : schedule.stages) {
    if (scan->op->parts().empty() || !scan->op->has_points()) continue;
    const IterVar& step = scan->leaf_axes.back();
    const IterVar& time = scan->op->root_axes()[0];
    const Expr now = root_ranges(*scan, *scan, step, domains, analyzer).at(time->var).min;
    for (const te::Part& part : scan->op->parts()) {
      if (part.role != Role::State) continue;
      for (const StageData* reader : consumers_of(schedule, *stage_of_part(schedule, part))) {
        if (reader->attach_type == AttachType::InlinedAlready) continue;
        const DomainMap ranges = root_ranges(*reader, *scan, step, domains, analyzer);
        Rows rows(part.tensor, reader->op, ranges, now, analyzer);
        for (const Expr& e : reader->op->evaluated()) rows.visit(e);
        if (!rows.doubtful) continue;
        const auto& [row, is_late] = *rows.doubtful;
        raise({.code = ErrorCode::UninitializedRead,
               .what = fmt::format("row {} of the state '{}' {} read before '{}' has computed it",
                                   to_string(row), part.tensor.name(), is_late ? "is" : "may be",
                                   scan->name()),
               .stage = reader->name(),
               .axis = time.name(),
               .where = reader->where,
               .legal = legal_rows(*reader, is_late)});
      }
    }
  }
}

namespace {

using Output = std::pair<const Producer*, int>;

class InPlace : public Mutator {
 public:
  std::map<Output, std::pair<te::Operation, int>> memory;

 protected:
  using Mutator::on;
  Expr on(const ProducerLoad& op, const Expr& self) override {
    const Expr read = Mutator::on(op, self);
    const auto it = memory.find({op.producer.get(), op.value_index});
    if (it == memory.end()) return read;
    return with(read, [&](ProducerLoad& r) {
      r.producer = it->second.first;
      r.value_index = it->second.second;
    });
  }
  Stmt on(const Provide& op, const Stmt& self) override { return moved(op, Mutator::on(op, self)); }
  Stmt on(const Prefetch& op, const Stmt& self) override {
    return moved(op, Mutator::on(op, self));
  }

 private:
  template <class N>
  Stmt moved(const N& op, const Stmt& store) const {
    const auto it = memory.find({op.producer.get(), op.value_index});
    if (it == memory.end()) return store;
    return with(store, [&](N& n) {
      n.producer = it->second.first;
      n.value_index = it->second.second;
    });
  }
};

}  // namespace

Stmt with_parts_in_place(const ScheduleData& schedule, const Stmt& body) {
  InPlace in_place;
  // Consumers first, so that a scan that is itself a part is known by its holder's memory.
  for (size_t k = schedule.stages.size(); k-- > 0;) {
    const te::Operation& op = schedule.stages[k]->op;
    for (const te::Part& part : op->parts())
      in_place.memory[{part.tensor.op().get(), part.tensor.value_index()}] = {op, part.output};
  }
  return in_place.memory.empty() ? body : in_place.mutate(body);
}

}  // namespace tw
