// SPDX-License-Identifier: Apache-2.0
#include "schedule/trace.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "schedule/primitive.h"

namespace tw {
namespace {

template <class T>
std::string list_text(const std::vector<T>& list) {
  std::string result = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) result += ", ";
    if constexpr (std::is_same_v<T, int64_t>) {
      result += fmt::format("{}", list[i]);
    } else if constexpr (std::is_same_v<T, std::string>) {
      result += quoted_text(list[i]);
    } else {
      result += to_text(list[i]);
    }
  }
  return result + "]";
}

std::string argument_text(const Argument& argument) {
  struct Text {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(const std::string& v) const { return quoted_text(v); }
    std::string operator()(const StageRef& v) const { return to_text(v); }
    std::string operator()(const AxisRef& v) const { return to_text(v); }
    std::string operator()(const std::vector<AxisRef>& v) const { return list_text(v); }
    std::string operator()(const std::vector<StageRef>& v) const { return list_text(v); }
    std::string operator()(const std::vector<int64_t>& v) const { return list_text(v); }
    std::string operator()(const std::vector<std::string>& v) const { return list_text(v); }
  };
  return std::visit(Text{}, argument);
}

// One line of a trace.
class LineParser {
 public:
  // `source` names the line, as in "trace:3".
  LineParser(std::string_view line, std::string_view source) : line_(line), source_(source) {}

  Step parse() {
    Step step;
    step.primitive = word("the name of a primitive");
    expect('@');
    step.version = static_cast<int>(integer());
    const Primitive* primitive = find_primitive(step.primitive);
    if (primitive == nullptr) raise_unknown_primitive(step.primitive, place());
    require_known_version(*primitive, step.version, place());
    const std::vector<Parameter>& parameters = primitive->parameters_of(step.version);
    step.arguments.resize(parameters.size());
    expect('(');
    size_t next = 0;
    for (bool first = true; !accept(')'); first = false) {
      if (!first) expect(',');
      if (size_t k = named(parameters); k < parameters.size()) {
        step.arguments[k] = argument(parameters[k].type);
        next = parameters.size();  // no argument by position after one by name
      } else {
        if (next >= parameters.size()) fail("too many arguments by position", "name=value or ')'");
        step.arguments[next] = argument(parameters[next].type);
        ++next;
      }
    }
    for (size_t k = 0; k < parameters.size(); ++k) {
      if (!parameters[k].optional && std::holds_alternative<std::monostate>(step.arguments[k])) {
        fail(fmt::format("argument '{}' of '{}' is missing", parameters[k].name, step.primitive),
             "all arguments that are not optional");
      }
    }
    skip_space();
    if (accept('#')) {
      skip_space();
      step.where = std::string(line_.substr(at_));
      at_ = line_.size();
    }
    if (at_ < line_.size()) fail("text after the step", "the end of the line");
    return upgraded(std::move(step), place());
  }

 private:
  std::string place() const { return fmt::format("{}:{}", source_, at_ + 1); }
  [[noreturn]] void fail(std::string what, std::string legal) const {
    raise({.code = ErrorCode::BadTrace,
           .what = std::move(what),
           .where = place(),
           .legal = std::move(legal)});
  }
  void skip_space() {
    while (at_ < line_.size() && std::isspace(static_cast<unsigned char>(line_[at_]))) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= line_.size() || line_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail("cannot read this", fmt::format("'{}'", c));
  }
  std::string word(std::string_view wanted) {
    skip_space();
    const size_t begin = at_;
    while (at_ < line_.size() &&
           (std::isalnum(static_cast<unsigned char>(line_[at_])) || line_[at_] == '_'))
      ++at_;
    if (at_ == begin) fail("cannot read this", std::string(wanted));
    return std::string(line_.substr(begin, at_ - begin));
  }
  // The parameter that `name=` at this place names, or the number of parameters.
  size_t named(const std::vector<Parameter>& parameters) {
    skip_space();
    size_t end = at_;
    while (end < line_.size() &&
           (std::isalnum(static_cast<unsigned char>(line_[end])) || line_[end] == '_'))
      ++end;
    if (end == at_ || end >= line_.size() || line_[end] != '=') return parameters.size();
    const std::string_view name = line_.substr(at_, end - at_);
    for (size_t k = 0; k < parameters.size(); ++k) {
      if (parameters[k].name == name) {
        at_ = end + 1;
        return k;
      }
    }
    fail(fmt::format("there is no parameter '{}'", name), "the parameters in primitives.def");
  }
  template <class T>
  T number(std::string_view wanted) {
    skip_space();
    T value{};
    const auto [end, error] =
        std::from_chars(line_.data() + at_, line_.data() + line_.size(), value);
    if (error != std::errc()) fail("cannot read this", std::string(wanted));
    at_ = static_cast<size_t>(end - line_.data());
    return value;
  }
  int64_t integer() { return number<int64_t>("an integer"); }
  int index() {
    const int value = number<int>("a number");
    if (value < 0) fail("a negative number", "0 or more");
    return value;
  }
  StageRef stage_ref() {
    skip_space();
    if (accept('s')) return {.step = -1, .index = index()};
    if (accept('t')) {
      StageRef ref;
      ref.step = index();
      expect('.');
      ref.index = index();
      return ref;
    }
    fail("cannot read this", "a stage such as s2 or t5.0");
  }
  AxisRef axis_ref() {
    const StageRef ref = stage_ref();
    if (accept(':')) return {.step = -1, .index = index(), .stage = ref};
    if (ref.step < 0) fail("a stage where an axis belongs", "an axis such as s2:1 or t7.1");
    return {.step = ref.step, .index = ref.index, .stage = {}};
  }
  std::string string() {
    expect('"');
    std::string result;
    for (;;) {
      if (at_ >= line_.size()) fail("the text has no end", "'\"'");
      char c = line_[at_++];
      if (c == '"') return result;
      if (c == '\\' && at_ < line_.size()) {
        c = line_[at_++];
        if (c == 'n') c = '\n';
      }
      result += c;
    }
  }
  template <class T, class F>
  std::vector<T> list(F element) {
    std::vector<T> result;
    expect('[');
    for (bool first = true; !accept(']'); first = false) {
      if (!first) expect(',');
      result.push_back(element());
    }
    return result;
  }
  Argument argument(ParameterType type) {
    switch (type) {
      case ParameterType::Stage:
      case ParameterType::Producer:
      case ParameterType::Place:
      case ParameterType::Group:
        return stage_ref();
      case ParameterType::Axis:
        return axis_ref();
      case ParameterType::Axes:
        return list<AxisRef>([&] { return axis_ref(); });
      case ParameterType::Stages:
        return list<StageRef>([&] { return stage_ref(); });
      case ParameterType::Int:
        return integer();
      case ParameterType::Ints:
        return list<int64_t>([&] { return integer(); });
      case ParameterType::Float:
        return number<double>("a number");
      case ParameterType::Str:
      case ParameterType::Intrin:
      case ParameterType::Condition:
      case ParameterType::Thread:
        return string();
      case ParameterType::Size:
        skip_space();
        if (at_ < line_.size() && line_[at_] == '"') return string();
        return integer();
      case ParameterType::Threads:
        return list<std::string>([&] { return string(); });
    }
    return {};
  }

  std::string_view line_;
  std::string_view source_;
  size_t at_ = 0;
};

}  // namespace

std::string to_text(const StageRef& ref) {
  return ref.step < 0 ? fmt::format("s{}", ref.index) : fmt::format("t{}.{}", ref.step, ref.index);
}

std::string to_text(const AxisRef& ref) {
  return ref.step < 0 ? fmt::format("{}:{}", to_text(ref.stage), ref.index)
                      : fmt::format("t{}.{}", ref.step, ref.index);
}

std::string to_text(const Step& step) {
  const Primitive* primitive = find_primitive(step.primitive);
  std::string result = fmt::format("{}@{}(", step.primitive, step.version);
  const std::vector<Parameter>* parameters =
      primitive && step.version >= 1 && step.version <= primitive->version
          ? &primitive->parameters_of(step.version)
          : nullptr;
  bool first = true;
  for (size_t k = 0; k < step.arguments.size(); ++k) {
    if (std::holds_alternative<std::monostate>(step.arguments[k])) continue;
    if (!first) result += ", ";
    first = false;
    if (parameters && k < parameters->size() && (*parameters)[k].optional) {
      result += fmt::format("{}=", (*parameters)[k].name);
    }
    result += argument_text(step.arguments[k]);
  }
  return result + ")";
}

std::string to_text(const Trace& trace) {
  std::string result;
  for (const Step& step : trace.steps) {
    result += to_text(step);
    if (!step.where.empty()) {
      result += "  # ";
      for (char c : step.where) result += c == '\n' ? ' ' : c;
    }
    result += '\n';
  }
  return result;
}

Trace parse_trace(std::string_view text) {
  Trace trace;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || line[first] == '#') continue;
    trace.steps.push_back(LineParser(line, fmt::format("trace:{}", number)).parse());
  }
  return trace;
}

Step parse_step(std::string_view text, std::string_view place) {
  return LineParser(text, place).parse();
}

std::string quoted_text(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    switch (c) {
      case '"':
        result += "\\\"";
        break;
      case '\\':
        result += "\\\\";
        break;
      case '\n':
        result += "\\n";
        break;
      default:
        result += c;
    }
  }
  return result + "\"";
}

uint64_t trace_hash(const Trace& trace) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  auto add = [&](std::string_view text) {
    for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  };
  for (const Step& step : trace.steps) {
    add(to_text(step));
    add("\n");
  }
  return hash;
}

}  // namespace tw
