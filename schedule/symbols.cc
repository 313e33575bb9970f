// SPDX-License-Identifier: Apache-2.0
#include "schedule/symbols.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "ir/expr.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/substitute.h"

namespace tw {
namespace {

constexpr std::string_view kThreadTags[] = {"blockIdx.x",  "blockIdx.y",  "blockIdx.z",
                                            "threadIdx.x", "threadIdx.y", "threadIdx.z",
                                            "vthread",     "cthread"};

bool is_thread_tag(std::string_view name) {
  return std::find(std::begin(kThreadTags), std::end(kThreadTags), name) != std::end(kThreadTags);
}

// The variables of the shapes. Those of axes are not among them.
std::vector<Var> symbols_of(const ScheduleData& schedule) {
  std::vector<Var> symbols;
  VarSet seen;
  for (const StageData* stage : schedule.program_stages) {
    const te::Operation& op = stage->origin_op;
    for (const IterVar& axis : op->root_axes()) seen.insert(axis->var);
    for (int k = 0; k < op->num_outputs(); ++k) {
      for (const Expr& extent : op->output_shape(k)) {
        for (const Var& v : free_vars(extent)) {
          if (seen.insert(v).second) symbols.push_back(v);
        }
      }
    }
    for (const IterVar& axis : op->root_axes()) {
      for (const Var& v : free_vars(axis->domain.extent)) {
        if (seen.insert(v).second) symbols.push_back(v);
      }
    }
  }
  return symbols;
}

std::string symbol_name(size_t k) { return fmt::format("v{}", k); }

constexpr DType kParameterTypes[] = {int_type(32), int_type(64)};

std::string parameter_name(size_t k, DType type) {
  return type == int_type(32) ? fmt::format("p{}", k) : fmt::format("p{}.{}", k, to_string(type));
}

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

// Whether the name stands in the text as a whole.
bool mentions(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool begins = at == 0 || !is_of_name(text[at - 1]);
    if (begins && (end == text.size() || !is_of_name(text[end]))) return true;
  }
  return false;
}

// Those of a trace from elsewhere are made where a text first has them.
void add_parameters(ScheduleData& schedule, std::string_view text) {
  const auto next = [&](DType type) { return parameter_name(schedule.parameters.size(), type); };
  const auto has_next = [&](DType type) { return mentions(text, next(type)); };
  for (;;) {
    const auto* type = std::ranges::find_if(kParameterTypes, has_next);
    if (type == std::end(kParameterTypes)) return;
    schedule.parameters.emplace_back(next(*type), *type);
  }
}

// By the names that they have in texts.
VarMap names_of(const ScheduleData& schedule) {
  VarMap named;
  const std::vector<Var> symbols = symbols_of(schedule);
  for (size_t k = 0; k < symbols.size(); ++k)
    named[symbols[k]] = Var(symbol_name(k), symbols[k].dtype());
  for (size_t k = 0; k < schedule.parameters.size(); ++k) {
    const Var& v = schedule.parameters[k];
    named[v] = Var(parameter_name(k, v.dtype()), v.dtype());
  }
  return named;
}

bool is_of_axis(const ScheduleData& schedule, const Var& v) {
  const auto is_v = [&](const IterVar& axis) { return axis->var.same_as(v); };
  return schedule.axis_refs.contains(v) ||
         std::ranges::any_of(schedule.program_stages, [&](const StageData* stage) {
           return std::ranges::any_of(stage->origin_op->root_axes(), is_v);
         });
}

[[noreturn]] void raise_no_variable(const std::string& what, const std::string& legal) {
  raise({.code = ErrorCode::BadArgument,
         .what = what,
         .where = SourceScope::current(),
         .legal = legal});
}

}  // namespace

std::string size_text(ScheduleData& schedule, const Expr& e) {
  const VarMap named = names_of(schedule);
  for (const Var& v : free_vars(e)) {
    if (named.contains(v)) continue;
    if (is_of_axis(schedule, v) || !std::ranges::count(kParameterTypes, v.dtype())) {
      raise_no_variable(fmt::format("variable '{}', {}, in a size", v.name(),
                                    is_of_axis(schedule, v) ? "which is that of an axis"
                                                            : "of type " + to_string(v.dtype())),
                        "variables of the program's shapes, and others of type int32 or int64 "
                        "that are arguments of what is built");
    }
    schedule.parameters.push_back(v);
  }
  return to_string(substitute(e, names_of(schedule)));
}

std::string condition_text(const ScheduleData& schedule, const Expr& e) {
  const VarMap named = names_of(schedule);
  for (const Var& v : free_vars(e)) {
    if (named.contains(v) || is_thread_tag(v.name())) continue;
    raise_no_variable(fmt::format("variable '{}' in a condition of threads", v.name()),
                      "thread axes, and variables of the program's shapes");
  }
  return to_string(substitute(e, named));
}

Expr parse_symbolic(const PrimitiveCall& call, std::string_view text,
                    std::vector<ThreadVar>* threads) {
  ParseScope scope;
  const std::vector<Var> symbols = symbols_of(call.schedule());
  for (size_t k = 0; k < symbols.size(); ++k) scope.variables.emplace(symbol_name(k), symbols[k]);
  std::vector<Var>& parameters = call.schedule().parameters;
  if (threads == nullptr) add_parameters(call.schedule(), text);
  for (size_t k = 0; k < parameters.size(); ++k)
    scope.variables.emplace(parameter_name(k, parameters[k].dtype()), parameters[k]);
  std::vector<ThreadVar> known;
  for (std::string_view tag : kThreadTags) {
    if (threads == nullptr) break;
    known.push_back({std::string(tag), Var(std::string(tag), int_type(32))});
    scope.variables.emplace(known.back().tag, known.back().var);
  }
  Expr e;
  try {
    e = parse_expr(text, scope);
  } catch (const UserError& error) {
    call.fail({.code = ErrorCode::BadArgument,
               .what = fmt::format("cannot read the expression '{}': {}", text, error.info().what),
               .legal = error.info().legal});
  }
  VarSet of_program(symbols.begin(), symbols.end());
  of_program.insert(parameters.begin(), parameters.end());
  for (const Var& v : free_vars(e)) {
    const auto it = std::find_if(known.begin(), known.end(),
                                 [&](const ThreadVar& t) { return t.var.same_as(v); });
    if (it != known.end()) {
      threads->push_back(*it);
    } else if (!of_program.contains(v)) {
      call.fail({.code = ErrorCode::BadArgument,
                 .what = fmt::format("'{}' in '{}' is no variable here", v.name(), text),
                 .legal = symbols.empty() ? "a constant, as the program's shapes are constant"
                                          : fmt::format("v0 to v{}", symbols.size() - 1)});
    }
  }
  return e;
}

std::span<const std::string_view> thread_tags() { return kThreadTags; }

std::optional<ThreadTag> read_thread(std::string_view text) {
  ThreadTag result;
  const size_t open = text.find('[');
  result.tag = std::string(text.substr(0, open));
  bool good = is_thread_tag(result.tag);
  if (open != std::string_view::npos) {
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data() + open + 1, end, result.extent);
    good = good && error == std::errc() && at + 1 == end && *at == ']' && result.extent > 0;
  }
  return good ? std::optional(result) : std::nullopt;
}

ThreadTag parse_thread(const PrimitiveCall& call, std::string_view text) {
  if (auto thread = read_thread(text)) return *std::move(thread);
  call.fail({.code = ErrorCode::BadArgument,
             .what = fmt::format("'{}' is no thread axis", text),
             .legal = fmt::format("{}; an extent may follow, as in threadIdx.x[64]",
                                  fmt::join(kThreadTags, ", "))});
}

}  // namespace tw
