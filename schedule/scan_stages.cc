// SPDX-License-Identifier: Apache-2.0
#include "schedule/scan_stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/expr.h"
#include "ir/print.h"
#include "ir/visit.h"
#include "schedule/index_range.h"
#include "schedule/region.h"
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

// The rows of a state that a body reads whatever it reads else.
class Rows : public Visitor {
 public:
  Rows(const te::Tensor& state, const IndexRange& range_of) : state_(state), range_of_(range_of) {}
  std::vector<std::pair<Expr, Range>> read;

 protected:
  using Visitor::on;
  void on(const Reduce& op) override {
    if (!op.condition.defined() || is_const_int(op.condition, 1)) Visitor::on(op);
  }
  void on(const Call& op) override {
    if (op.name != "if_then_else") Visitor::on(op);
  }
  void on(const ProducerLoad& op) override {
    Visitor::on(op);
    if (op.producer.get() != state_.op().get() || !op.indices[0].defined()) return;
    read.emplace_back(op.indices[0], range_of_(op.indices[0]));
  }

 private:
  const te::Tensor& state_;
  const IndexRange& range_of_;
};

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
        const IndexRange range_of(ranges, analyzer);
        Rows rows(part.tensor, range_of);
        for (const Expr& e : reader->op->evaluated()) rows.visit(e);
        for (const auto& [index, range] : rows.read) {
          if (!is_known(range) || !analyzer.can_prove(range.min + range.extent > now)) continue;
          raise({.code = ErrorCode::UninitializedRead,
                 .what = fmt::format("row {} of the state '{}' is read before '{}' has computed it",
                                     to_string(index), part.tensor.name(), scan->name()),
                 .stage = reader->name(),
                 .axis = time.name(),
                 .where = reader->where,
                 .legal = "rows of earlier steps"});
        }
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
