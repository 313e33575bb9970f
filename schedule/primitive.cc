// SPDX-License-Identifier: Apache-2.0
#include "schedule/primitive.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/nearest_word.h"
#include "schedule/primitives/apply.h"
#include "schedule/schedule_data.h"
#include "schedule/schedule_error.h"

namespace tw {
namespace {

constexpr std::pair<std::string_view, ParameterType> kTypeNames[] = {
    {"stage", ParameterType::Stage},   {"producer", ParameterType::Producer},
    {"axis", ParameterType::Axis},     {"axes", ParameterType::Axes},
    {"stages", ParameterType::Stages}, {"int", ParameterType::Int},
    {"ints", ParameterType::Ints},     {"float", ParameterType::Float},
    {"str", ParameterType::Str},       {"intrin", ParameterType::Intrin},
    {"place", ParameterType::Place},   {"size", ParameterType::Size},
    {"thread", ParameterType::Thread}, {"threads", ParameterType::Threads},
    {"group", ParameterType::Group},   {"condition", ParameterType::Condition},
};

ParameterType type_named(std::string_view name) {
  for (const auto& [text, type] : kTypeNames) {
    if (text == name) return type;
  }
  TW_CHECK(false, name);
  return ParameterType::Int;
}

// The words of a row's text, which lives as long as the program.
std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    const size_t end = text.find(' ');
    if (end != 0) result.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return result;
}

std::vector<Parameter> parse_parameters(std::string_view text) {
  std::vector<Parameter> result;
  for (std::string_view word : words(text)) {
    const size_t colon = word.find(':');
    Parameter parameter{.name = word.substr(0, colon)};
    std::string_view type = word.substr(colon + 1);
    if (type.ends_with('?')) {
      parameter.optional = true;
      type.remove_suffix(1);
    }
    parameter.type = type_named(type);
    result.push_back(parameter);
  }
  return result;
}

Primitive row(std::string_view name, int version, std::string_view parameters,
              std::string_view results, std::string_view doc,
              StepResults (*apply)(const PrimitiveCall&)) {
  Primitive primitive{.name = name,
                      .version = version,
                      .parameters = parse_parameters(parameters),
                      .results = {},
                      .doc = doc,
                      .apply = apply};
  for (std::string_view word : words(results)) primitive.results.push_back(type_named(word));
  return primitive;
}

std::vector<Primitive> make_table() {
  std::vector<Primitive> table = {
#define PRIMITIVE(name, version, parameters, results, doc) \
  row(#name, version, parameters, results, doc, &apply_##name),
#include "schedule/primitives.def"
#undef PRIMITIVE
  };
  const auto earlier = [&](std::string_view name, EarlierVersion version) {
    const auto it = std::ranges::find(table, name, &Primitive::name);
    TW_CHECK(it != table.end(), name);
    it->earlier.push_back(std::move(version));
  };
#define EARLIER_VERSION(name, version, parameters) \
  earlier(#name, {version, parse_parameters(parameters), &upgrade_##name##_##version});
#include "schedule/primitive_versions.def"
#undef EARLIER_VERSION
  for (const Primitive& p : table) {
    TW_CHECK(static_cast<int>(p.earlier.size()) == p.version - 1, p.name);
    for (size_t k = 0; k < p.earlier.size(); ++k)
      TW_CHECK(p.earlier[k].version == static_cast<int>(k) + 1, p.name);
  }
  return table;
}

// Resolves and checks the arguments of one step.
class Binder {
 public:
  Binder(const ScheduleData& schedule, const Primitive& primitive, const Step& step)
      : schedule_(schedule), primitive_(primitive), step_(step) {}

  std::vector<BoundArgument> bind() {
    const std::vector<Parameter>& parameters = primitive_.parameters;
    if (step_.arguments.size() > parameters.size()) {
      fail({.code = ErrorCode::BadArgument,
            .what = fmt::format("'{}' takes {} arguments, {} were given", primitive_.name,
                                parameters.size(), step_.arguments.size())});
    }
    std::vector<BoundArgument> bound(parameters.size());
    for (size_t k = 0; k < parameters.size(); ++k) {
      const bool given =
          k < step_.arguments.size() && !std::holds_alternative<std::monostate>(step_.arguments[k]);
      if (given) {
        bound[k] = bind(parameters[k], step_.arguments[k]);
      } else if (!parameters[k].optional) {
        fail({.code = ErrorCode::BadArgument,
              .what = fmt::format("argument '{}' of '{}' is missing", parameters[k].name,
                                  primitive_.name)});
      }
      if (k == 0) called_on_ = stage_;
    }
    return bound;
  }

 private:
  [[noreturn]] void fail(ErrorInfo info) const {
    if (info.stage.empty() && stage_) info.stage = stage_->name();
    if (info.where.empty()) info.where = step_.where;
    raise_in(schedule_, std::move(info));
  }

  BoundArgument bind(const Parameter& parameter, const Argument& argument) {
    switch (parameter.type) {
      case ParameterType::Stage:
      case ParameterType::Producer:
      case ParameterType::Place:
        if (auto* ref = std::get_if<StageRef>(&argument)) {
          return stage(*ref, parameter.type == ParameterType::Producer,
                       parameter.type == ParameterType::Place);
        }
        break;
      case ParameterType::Axis:
        if (auto* ref = std::get_if<AxisRef>(&argument)) return leaf(*ref);
        break;
      case ParameterType::Axes:
        if (auto* refs = std::get_if<std::vector<AxisRef>>(&argument)) {
          std::vector<IterVar> result;
          for (const AxisRef& ref : *refs) result.push_back(leaf(ref));
          return result;
        }
        break;
      case ParameterType::Stages:
        if (auto* refs = std::get_if<std::vector<StageRef>>(&argument)) {
          std::vector<StageData*> result;
          for (const StageRef& ref : *refs) result.push_back(stage(ref, true));
          return result;
        }
        break;
      case ParameterType::Int:
        if (auto* v = std::get_if<int64_t>(&argument)) return *v;
        break;
      case ParameterType::Ints:
        if (auto* v = std::get_if<std::vector<int64_t>>(&argument)) return *v;
        break;
      case ParameterType::Float:
        if (auto* v = std::get_if<double>(&argument)) return *v;
        if (auto* v = std::get_if<int64_t>(&argument)) return static_cast<double>(*v);
        break;
      case ParameterType::Str:
      case ParameterType::Intrin:
      case ParameterType::Condition:
      case ParameterType::Thread:
        if (auto* v = std::get_if<std::string>(&argument)) return *v;
        break;
      case ParameterType::Size:
        if (auto* v = std::get_if<int64_t>(&argument)) return *v;
        if (auto* v = std::get_if<std::string>(&argument)) return *v;
        break;
      case ParameterType::Threads:
        if (auto* v = std::get_if<std::vector<std::string>>(&argument)) return *v;
        break;
      case ParameterType::Group:
        break;
    }
    fail({.code = ErrorCode::BadArgument,
          .what = fmt::format("argument '{}' of '{}' has the wrong type", parameter.name,
                              primitive_.name),
          .legal = std::string(to_string(parameter.type))});
  }

  StageData* stage(const StageRef& ref, bool placeholder_allowed, bool group_allowed = false) {
    StageData* result = resolve_stage(schedule_, ref, step_.where);
    if (result->is_group()) {
      if (group_allowed) return stage_ = result;
      fail({.code = ErrorCode::BadArgument,
            .what = fmt::format("'{}' of a group of stages", primitive_.name),
            .stage = result->name(),
            .legal = "compute_at or compute_root of the group, or a stage"});
    }
    // A placeholder as a later argument is the primitive's to judge.
    if (!placeholder_allowed && called_on_ == nullptr && is_placeholder(*result)) {
      fail({.code = ErrorCode::PlaceholderStage,
            .what =
                fmt::format("'{}' of a placeholder, which is computed by nobody", primitive_.name),
            .stage = result->name(),
            .legal = "a stage that computes"});
    }
    if (!placeholder_allowed || called_on_ == nullptr) stage_ = result;
    return result;
  }

  IterVar leaf(const AxisRef& ref) {
    const IterVar axis = resolve_axis(schedule_, ref, step_.where);
    TW_CHECK(stage_ != nullptr, "an axis parameter stands after a stage parameter");
    const StageData& stage = *stage_;
    if (is_leaf(stage, axis)) {
      // Of which kind the axis is depends on the stage: rfactor makes data of a reduction's loop.
      if (!is_of_call(stage, axis)) return stage.leaf_axes[leaf_position(stage, axis)];
      fail({.code = ErrorCode::NotALeafAxis,
            .what = fmt::format("the axis is no loop: '{}', which '{}' calls, computes all of it",
                                stage.op->intrin(), stage.name()),
            .axis = axis.name(),
            .legal = legal_axes(stage)});
    }
    for (size_t r = stage.relations.size(); r-- > 0;) {
      for (const IterVar& parent : stage.relations[r]->parents()) {
        if (!parent.same_as(axis)) continue;
        const int by = stage.relation_steps[r];
        const Step& consumer = schedule_.trace.steps[static_cast<size_t>(by)];
        fail({.code = ErrorCode::NotALeafAxis,
              .what = fmt::format(
                  "the axis is no longer a loop: step t{} {}{} consumed it", by, consumer.primitive,
                  consumer.where.empty() ? "" : fmt::format(" ({})", consumer.where)),
              .axis = axis.name(),
              .legal = legal_axes(stage)});
      }
    }
    fail({.code = ErrorCode::NotAnAxisOfStage,
          .what = "the axis belongs to another stage",
          .axis = axis.name(),
          .legal = legal_axes(stage)});
  }

  const ScheduleData& schedule_;
  const Primitive& primitive_;
  const Step& step_;
  StageData* stage_ = nullptr;      // whose axes come next: the nearest `stage` so far
  StageData* called_on_ = nullptr;  // the first one
};

}  // namespace

std::string_view to_string(ParameterType type) {
  for (const auto& [text, t] : kTypeNames) {
    if (t == type) return text;
  }
  return "";
}

std::span<const Primitive> primitives() {
  static const std::vector<Primitive> table = make_table();
  return table;
}

const Primitive* find_primitive(std::string_view name) {
  for (const Primitive& p : primitives()) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

void raise_unknown_primitive(std::string_view name, std::string_view where) {
  std::vector<std::string_view> names;
  for (const Primitive& p : primitives()) names.push_back(p.name);
  raise({.code = ErrorCode::UnknownPrimitive,
         .what = fmt::format("there is no primitive '{}'{}", name,
                             suggestion(nearest_word(name, names))),
         .where = std::string(where),
         .legal = fmt::format("{}", fmt::join(names, ", "))});
}

const std::vector<Parameter>& Primitive::parameters_of(int of_version) const {
  return of_version == version ? parameters
                               : earlier.at(static_cast<size_t>(of_version - 1)).parameters;
}

void require_known_version(const Primitive& primitive, int version, std::string_view where) {
  if (version >= 1 && version <= primitive.version) return;
  raise({.code = ErrorCode::PrimitiveVersion,
         .what =
             fmt::format("primitive '{}' of version {} is not known here", primitive.name, version),
         .where = std::string(where),
         .legal = fmt::format("version {} or older", primitive.version)});
}

Step upgraded(Step step, std::string_view where) {
  const Primitive* primitive = find_primitive(step.primitive);
  if (primitive == nullptr) raise_unknown_primitive(step.primitive, where);
  require_known_version(*primitive, step.version, where);
  for (; step.version < primitive->version; ++step.version) {
    const EarlierVersion& earlier = primitive->earlier[static_cast<size_t>(step.version - 1)];
    step.arguments.resize(std::max(step.arguments.size(), earlier.parameters.size()));
    step.arguments = earlier.upgrade(std::move(step.arguments));
  }
  return step;
}

int PrimitiveCall::number() const { return static_cast<int>(schedule_->trace.steps.size()); }

void PrimitiveCall::fail(ErrorInfo info) const {
  if (info.stage.empty()) info.stage = stage().name();
  if (info.where.empty()) info.where = where();
  raise_in(*schedule_, std::move(info));
}

const StepResults& apply_step(ScheduleData& schedule, Step step) {
  if (step.where.empty()) step.where = SourceScope::current();
  const std::string where = step.where;
  step = upgraded(std::move(step), where);
  const Primitive* primitive = find_primitive(step.primitive);
  step.arguments.resize(std::max(step.arguments.size(), primitive->parameters.size()));
  const PrimitiveCall call(schedule, *primitive, step, Binder(schedule, *primitive, step).bind());
  StepResults results = primitive->apply(call);
  TW_CHECK(results.size() == primitive->results.size(), primitive->name);

  const int number = call.number();
  for (size_t r = 0; r < results.size(); ++r) {
    const int index = static_cast<int>(r);
    if (results[r].stage) {
      results[r].stage->ref = {.step = number, .index = index};
    } else {
      // An axis that a step only passed on keeps the reference it has.
      schedule.axis_refs.try_emplace(results[r].axis->var,
                                     AxisRef{.step = number, .index = index, .stage = {}});
    }
  }
  if (!step.where.empty()) call.stage().where = step.where;
  schedule.results.push_back(std::move(results));
  schedule.trace.steps.push_back(std::move(step));
  return schedule.results.back();
}

}  // namespace tw
