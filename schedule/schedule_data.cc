// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace tw {
namespace {

// What the step that a reference names gave; StageRef or AxisRef.
template <class R>
const StepResults& results_of(const ScheduleData& schedule, const R& ref,
                              const std::string& where) {
  if (static_cast<size_t>(ref.step) >= schedule.results.size()) {
    raise({.code = ErrorCode::BadTrace,
           .what = fmt::format("{} is a result of a step that has not run", to_text(ref)),
           .where = where,
           .legal = fmt::format("results of the {} steps so far", schedule.results.size())});
  }
  return schedule.results[static_cast<size_t>(ref.step)];
}

// The name, with a number where another stage has it: messages tell the stages apart.
std::string label_for(const ScheduleData& schedule, const std::string& name) {
  const auto taken = [&](const std::string& label) {
    return std::ranges::any_of(schedule.stages, [&](const auto& s) { return s->label == label; });
  };
  std::string label = name;
  for (int k = 1; taken(label); ++k) label = fmt::format("{}_{}", name, k);
  return label;
}

// What was said of a loop: "vectorized".
std::string mark_of(const AxisAttributes& marks) {
  if (marks.intrin.defined()) return fmt::format("computed by '{}'", marks.intrin->name);
  if (!marks.thread.empty()) return fmt::format("bound to {}", marks.thread);
  if (marks.for_kind != ForKind::Serial) return std::string(to_string(marks.for_kind));
  if (!marks.pragmas.empty()) return fmt::format("marked '{}'", marks.pragmas[0].first);
  return "marked with a prefetch";
}

}  // namespace

StageData* resolve_stage(const ScheduleData& schedule, const StageRef& ref,
                         const std::string& where) {
  const auto index = static_cast<size_t>(ref.index);
  if (ref.step < 0) {
    if (ref.index < 0 || index >= schedule.program_stages.size()) {
      raise({.code = ErrorCode::UnknownStage,
             .what = fmt::format("the program has no operation {}", to_text(ref)),
             .where = where,
             .legal = fmt::format("s0 to s{}", schedule.program_stages.size() - 1)});
    }
    return schedule.program_stages[index];
  }
  const StepResults& results = results_of(schedule, ref, where);
  if (ref.index < 0 || index >= results.size() || results[index].stage == nullptr) {
    raise({.code = ErrorCode::BadTrace,
           .what = fmt::format("{} is not a stage that step t{} makes", to_text(ref), ref.step),
           .where = where});
  }
  return results[index].stage;
}

IterVar resolve_axis(const ScheduleData& schedule, const AxisRef& ref, const std::string& where) {
  const auto index = static_cast<size_t>(ref.index);
  if (ref.step < 0) {
    const StageData& stage = *resolve_stage(schedule, ref.stage, where);
    const std::vector<IterVar>& axes = stage.op->root_axes();
    if (ref.index < 0 || index >= axes.size()) {
      raise({.code = ErrorCode::NotAnAxisOfStage,
             .what = fmt::format("there is no axis {}", to_text(ref)),
             .stage = stage.name(),
             .where = where,
             .legal = fmt::format("the axes of '{}': {}", stage.name(), names(axes))});
    }
    return axis_of_stage(stage, axes[index]);
  }
  const StepResults& results = results_of(schedule, ref, where);
  if (ref.index < 0 || index >= results.size() || !results[index].axis.defined()) {
    raise({.code = ErrorCode::BadTrace,
           .what = fmt::format("{} is not an axis that step t{} makes", to_text(ref), ref.step),
           .where = where});
  }
  return results[index].axis;
}

StageData* find_stage(const ScheduleData& schedule, const Producer* producer) {
  auto it = schedule.stage_of.find(producer);
  return it == schedule.stage_of.end() ? nullptr : it->second;
}

std::vector<StageData*> consumers_of(const ScheduleData& schedule, const StageData& stage) {
  std::vector<StageData*> result;
  for (const auto& other : schedule.stages) {
    for (const te::Tensor& input : other->inputs) {
      if (find_stage(schedule, input.op().get()) == &stage) {
        result.push_back(other.get());
        break;
      }
    }
  }
  return result;
}

std::vector<StageData*> all_consumers_of(const ScheduleData& schedule, const StageData& stage) {
  // Producers stand before consumers, so one pass finds everything downstream.
  std::unordered_set<const StageData*> reached = {&stage};
  std::vector<StageData*> result;
  for (const auto& other : schedule.stages) {
    for (const te::Tensor& input : other->inputs) {
      if (!reached.contains(find_stage(schedule, input.op().get()))) continue;
      reached.insert(other.get());
      result.push_back(other.get());
      break;
    }
  }
  return result;
}

const StageData* reader_of_memory(const ScheduleData& schedule, const StageData& stage) {
  for (const StageData* reader : consumers_of(schedule, stage)) {
    for (const Expr& e : reader->op->evaluated()) {
      const ProducerLoad* load = as<ProducerLoad>(e);
      if (load == nullptr || find_stage(schedule, load->producer.get()) != &stage) continue;
      const auto is_whole = [](const Expr& index) { return !index.defined(); };
      if (std::ranges::any_of(load->indices, is_whole)) return reader;
      // A single element is whole in any reader; that of a compute can be taken apart.
      const std::vector<Expr> origin(reader->op->output_shape(0).size(), Expr(0));
      if (load->indices.empty() && !reader->op->is_reduction() &&
          !reader->op->value_at(0, origin).defined()) {
        return reader;
      }
    }
  }
  return nullptr;
}

std::vector<StageData*> attached_to(const ScheduleData& schedule, const StageData& stage) {
  std::vector<StageData*> result;
  for (const auto* stages : {&schedule.stages, &schedule.groups}) {
    for (const auto& other : *stages) {
      if (other->attach_type == AttachType::Scope && other->attach_stage == &stage) {
        result.push_back(other.get());
      }
    }
  }
  return result;
}

bool is_placeholder(const StageData& stage) { return stage.op->is_placeholder(); }
bool is_inlined(const StageData& stage) {
  return stage.attach_type == AttachType::Inline || stage.attach_type == AttachType::InlinedAlready;
}
bool is_region(const StageData& stage) {
  return stage.attach_type == AttachType::Scope || stage.attach_type == AttachType::ScanInit;
}

void set_operation(ScheduleData& schedule, StageData& stage, te::Operation op) {
  if (stage.label.empty()) stage.label = label_for(schedule, op->name);
  for (te::Tensor& output : schedule.outputs) {
    if (output.op().same_as(stage.op)) output = op.output(output.value_index());
  }
  schedule.stage_of[op.get()] = &stage;
  schedule.operations_kept.push_back(op);
  stage.inputs = op->input_tensors();
  stage.op = std::move(op);
}

void reset_axes(ScheduleData& schedule, StageData& stage, te::Operation op) {
  set_operation(schedule, stage, std::move(op));
  stage.all_axes = stage.op->root_axes();
  stage.leaf_axes = stage.all_axes;
  std::erase_if(stage.leaf_axes, [](const IterVar& a) { return a->kind == IterKind::Opaque; });
  stage.relations.clear();
  stage.relation_steps.clear();
  stage.axis_attributes.clear();
  const std::string called = stage.op->intrin();
  stage.called = called.empty() ? TensorIntrin() : tensor_intrin(called, stage.where);
}

void refresh_consumers(ScheduleData& schedule, const StageData& first) {
  auto current = [&](const Producer* producer) {
    const StageData* stage = find_stage(schedule, producer);
    return stage && stage->op.get() != producer ? stage : nullptr;
  };
  bool after = false;
  for (const auto& stage : schedule.stages) {
    if (!std::exchange(after, after || stage.get() == &first)) continue;
    const bool stale = std::any_of(stage->inputs.begin(), stage->inputs.end(),
                                   [&](const te::Tensor& t) { return current(t.op().get()); });
    if (!stale) continue;
    set_operation(schedule, *stage, stage->op->with_reads([&](const ProducerLoad& read) -> Expr {
      const StageData* source = current(read.producer.get());
      if (source == nullptr) return {};
      ProducerLoad next = read;
      next.producer = source->op;
      return make(std::move(next));
    }));
  }
}

IterVar axis_of_stage(const StageData& stage, const IterVar& axis) {
  if (!axis.defined()) return {};
  for (const IterVar& a : stage.all_axes) {
    if (a->var.same_as(axis->var)) return a;
  }
  for (const auto& [var, stand_in] : stage.aliases) {
    if (var.same_as(axis->var)) return axis_of_stage(stage, stand_in);
  }
  return {};
}

size_t leaf_position(const StageData& stage, const IterVar& axis) {
  size_t k = 0;
  while (k < stage.leaf_axes.size() && !stage.leaf_axes[k]->var.same_as(axis->var)) ++k;
  return k;
}

bool is_leaf(const StageData& stage, const IterVar& axis) {
  return leaf_position(stage, axis) < stage.leaf_axes.size();
}

IntrinPlace intrin_of(const StageData& stage) {
  for (size_t k = 0; k < stage.leaf_axes.size(); ++k) {
    const AxisAttributes* marks = stage.attributes_of(stage.leaf_axes[k]);
    if (marks != nullptr && marks->intrin.defined()) return {marks->intrin, k};
  }
  if (!stage.called.defined()) return {};
  return {stage.called, stage.leaf_axes.size() - stage.op->intrin_axes().size()};
}

bool is_of_call(const StageData& stage, const IterVar& leaf) {
  return leaf_position(stage, leaf) + stage.op->intrin_axes().size() >= stage.leaf_axes.size();
}

const StageData* stage_of_leaf(const ScheduleData& schedule, const IterVar& axis) {
  for (const auto& stage : schedule.stages) {
    if (is_leaf(*stage, axis)) return stage.get();
  }
  return nullptr;
}

std::string line_of(const ScheduleData& schedule, const StageData& stage,
                    std::string_view primitive) {
  for (const StageData* of = &stage; of != nullptr; of = of->group) {
    for (size_t k = schedule.trace.steps.size(); k-- > 0;) {
      const Step& step = schedule.trace.steps[k];
      if (step.primitive != primitive || step.where.empty()) continue;
      const StageRef* on = std::get_if<StageRef>(&step.arguments[0]);
      if (on != nullptr && *on == of->ref) return step.where;
    }
  }
  return stage.where;
}

void add_relation(StageData& stage, RelationRef relation, int step) {
  const std::vector<IterVar> parents = relation->parents(), children = relation->children();
  // What comes from no axis is the outermost loop.
  const size_t at = parents.empty() ? 0 : leaf_position(stage, parents.front());
  TW_CHECK(at + parents.size() <= stage.leaf_axes.size());
  const auto begin = stage.leaf_axes.begin() + static_cast<std::ptrdiff_t>(at);
  stage.leaf_axes.erase(begin, begin + static_cast<std::ptrdiff_t>(parents.size()));
  stage.leaf_axes.insert(stage.leaf_axes.begin() + static_cast<std::ptrdiff_t>(at),
                         children.begin(), children.end());
  stage.all_axes.insert(stage.all_axes.end(), children.begin(), children.end());
  stage.relations.push_back(std::move(relation));
  stage.relation_steps.push_back(step);
}

void move_attached(const ScheduleData& schedule, const StageData& stage, const IterVar& from,
                   const IterVar& to) {
  for (StageData* inside : attached_to(schedule, stage)) {
    if (inside->attach_axis->var.same_as(from->var)) inside->attach_axis = to;
  }
}

void require_unmarked(const PrimitiveCall& call, const StageData& stage, const IterVar& axis) {
  const AxisAttributes* marks = stage.attributes_of(axis);
  if (marks == nullptr) return;
  const std::string line = marks->where.empty() ? "" : fmt::format(" ({})", marks->where);
  call.fail({.code = ErrorCode::BadArgument,
             .what = fmt::format("the axis is {}{}; '{}' would lose that", mark_of(*marks), line,
                                 call.primitive().name),
             .axis = axis.name(),
             .legal = fmt::format("'{}' first, then mark what it gives", call.primitive().name)});
}

std::string_view memory_of(std::string_view scope) { return scope.substr(0, scope.find(':')); }

std::string names(const std::vector<IterVar>& axes) {
  std::string result;
  for (const IterVar& axis : axes)
    result += fmt::format("{}{}", result.empty() ? "" : ", ", axis.name());
  return result.empty() ? "none" : result;
}

std::string legal_axes(const StageData& stage) {
  std::vector<IterVar> loops = stage.leaf_axes;
  loops.resize(loops.size() - stage.op->intrin_axes().size());
  return fmt::format("the leaf axes of '{}': {}", stage.name(), names(loops));
}

std::string names(const std::vector<StageData*>& stages) {
  std::string result;
  for (const StageData* s : stages)
    result += fmt::format("{}{}", result.empty() ? "" : ", ", s->name());
  return result.empty() ? "none" : result;
}

}  // namespace tw
