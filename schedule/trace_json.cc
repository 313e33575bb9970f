// SPDX-License-Identifier: Apache-2.0
#include "schedule/trace_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "schedule/primitive.h"

namespace tw {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kFormat = 1;

struct ToJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(int64_t v) const { return v; }
  Json operator()(double v) const { return v; }
  Json operator()(const std::string& v) const { return v; }
  Json operator()(const std::vector<int64_t>& v) const { return v; }
  Json operator()(const std::vector<std::string>& v) const { return v; }
  Json operator()(const StageRef& v) const { return to_text(v); }
  Json operator()(const AxisRef& v) const { return to_text(v); }
  template <class T>
  Json operator()(const std::vector<T>& list) const {
    Json result = Json::array();
    for (const T& v : list) result.push_back(to_text(v));
    return result;
  }
};

[[noreturn]] void bad(std::string where, std::string what, std::string legal) {
  raise({.code = ErrorCode::BadTrace,
         .what = std::move(what),
         .where = std::move(where),
         .legal = std::move(legal)});
}

// A member that must be there; `is_right` judges its type.
const Json& member(const Json& object, const char* name, bool (Json::*is_right)() const noexcept,
                   const std::string& where, const char* legal) {
  const auto found = object.find(name);
  if (found == object.end()) bad(where, fmt::format("'{}' is missing", name), legal);
  if (!((*found).*is_right)())
    bad(fmt::format("{}.{}", where, name), "a value of another type", legal);
  return *found;
}

bool is_reference(const std::string& text) {
  return !text.empty() && (text[0] == 's' || text[0] == 't') &&
         text.find_first_not_of("st0123456789.:") == std::string::npos;
}

// The argument as it stands in the text of a trace, whose parser reads it.
std::string argument_text(const Json& value, ParameterType type, const std::string& where) {
  const auto wrong = [&]() { bad(where, "a value of another type", std::string(to_string(type))); };
  const auto reference = [&](const Json& v) {
    if (!v.is_string() || !is_reference(v.get<std::string>())) wrong();
    return v.get<std::string>();
  };
  const auto integer = [&](const Json& v) {
    const bool fits = v.is_number_integer() &&
                      (!v.is_number_unsigned() || v.get<uint64_t>() <= uint64_t{INT64_MAX});
    if (!fits) wrong();
    return fmt::format("{}", v.get<int64_t>());
  };
  const auto list = [&](const auto& element) {
    if (!value.is_array()) wrong();
    std::string text;
    for (const Json& v : value) text += (text.empty() ? "" : ", ") + element(v);
    return "[" + text + "]";
  };
  const auto text = [&](const Json& v) {
    if (!v.is_string()) wrong();
    return quoted_text(v.get<std::string>());
  };
  switch (type) {
    case ParameterType::Stage:
    case ParameterType::Producer:
    case ParameterType::Place:
    case ParameterType::Group:
    case ParameterType::Axis:
      return reference(value);
    case ParameterType::Axes:
    case ParameterType::Stages:
      return list(reference);
    case ParameterType::Int:
      return integer(value);
    case ParameterType::Ints:
      return list(integer);
    case ParameterType::Float:
      if (!value.is_number()) wrong();
      return fmt::format("{}", value.get<double>());
    case ParameterType::Size:
      return value.is_string() ? text(value) : integer(value);
    case ParameterType::Threads:
      return list(text);
    case ParameterType::Str:
    case ParameterType::Intrin:
    case ParameterType::Condition:
    case ParameterType::Thread:
      return text(value);
  }
  return {};
}

Step step_from(const Json& object, const std::string& where) {
  if (!object.is_object()) bad(where, "a step that is no object", "an object");
  for (const auto& [name, value] : object.items()) {
    if (name == "primitive" || name == "version" || name == "arguments" || name == "where")
      continue;
    bad(where, fmt::format("a step has no '{}'", name), "primitive, version, arguments, where");
  }
  const auto name = member(object, "primitive", &Json::is_string, where, "the name of a primitive")
                        .get<std::string>();
  const auto version =
      member(object, "version", &Json::is_number_integer, where, "an integer").get<int64_t>();
  const Json& given = member(object, "arguments", &Json::is_object, where, "an object");
  const Primitive* primitive = find_primitive(name);
  if (primitive == nullptr) raise_unknown_primitive(name, where);
  const int known = static_cast<int>(std::clamp<int64_t>(version, 0, INT32_MAX));
  require_known_version(*primitive, known, where);

  std::string text;
  const std::vector<Parameter>& parameters = primitive->parameters_of(known);
  for (const auto& [key, value] : given.items()) {
    const auto parameter = std::ranges::find(parameters, key, &Parameter::name);
    const std::string place = fmt::format("{}.arguments.{}", where, key);
    if (parameter == parameters.end()) {
      std::string names;
      for (const Parameter& p : parameters)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", p.name);
      bad(place, fmt::format("'{}' has no such parameter", name), names);
    }
    if (value.is_null() && parameter->optional) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", key,
                        argument_text(value, parameter->type, place));
  }
  Step step = parse_step(fmt::format("{}@{}({})", name, known, text), where);
  if (object.contains("where"))
    step.where = member(object, "where", &Json::is_string, where, "a string").get<std::string>();
  return step;
}

}  // namespace

std::string to_json(const Trace& trace) {
  Json steps = Json::array();
  for (const Step& step : trace.steps) {
    const Primitive* primitive = find_primitive(step.primitive);
    if (primitive == nullptr) raise_unknown_primitive(step.primitive, step.where);
    require_known_version(*primitive, step.version, step.where);
    const std::vector<Parameter>& parameters = primitive->parameters_of(step.version);
    Json arguments = Json::object();
    for (size_t k = 0; k < step.arguments.size(); ++k) {
      if (std::holds_alternative<std::monostate>(step.arguments[k])) continue;
      arguments[std::string(parameters[k].name)] = std::visit(ToJson(), step.arguments[k]);
    }
    Json row = {{"primitive", step.primitive}, {"version", step.version}};
    if (!step.where.empty()) row["where"] = step.where;
    row["arguments"] = std::move(arguments);
    steps.push_back(std::move(row));
  }
  // Names of files may be any bytes.
  return Json{{"trace", kFormat}, {"steps", std::move(steps)}}.dump(1, ' ', false,
                                                                    Json::error_handler_t::replace);
}

Trace trace_from_json(std::string_view text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    bad(fmt::format("byte {}", error.byte), "this is not JSON", "what as_json gives");
  }
  if (!json.is_object()) bad("", "a trace that is no object", "what as_json gives");
  const auto format = member(json, "trace", &Json::is_number_integer, "trace", "1").get<int64_t>();
  if (format != kFormat) bad("trace", fmt::format("format {} is not known here", format), "1");
  Trace trace;
  for (const Json& step : member(json, "steps", &Json::is_array, "trace", "a list of steps"))
    trace.steps.push_back(step_from(step, fmt::format("steps[{}]", trace.steps.size())));
  return trace;
}

}  // namespace tw
