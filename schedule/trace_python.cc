// SPDX-License-Identifier: Apache-2.0
#include "schedule/trace_python.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "schedule/primitive.h"
#include "schedule/schedule_data.h"
#include "schedule/te/compute.h"

namespace tw {
namespace {

// Words that no variable may be called in Python, and those that the script uses itself.
constexpr std::string_view kTaken[] = {
    "False",   "None",     "True",     "and",    "as",   "assert", "async",  "await",
    "break",   "class",    "continue", "def",    "del",  "elif",   "else",   "except",
    "finally", "for",      "from",     "global", "if",   "import", "in",     "is",
    "lambda",  "nonlocal", "not",      "or",     "pass", "raise",  "return", "try",
    "while",   "with",     "yield",    "s",      "apply"};

std::string python_string(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += fmt::format("\\{}", c);
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + "\"";
}

// Follows the trace on a fresh schedule, which knows what the references mean at each step.
class Script {
 public:
  explicit Script(const Schedule& program) : schedule_(program) {
    for (std::string_view word : kTaken) taken_.emplace(word);
    for (const StageData* stage : schedule_.data().program_stages)
      stages_[stage] = name_for(stage->name());
  }

  std::string run(const Trace& trace) {
    std::string heads;
    for (const StageData* stage : schedule_.data().program_stages)
      heads += (heads.empty() ? "" : ", ") + stages_.at(stage);
    text_ = fmt::format(
        "def apply(s):\n"
        "    \"\"\"Applies {} to a fresh schedule of the program.\"\"\"\n"
        "    [{}] = s.stages\n",
        trace.steps.size() == 1 ? "one step" : fmt::format("{} steps", trace.steps.size()), heads);
    for (const Step& step : trace.steps) add(step);
    return std::move(text_);
  }

 private:
  std::string name_for(std::string_view wanted) {
    std::string name;
    for (char c : wanted) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "_" + name;
    std::string unique = name;
    for (int k = 1; !taken_.insert(unique).second; ++k) unique = fmt::format("{}_{}", name, k);
    return unique;
  }

  const std::string& stage(const StageRef& ref) const {
    return stages_.at(&schedule_.stage(ref).data());
  }
  std::string axis(const AxisRef& ref) const {
    if (ref.step >= 0) return axes_.at({ref.step, ref.index});
    const te::Operation& op = schedule_.stage(ref.stage).op();
    const auto* compute = te::as_op<te::ComputeNode>(op);
    if (compute == nullptr) return fmt::format("{}.all_iter_vars[{}]", stage(ref.stage), ref.index);
    const IterVar& root = op->root_axes()[static_cast<size_t>(ref.index)];
    const bool reduces = root->kind == IterKind::Reduction;
    const std::vector<IterVar>& axes = reduces ? compute->reduce_axis : compute->axis;
    const auto at =
        std::ranges::find(axes, root->var.get(), [](const IterVar& a) { return a->var.get(); });
    return fmt::format("{}.op.{}[{}]", stage(ref.stage), reduces ? "reduce_axis" : "axis",
                       at - axes.begin());
  }
  template <class T, class F>
  static std::string list(const std::vector<T>& values, F&& text) {
    std::string result;
    for (const T& v : values) result += (result.empty() ? "" : ", ") + text(v);
    return result;
  }

  // The first output of each.
  std::string tensors(const std::vector<StageRef>& stages) const {
    return fmt::format("[{}]", list(stages, [this](const StageRef& ref) {
                         return fmt::format("{}.op.output(0)", stage(ref));
                       }));
  }

  // `spread`: a list that the method takes as separate arguments.
  std::string argument(const Argument& a, bool spread) const {
    const auto listed = [&](const std::string& items) {
      return spread ? items : fmt::format("[{}]", items);
    };
    struct Text {
      const Script& script;
      const decltype(listed)& in_list;
      std::string operator()(std::monostate) const { return "None"; }
      std::string operator()(int64_t v) const { return fmt::format("{}", v); }
      std::string operator()(double v) const { return fmt::format("{}", v); }
      std::string operator()(const std::string& v) const { return python_string(v); }
      std::string operator()(const StageRef& v) const { return script.stage(v); }
      std::string operator()(const AxisRef& v) const { return script.axis(v); }
      std::string operator()(const std::vector<int64_t>& v) const {
        return in_list(list(v, [](int64_t i) { return fmt::format("{}", i); }));
      }
      std::string operator()(const std::vector<std::string>& v) const {
        return in_list(list(v, [](const std::string& text) { return python_string(text); }));
      }
      std::string operator()(const std::vector<AxisRef>& v) const {
        return in_list(list(v, [this](const AxisRef& r) { return script.axis(r); }));
      }
      std::string operator()(const std::vector<StageRef>& v) const {
        return in_list(list(v, [this](const StageRef& r) { return script.stage(r); }));
      }
    };
    return std::visit(Text{*this, listed}, a);
  }

  // A variable for what a step makes, and how many tensors it is.
  struct Made {
    std::string name;
    int outputs = 0;
  };
  Made named(const StepResult& result, const std::pair<int, int>& place) {
    if (result.stage == nullptr) return {axes_[place] = name_for(result.axis.name())};
    const bool is_group = result.stage->is_group();
    return {stages_[result.stage] = name_for(is_group ? "group" : result.stage->name()),
            is_group ? 0 : result.stage->op->num_outputs()};
  }

  void add(const Step& step) {
    const Primitive& primitive = *find_primitive(step.primitive);
    const bool makes_stage =
        std::ranges::find(primitive.results, ParameterType::Stage) != primitive.results.end();
    const bool makes_group =
        std::ranges::find(primitive.results, ParameterType::Group) != primitive.results.end();
    const std::string& on = stage(std::get<StageRef>(step.arguments[0]));
    std::string call = makes_stage ? fmt::format("s.{}({}.op.output(0)", primitive.name, on)
                                   : fmt::format("{}.{}(", on, primitive.name);
    // The method of the schedule finds the stage among the outputs.
    if (makes_group) call = fmt::format("s.{}(", primitive.name);
    bool first = !makes_stage;
    for (size_t k = 1; k < step.arguments.size(); ++k) {
      if (std::holds_alternative<std::monostate>(step.arguments[k])) continue;
      const Parameter& p = primitive.parameters[k];
      const bool is_list = p.type == ParameterType::Axes || p.type == ParameterType::Stages;
      const bool spread = is_list && !makes_stage && k + 1 == primitive.parameters.size();
      const auto* members =
          makes_group && is_list ? &std::get<std::vector<StageRef>>(step.arguments[k]) : nullptr;
      call +=
          fmt::format("{}{}{}", first ? "" : ", ", p.optional ? fmt::format("{}=", p.name) : "",
                      members != nullptr ? tensors(*members) : argument(step.arguments[k], spread));
      first = false;
    }
    call += ")";

    const auto number = static_cast<int>(schedule_.trace().steps.size());
    schedule_.apply(step);
    const StepResults& results = schedule_.data().results.back();
    std::string made;
    for (size_t r = 0; r < results.size(); ++r) {
      const Made result = named(results[r], {number, static_cast<int>(r)});
      // Of an operation with several outputs the method gives a list.
      if (result.outputs > 0) call = fmt::format("s[{}{}]", call, result.outputs > 1 ? "[0]" : "");
      made += (made.empty() ? "" : ", ") + result.name;
    }
    text_ += fmt::format("    {}{}{}", made, made.empty() ? "" : " = ", call);
    if (!step.where.empty()) {
      text_ += "  # ";
      for (char c : step.where) text_ += c == '\n' || c == '\r' ? ' ' : c;
    }
    text_ += "\n";
  }

  Schedule schedule_;
  std::set<std::string> taken_;
  std::unordered_map<const StageData*, std::string> stages_;
  std::map<std::pair<int, int>, std::string> axes_;
  std::string text_;
};

}  // namespace

std::vector<te::Tensor> program_outputs(const Schedule& schedule) {
  std::vector<te::Tensor> outputs;
  for (const te::Tensor& output : schedule.outputs()) {
    const StageData& stage = *find_stage(schedule.data(), output.op().get());
    outputs.push_back(stage.origin_op.output(output.value_index()));
  }
  return outputs;
}

std::string to_python(const Schedule& schedule, const Trace& trace) {
  return Script(Schedule::create(program_outputs(schedule))).run(trace);
}

}  // namespace tw
