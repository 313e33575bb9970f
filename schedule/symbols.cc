// SPDX-License-Identifier: Apache-2.0
#include "schedule/symbols.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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

}  // namespace

std::string symbolic_text(const ScheduleData& schedule, const Expr& e) {
  const std::vector<Var> symbols = symbols_of(schedule);
  VarMap named;
  for (size_t k = 0; k < symbols.size(); ++k)
    named[symbols[k]] = Var(symbol_name(k), symbols[k].dtype());
  for (const Var& v : free_vars(e)) {
    if (named.contains(v) || is_thread_tag(v.name())) continue;
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("variable '{}' is in no shape of the program", v.name()),
           .where = SourceScope::current(),
           .legal = "variables of the program's shapes"});
  }
  return to_string(substitute(e, named));
}

Expr parse_symbolic(const PrimitiveCall& call, std::string_view text,
                    std::vector<ThreadVar>* threads) {
  ParseScope scope;
  const std::vector<Var> symbols = symbols_of(call.schedule());
  for (size_t k = 0; k < symbols.size(); ++k) scope.variables.emplace(symbol_name(k), symbols[k]);
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
