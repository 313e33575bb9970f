// SPDX-License-Identifier: Apache-2.0
// A scheduled te program with data, and what is checked of it.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/equal.h"
#include "ir/interpret.h"
#include "ir/memory_shape.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "runtime/error.h"
#include "schedule/infer_bound.h"
#include "schedule/normalize.h"
#include "schedule/schedule.h"
#include "schedule/schedule_ops.h"
#include "schedule/te/evaluate.h"
#include "schedule/te/text.h"
#include "schedule/trace_json.h"
#include "tests/support/fuzz.h"
#include "tests/support/random_program.h"

namespace tw::test {

struct ScheduleCase {
  te::Program program;
  std::vector<std::pair<Var, int64_t>> scalars;
  Trace trace;
  uint64_t data_seed = 0;

  Schedule schedule() const {
    Schedule s = Schedule::create(program.outputs);
    s.apply(trace);
    return s;
  }
  std::string reproducer() const {
    std::string text = te::to_text(program) + "\n" + to_text(trace);
    for (const auto& [var, value] : scalars)
      text += var.name() + " = " + std::to_string(value) + "\n";
    return text;
  }
};

// Contents of the program's arguments: inputs filled, outputs as the definition has them.
struct CaseData {
  InterpreterScope scalars;
  std::vector<InterpreterBuffer> arguments;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<bool> is_output;
  std::vector<std::vector<double>> tolerance;  // of an argument's elements; empty: none

  // Buffers for another run: inputs filled, outputs never written.
  std::vector<InterpreterBuffer> fresh() const {
    std::vector<InterpreterBuffer> result;
    for (size_t k = 0; k < arguments.size(); ++k) {
      result.push_back(is_output[k] ? InterpreterBuffer(arguments[k].element(), arguments[k].size())
                                    : arguments[k]);
    }
    return result;
  }
  // What of `run` differs from the definition; empty when nothing does.
  std::string difference(const ScheduleCase& c, const std::vector<InterpreterBuffer>& run) const {
    for (size_t k = 0; k < arguments.size(); ++k) {
      if (!is_output[k]) continue;
      const std::string& name = c.program.arguments[k].name();
      for (int64_t i = 0; i < arguments[k].size(); ++i) {
        const std::string place = name + "[" + std::to_string(i) + "]";
        if (!run[k].written(i)) return place + " was never written";
        const Value got = run[k].at(i), expected = arguments[k].at(i);
        if (!got.type.is_float()) {
          if (got.i != expected.i)
            return place + " is " + std::to_string(got.i) + ", not " + std::to_string(expected.i);
          continue;
        }
        const double allowed = k < tolerance.size() && !tolerance[k].empty()
                                   ? tolerance[k][static_cast<size_t>(i)]
                                   : 0;
        if (got.f == expected.f || (std::isnan(got.f) && std::isnan(expected.f))) continue;
        // No bound is known where the definition divides by nothing.
        if (!std::isfinite(allowed) || std::abs(got.f - expected.f) <= allowed) continue;
        return fmt::format("{} is {}, not {} ± {}", place, got.f, expected.f, allowed);
      }
    }
    return {};
  }
};

// Small, so that sums are exact or far from the ends of their type; bytes are any.
inline Value random_element(Random& random, DType type) {
  if (type.is_float()) {
    return {.type = float_type(64), .f = static_cast<double>(random.between(-1024, 1024)) / 1024};
  }
  if (type.bits == 8) return {.type = type, .i = random.between(-128, 127)};
  return {.type = type, .i = random.between(-8, 8)};
}

inline CaseData make_data(const ScheduleCase& c) {
  CaseData data;
  for (const auto& [var, value] : c.scalars)
    data.scalars.values[var] = {.type = var.dtype(), .i = value};
  for (const te::Tensor& t : c.program.arguments) {
    std::vector<int64_t> shape;
    int64_t size = 1;
    for (const Expr& e : memory_shape(t.shape(), t.dtype())) {
      shape.push_back(evaluate(e, data.scalars).i);
      size *= shape.back();
    }
    bool output = false;
    for (const te::Tensor& o : c.program.outputs) output |= o == t;
    InterpreterBuffer buffer(t.dtype(), size);
    if (!output) {
      Random random(c.data_seed + std::hash<std::string>()(t.name()));
      for (int64_t i = 0; i < size; ++i) buffer.set(i, random_element(random, t.dtype().element()));
    }
    data.arguments.push_back(std::move(buffer));
    data.shapes.push_back(std::move(shape));
    data.is_output.push_back(output);
  }
  std::vector<InterpreterBuffer*> pointers;
  for (InterpreterBuffer& b : data.arguments) pointers.push_back(&b);
  te::evaluate(c.program, pointers, data.scalars);
  return data;
}

// ---------------------------------------------------------------------------------------------
// Checks

// Gives what is wrong, or nothing. Throwing is a failure too, but for the errors by which lowering
// refuses a schedule.
struct ScheduleCheck {
  std::string name;
  std::function<std::string(const ScheduleCase&, const CaseData&)> run;
};

inline bool is_refusal(const Error& error) {
  // A cache in the order of loops fused over steps, in which rows of other steps lie between.
  if (error.code() == ErrorCode::UninitializedRead)
    return error.info().legal.find("cache_write before") != std::string::npos;
  return error.code() == ErrorCode::BadAttach || error.code() == ErrorCode::SymbolicExtent ||
         error.code() == ErrorCode::CannotTensorize || error.code() == ErrorCode::BadArgument ||
         error.code() == ErrorCode::LoopOrder;
}

// Runs the statement that schedule_ops makes.
inline std::string check_loop_nest(const ScheduleCase& c, const CaseData& data,
                                   const ScheduleOptions& options) {
  const Schedule s = normalize(c.schedule());
  const Stmt body = schedule_ops(s, infer_bound(s, options), options);
  std::vector<Var> symbols;
  for (const auto& [var, value] : c.scalars) symbols.push_back(var);
  verify(body, {Property::WellFormed}, symbols);
  std::vector<InterpreterBuffer> buffers = data.fresh();
  InterpreterScope scope = data.scalars;
  for (size_t k = 0; k < buffers.size(); ++k) {
    const te::Tensor& t = c.program.arguments[k];
    scope.producers[{s[t].op().get(), t.value_index()}] = &buffers[k];
  }
  try {
    interpret(body, scope, {.shuffle_parallel = true, .seed = c.data_seed});
  } catch (const Error& error) {
    return std::string(error.what()) + "\n" + to_string(body);
  }
  const std::string difference = data.difference(c, buffers);
  return difference.empty() ? difference : difference + "\n" + to_string(body);
}

// A process that has the two texts only makes the same statement.
inline std::string check_replay(const ScheduleCase& c, const CaseData&) {
  const Schedule here = c.schedule();
  const Trace trace = parse_trace(to_text(here.trace()));
  if (!(trace == c.trace)) return "the trace changes when it is printed and parsed";
  if (!(trace_from_json(to_json(trace)) == trace)) return "the trace changes on its way by JSON";
  const Schedule there = Schedule::create(te::parse_program(te::to_text(c.program)).outputs);
  there.apply(trace);
  const auto statement = [](const Schedule& schedule) {
    const Schedule s = normalize(schedule);
    return schedule_ops(s, infer_bound(s));
  };
  const Stmt a = statement(here), b = statement(there);
  if (structural_hash(a) != structural_hash(b))
    return "the hash differs\n" + to_string(a) + to_string(b);
  if (to_string(a) != to_string(b)) return "the text differs\n" + to_string(a) + to_string(b);
  return {};
}

inline std::vector<ScheduleCheck> schedule_checks() {
  return {
      {"schedule_ops",
       [](const ScheduleCase& c, const CaseData& d) { return check_loop_nest(c, d, {}); }},
      {"schedule_ops, factors kept, trivial loops kept",
       [](const ScheduleCase& c, const CaseData& d) {
         return check_loop_nest(c, d, {.clamp_split_factor = false, .keep_trivial_loops = true});
       }},
      {"replay", check_replay},
  };
}

// What the checks of a case found: the first failure, or that a primitive or pass refused the case,
// which ends the checks.
struct Outcome {
  std::optional<std::string> failure;
  bool refused = false;
};

inline Outcome outcome_of(const ScheduleCase& c, const std::vector<ScheduleCheck>& checks,
                          CaseData (*make)(const ScheduleCase&) = make_data) {
  std::string name = "data";
  try {
    const CaseData data = make(c);
    for (const ScheduleCheck& check : checks) {
      name = check.name;
      const std::string wrong = check.run(c, data);
      if (!wrong.empty()) return {.failure = name + ": " + wrong};
    }
  } catch (const Error& error) {
    if (is_refusal(error)) return {.failure = {}, .refused = true};
    return {.failure = name + ": " + error.what()};
  }
  return {};
}

// The first check that fails, with what it says.
inline std::optional<std::string> failure_of(const ScheduleCase& c,
                                             const std::vector<ScheduleCheck>& checks,
                                             CaseData (*make)(const ScheduleCase&) = make_data) {
  return outcome_of(c, checks, make).failure;
}

// As failure_of, in a fuzz test, which counts the case where it was refused.
inline std::optional<std::string> failure_of(const ScheduleCase& c,
                                             const std::vector<ScheduleCheck>& checks,
                                             FuzzCases& cases,
                                             CaseData (*make)(const ScheduleCase&) = make_data) {
  const Outcome outcome = outcome_of(c, checks, make);
  if (outcome.refused) cases.refuse();
  return outcome.failure;
}

}  // namespace tw::test
