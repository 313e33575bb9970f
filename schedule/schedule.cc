// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.h"

#include <fmt/format.h>

#include "schedule/primitive.h"
#include "schedule/scan_stages.h"
#include "schedule/schedule_data.h"
#include "schedule/schedule_error.h"
#include "schedule/symbols.h"
#include "schedule/te/check_bounds.h"

namespace tw {
namespace {

thread_local std::string current_source;

// A copy of `op` whose axes no other operation has: the axes of one loop nest are its own. What was
// replaced goes into `aliases`.
te::Operation with_own_axes(const te::Operation& op, VarSet& taken,
                            std::vector<std::pair<Var, IterVar>>& aliases) {
  te::AxisReplacement fresh;
  for (const IterVar& axis : op->root_axes()) {
    if (taken.insert(axis->var).second) continue;
    const IterVar own(axis->domain, Var(axis.name(), axis->var.dtype()), axis->kind);
    taken.insert(own->var);
    fresh.emplace_back(axis, own);
    aliases.emplace_back(axis->var, own);
  }
  return fresh.empty() ? op : op->with_axes(op->name, fresh);
}

// Renumbers references to steps.
struct Shift {
  int by;
  void operator()(StageRef& ref) const {
    if (ref.step >= 0) ref.step += by;
  }
  void operator()(AxisRef& ref) const {
    if (ref.step >= 0) ref.step += by;
    (*this)(ref.stage);
  }
  template <class T>
    requires std::is_same_v<T, AxisRef> || std::is_same_v<T, StageRef>
  void operator()(std::vector<T>& refs) const {
    for (T& ref : refs) (*this)(ref);
  }
  template <class T>
  void operator()(T&) const {}
};

[[noreturn]] void raise_at_step(const Error& error, size_t number, const Step& step) {
  ErrorInfo info = error.info();
  info.where = fmt::format("step t{} {}{}", number, to_text(step),
                           info.where.empty() ? "" : fmt::format(" ({})", info.where));
  if (const auto* shown = dynamic_cast<const ScheduleError*>(&error))
    throw ScheduleError(std::move(info), shown->nest());
  raise(std::move(info));
}

}  // namespace

const AxisAttributes* StageData::attributes_of(const IterVar& axis) const {
  auto it = axis_attributes.find(axis->var);
  return it == axis_attributes.end() ? nullptr : &it->second;
}

const std::string& StageData::name() const { return label; }

// ---------------------------------------------------------------------------------------------
// Stage

namespace {

IterVar nth_axis(const StageData& stage, const std::vector<IterVar>& axes, int k,
                 const char* what) {
  if (k < 0 || static_cast<size_t>(k) >= axes.size()) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("there is no {} {}", what, k),
           .stage = stage.name(),
           .where = SourceScope::current(),
           .legal = names(axes)});
  }
  return axis_of_stage(stage, axes[static_cast<size_t>(k)]);
}

void require_axes(const StageData& stage) {
  if (!is_placeholder(stage)) return;
  raise({.code = ErrorCode::PlaceholderStage,
         .what = "a placeholder has no axes",
         .stage = stage.name(),
         .where = SourceScope::current()});
}

AxisRef axis_ref(const ScheduleData& schedule, const StageData& stage, const IterVar& axis) {
  const IterVar own = axis_of_stage(stage, axis);
  if (!own.defined()) {
    raise_in(schedule, {.code = ErrorCode::NotAnAxisOfStage,
                        .what = "the axis belongs to another stage",
                        .stage = stage.name(),
                        .axis = axis.defined() ? axis.name() : "",
                        .where = SourceScope::current(),
                        .legal = legal_axes(stage)});
  }
  const std::vector<IterVar>& roots = stage.op->root_axes();
  for (size_t k = 0; k < roots.size(); ++k) {
    if (roots[k]->var.same_as(own->var)) {
      return {.step = -1, .index = static_cast<int>(k), .stage = stage.ref};
    }
  }
  auto it = schedule.axis_refs.find(own->var);
  TW_CHECK(it != schedule.axis_refs.end(), own.name());
  return it->second;
}

}  // namespace

IterVar Stage::axis(int k) const {
  require_axes(*data_);
  return nth_axis(*data_, data_->op->data_axes(), k, "axis");
}
IterVar Stage::reduce_axis(int k) const {
  require_axes(*data_);
  std::vector<IterVar> axes = data_->op->root_axes();
  std::erase_if(axes, [](const IterVar& a) { return a->kind != IterKind::Reduction; });
  return nth_axis(*data_, axes, k, "reduction axis");
}

namespace {

// Applies a primitive to a stage: turns what C++ passes into the references that a step records.
class Recorder {
 public:
  Recorder(ScheduleData* schedule, const StageData* stage, const char* primitive)
      : schedule_(*schedule), stage_(stage) {
    const Primitive* row = find_primitive(primitive);
    step_.primitive = primitive;
    step_.version = row->version;
    step_.arguments.push_back(stage->ref);
  }
  Recorder& operator()(const IterVar& axis) { return add(axis_ref(schedule_, *stage_, axis)); }
  Recorder& operator()(const std::vector<IterVar>& axes) {
    std::vector<AxisRef> refs;
    for (const IterVar& axis : axes) refs.push_back(axis_ref(schedule_, *stage_, axis));
    return add(std::move(refs));
  }
  // Axes that follow are those of this stage.
  Recorder& operator()(const Stage& stage) {
    stage_ = &stage.data();
    return add(stage.data().ref);
  }
  Recorder& operator()(const std::vector<Stage>& stages) {
    std::vector<StageRef> refs;
    for (const Stage& s : stages) refs.push_back(s.data().ref);
    return add(std::move(refs));
  }
  Recorder& operator()(int64_t value) { return add(value); }
  Recorder& operator()(const std::vector<int64_t>& values) { return add(values); }
  Recorder& operator()(const std::string& value) { return add(value); }
  Recorder& none() { return add(std::monostate()); }
  const StepResults& apply() { return apply_step(schedule_, std::move(step_)); }

 private:
  Recorder& add(Argument argument) {
    step_.arguments.push_back(std::move(argument));
    return *this;
  }
  ScheduleData& schedule_;
  const StageData* stage_;
  Step step_;
};

}  // namespace

Stage::Pair Stage::split(const IterVar& axis, int64_t factor) const {
  const StepResults& r = Recorder(schedule_, data_, "split")(axis)(factor).apply();
  return {r[0].axis, r[1].axis};
}
Stage::Pair Stage::split_nparts(const IterVar& axis, int64_t nparts) const {
  const StepResults& r = Recorder(schedule_, data_, "split")(axis).none()(nparts).apply();
  return {r[0].axis, r[1].axis};
}
Stage::Pair Stage::split_by(const IterVar& axis, const Expr& factor) const {
  const StepResults& r =
      Recorder(schedule_, data_, "split")(axis)(size_text(*schedule_, factor)).apply();
  return {r[0].axis, r[1].axis};
}
IterVar Stage::fuse(const std::vector<IterVar>& axes) const {
  return Recorder(schedule_, data_, "fuse")(axes).apply()[0].axis;
}
void Stage::reorder(const std::vector<IterVar>& axes) const {
  Recorder(schedule_, data_, "reorder")(axes).apply();
}
Stage::Tile Stage::tile(const IterVar& x, const IterVar& y, int64_t x_factor,
                        int64_t y_factor) const {
  const StepResults& r = Recorder(schedule_, data_, "tile")(x)(y)(x_factor)(y_factor).apply();
  return {r[0].axis, r[1].axis, r[2].axis, r[3].axis};
}
void Stage::vectorize(const IterVar& axis) const {
  Recorder(schedule_, data_, "vectorize")(axis).apply();
}
void Stage::parallel(const IterVar& axis) const {
  Recorder(schedule_, data_, "parallel")(axis).apply();
}
void Stage::unroll(const IterVar& axis) const {
  Recorder(schedule_, data_, "unroll")(axis).apply();
}
void Stage::bind(const IterVar& axis, const std::string& thread) const {
  Recorder(schedule_, data_, "bind")(axis)(thread).apply();
}
void Stage::pragma(const IterVar& axis, const std::string& name,
                   std::optional<int64_t> value) const {
  Recorder call(schedule_, data_, "pragma");
  call(axis)(name);
  if (value) call(*value);
  call.apply();
}
void Stage::compute_at(const Stage& consumer, const IterVar& axis) const {
  Recorder(schedule_, data_, "compute_at")(consumer)(axis).apply();
}
void Stage::compute_inline() const { Recorder(schedule_, data_, "compute_inline").apply(); }
void Stage::compute_root() const { Recorder(schedule_, data_, "compute_root").apply(); }
void Stage::precompute() const { Recorder(schedule_, data_, "precompute").apply(); }
void Stage::set_scope(const std::string& scope) const {
  Recorder(schedule_, data_, "set_scope")(scope).apply();
}
void Stage::storage_align(const IterVar& axis, int64_t factor, int64_t offset) const {
  Recorder(schedule_, data_, "storage_align")(axis)(factor)(offset).apply();
}
Stage Stage::source_of(const te::Tensor& tensor) const {
  StageData* source = find_stage(*schedule_, tensor.op().get());
  if (source == nullptr) {
    raise({.code = ErrorCode::UnknownStage,
           .what = fmt::format("tensor '{}' is not in this schedule", tensor.name()),
           .where = SourceScope::current()});
  }
  return {schedule_, source};
}
void Stage::prefetch(const te::Tensor& tensor, const IterVar& axis, int64_t offset) const {
  Recorder call(schedule_, data_, "prefetch");
  call(source_of(tensor))(axis)(offset);
  if (tensor.value_index() != 0) call(int64_t{tensor.value_index()});
  call.apply();
}
void Stage::prefetch_ahead(const te::Tensor& tensor, const IterVar& axis, const Stage& parent,
                           const IterVar& scope, int64_t group) const {
  Recorder call(schedule_, data_, "prefetch_ahead");
  call(axis)(source_of(tensor))(parent)(scope)(group);
  if (tensor.value_index() != 0) call(int64_t{tensor.value_index()});
  call.apply();
}
void Stage::tensorize(const IterVar& axis, const std::string& intrin) const {
  Recorder(schedule_, data_, "tensorize")(axis)(intrin).apply();
}
void Stage::transform_layout(const IterVar& axis, int64_t factor,
                             const std::vector<int64_t>& order) const {
  Recorder call(schedule_, data_, "transform_layout");
  call(axis)(factor);
  if (!order.empty()) call(order);
  call.apply();
}
void Stage::transform_layout(const std::vector<int64_t>& order) const {
  Recorder(schedule_, data_, "transform_layout").none().none()(order).apply();
}
void Stage::collapse_layout(const std::vector<IterVar>& axes) const {
  Recorder(schedule_, data_, "collapse_layout")(axes).apply();
}

// ---------------------------------------------------------------------------------------------
// Schedule

Schedule Schedule::create(const std::vector<te::Tensor>& outputs) {
  for (const te::Tensor& output : outputs) {
    if (!output.op()->is_placeholder()) continue;
    raise({.code = ErrorCode::PlaceholderStage,
           .what = "an output that is a placeholder is computed by nobody",
           .stage = output.name(),
           .where = SourceScope::current(),
           .legal = "outputs that are computed"});
  }
  // Of other stages no more may be computed than what is read of them: lowering judges those.
  for (const te::Tensor& output : outputs) {
    const auto doubt = te::doubtful_read(output.op());
    if (doubt && doubt->reach == te::Reach::Outside) raise(doubt->error);
  }
  if (outputs.empty()) {
    raise({.code = ErrorCode::BadArgument,
           .what = "a schedule of no output",
           .where = SourceScope::current(),
           .legal = "at least one output"});
  }
  Schedule result;
  result.data_ = std::make_shared<ScheduleData>();
  ScheduleData& data = *result.data_;
  data.outputs = outputs;
  VarSet taken;
  for (const te::Operation& op : te::operations(outputs)) {
    auto stage = std::make_unique<StageData>();
    stage->op = stage->origin_op = op;
    stage->ref = {.step = -1, .index = static_cast<int>(data.stages.size())};
    for (const te::Tensor& output : outputs) stage->is_output |= output.op().same_as(op);
    reset_axes(data, *stage, op);
    const te::Operation own = with_own_axes(op, taken, stage->aliases);
    if (!own.same_as(op)) reset_axes(data, *stage, own);
    data.program_stages.push_back(stage.get());
    data.stages.push_back(std::move(stage));
  }
  refresh_consumers(data, *data.stages.front());
  place_scan_stages(data);
  return result;
}

Stage Schedule::operator[](const te::Operation& op) const {
  StageData* stage = find_stage(*data_, op.get());
  if (stage == nullptr) {
    std::vector<StageData*> all;
    bool namesake = false;
    for (const auto& s : data_->stages) {
      all.push_back(s.get());
      namesake |= op.defined() && s->op->name == op->name;
    }
    raise({.code = ErrorCode::UnknownStage,
           .what = fmt::format("operation '{}' is not in this schedule{}",
                               op.defined() ? op->name : "none",
                               namesake ? ", but another one of that name" : ""),
           .where = SourceScope::current(),
           .legal = names(all)});
  }
  return Stage(data_.get(), stage);
}

Stage Schedule::stage(const StageRef& ref) const {
  return Stage(data_.get(), resolve_stage(*data_, ref, SourceScope::current()));
}
IterVar Schedule::axis(const AxisRef& ref) const {
  return resolve_axis(*data_, ref, SourceScope::current());
}
StageRef Schedule::ref_of(const Stage& stage) const { return stage.data().ref; }
AxisRef Schedule::ref_of(const Stage& stage, const IterVar& axis) const {
  return axis_ref(*data_, stage.data(), axis);
}

std::vector<Stage> Schedule::stages() const {
  std::vector<Stage> result;
  for (const auto& stage : data_->stages) result.emplace_back(data_.get(), stage.get());
  return result;
}
const std::vector<te::Tensor>& Schedule::outputs() const { return data_->outputs; }
const Trace& Schedule::trace() const { return data_->trace; }

te::Tensor Schedule::cache_write(const te::Tensor& tensor, const std::string& scope) const {
  return cache_write(std::vector<te::Tensor>{tensor}, scope)[0];
}

std::vector<te::Tensor> Schedule::cache_write(const std::vector<te::Tensor>& tensors,
                                              const std::string& scope) const {
  if (tensors.empty()) {
    raise({.code = ErrorCode::BadArgument,
           .what = "cache_write of no tensor",
           .where = SourceScope::current()});
  }
  const Stage stage = (*this)[tensors[0]];
  for (size_t k = 0; k < tensors.size(); ++k) {
    const bool fits = (*this)[tensors[k]].op().same_as(stage.op()) &&
                      tensors[k].value_index() == static_cast<int>(k);
    if (!fits || tensors.size() != static_cast<size_t>(stage.op()->num_outputs())) {
      raise({.code = ErrorCode::CannotCache,
             .what = "all outputs of an operation are cached together",
             .stage = stage.data().name(),
             .where = SourceScope::current(),
             .legal = fmt::format("the {} outputs of one operation, in order",
                                  stage.op()->num_outputs())});
    }
  }
  const StageData* cache =
      Recorder(data_.get(), &stage.data(), "cache_write")(scope).apply()[0].stage;
  std::vector<te::Tensor> result;
  for (int k = 0; k < cache->op->num_outputs(); ++k) result.push_back(cache->op.output(k));
  return result;
}

te::Tensor Schedule::cache_read(const te::Tensor& tensor, const std::string& scope,
                                const std::vector<te::Operation>& readers) const {
  std::vector<Stage> stages;
  for (const te::Operation& op : readers) stages.push_back((*this)[op]);
  Recorder call(data_.get(), &(*this)[tensor].data(), "cache_read");
  call(scope)(stages);
  if (tensor.value_index() != 0) call(int64_t{tensor.value_index()});
  return call.apply()[0].stage->op.output(0);
}

te::Tensor Schedule::rfactor(const te::Tensor& tensor, const IterVar& axis, int factor_axis) const {
  Recorder call(data_.get(), &(*this)[tensor].data(), "rfactor");
  call(axis);
  if (factor_axis != 0) call(int64_t{factor_axis});
  return call.apply()[0].stage->op.output(tensor.value_index());
}

void Schedule::apply(const Step& step) const {
  try {
    apply_step(*data_, step);
  } catch (const Error& error) {
    raise_at_step(error, data_->trace.steps.size(), step);
  }
}

void Schedule::apply(const Trace& trace) const {
  const int base = static_cast<int>(data_->trace.steps.size());
  for (const Step& step : trace.steps) {
    if (base == 0) {
      apply(step);
      continue;
    }
    Step shifted = step;
    for (Argument& argument : shifted.arguments) std::visit(Shift{base}, argument);
    apply(shifted);
  }
}

Schedule Schedule::copy() const {
  Schedule result;
  result.data_ = std::make_shared<ScheduleData>();
  ScheduleData& to = *result.data_;
  std::unordered_map<const StageData*, StageData*> moved;
  for (const auto& [from, into] :
       {std::pair(&data_->stages, &to.stages), std::pair(&data_->groups, &to.groups)}) {
    for (const auto& stage : *from) {
      into->push_back(std::make_unique<StageData>(*stage));
      moved[stage.get()] = into->back().get();
    }
  }
  for (const auto* stages : {&to.stages, &to.groups}) {
    for (const auto& stage : *stages) {
      if (stage->attach_stage) stage->attach_stage = moved.at(stage->attach_stage);
      if (stage->scan) stage->scan = moved.at(stage->scan);
      if (stage->group) stage->group = moved.at(stage->group);
    }
  }
  to.outputs = data_->outputs;
  for (const StageData* stage : data_->program_stages) to.program_stages.push_back(moved.at(stage));
  to.stage_of = data_->stage_of;
  for (auto& entry : to.stage_of) entry.second = moved.at(entry.second);
  to.operations_kept = data_->operations_kept;
  to.parameters = data_->parameters;
  to.trace = data_->trace;
  to.results = data_->results;
  for (StepResults& results : to.results) {
    for (StepResult& r : results) {
      if (r.stage) r.stage = moved.at(r.stage);
    }
  }
  to.axis_refs = data_->axis_refs;
  return result;
}

// ---------------------------------------------------------------------------------------------
// SourceScope

SourceScope::SourceScope(std::string where)
    : previous_(std::exchange(current_source, std::move(where))) {}
SourceScope::~SourceScope() { current_source = std::move(previous_); }
const std::string& SourceScope::current() { return current_source; }

}  // namespace tw
