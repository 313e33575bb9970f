// SPDX-License-Identifier: Apache-2.0
// The table of primitives (primitives.def), with the parameters parsed. Argument checks, replay,
// the methods of C++ and Python, and the documentation are all read from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/error.h"
#include "schedule/schedule.h"
#include "schedule/trace.h"

namespace tw {

struct ScheduleData;

enum class ParameterType : uint8_t {
  Stage,     // a stage that computes
  Place,     // such a stage, or a group of stages
  Producer,  // any stage, placeholders included
  Axis,      // a leaf axis of the stage named by the nearest stage parameter before it
  Axes,      // several such axes
  Stages,
  Int,
  Ints,
  Float,
  Str,
  Intrin,     // the name of a tensor intrinsic
  Size,       // an integer, or the text of an expression over the program's extents (symbols.h)
  Condition,  // the text of one over thread axes
  Thread,     // "threadIdx.x", or with an extent "threadIdx.x[64]"
  Threads,
  Group,  // as a result: a group of stages
};
std::string_view to_string(ParameterType type);

struct Parameter {
  std::string_view name;
  ParameterType type = ParameterType::Int;
  bool optional = false;
};

// What a step makes: a stage, or an axis of the stage it was called on.
struct StepResult {
  StageData* stage = nullptr;
  IterVar axis;
  StepResult(StageData* s) : stage(s) {}
  StepResult(IterVar a) : axis(std::move(a)) {}
};
using StepResults = std::vector<StepResult>;

class PrimitiveCall;
// How steps of an older version read, and what makes the arguments of one those of the version
// after it: as many as that one has parameters, absent ones as monostate.
struct EarlierVersion {
  int version = 1;
  std::vector<Parameter> parameters;
  std::vector<Argument> (*upgrade)(std::vector<Argument> arguments) = nullptr;
};
struct Primitive {
  std::string_view name;
  int version = 1;
  std::vector<Parameter> parameters;
  std::vector<ParameterType> results;  // Stage or Axis
  std::string_view doc;
  StepResults (*apply)(const PrimitiveCall& call) = nullptr;
  std::vector<EarlierVersion> earlier = {};  // all of them, in order

  // Those of a version that is known.
  const std::vector<Parameter>& parameters_of(int of_version) const;
};

// In the order of primitives.def.
std::span<const Primitive> primitives();
// Null when there is none of that name.
const Primitive* find_primitive(std::string_view name);
// The error for a name that is not in the table: the nearest name, and all of them.
[[noreturn]] void raise_unknown_primitive(std::string_view name, std::string_view where);

// The step in the present version of its primitive, with the same meaning. UnknownPrimitive, and
// PrimitiveVersion for a version that there never was or that is newer than this program; `where`
// goes into the error.
Step upgraded(Step step, std::string_view where);
// PrimitiveVersion unless the version is known.
void require_known_version(const Primitive& primitive, int version, std::string_view where);

// An argument with its references resolved; monostate for an optional one that was not given.
using BoundArgument = std::variant<std::monostate, int64_t, double, std::string, StageData*,
                                   IterVar, std::vector<IterVar>, std::vector<StageData*>,
                                   std::vector<int64_t>, std::vector<std::string>>;

// What apply_<name> gets: arguments that have the types of the row. It checks what only it knows,
// raising through `fail`, and only then changes the schedule, so that a failed primitive leaves
// everything as it was.
class PrimitiveCall {
 public:
  PrimitiveCall(ScheduleData& schedule, const Primitive& primitive, const Step& step,
                std::vector<BoundArgument> arguments)
      : schedule_(&schedule),
        primitive_(&primitive),
        step_(&step),
        arguments_(std::move(arguments)) {}

  ScheduleData& schedule() const { return *schedule_; }
  const Primitive& primitive() const { return *primitive_; }
  const std::string& where() const { return step_->where; }
  // Number that this step gets in the trace.
  int number() const;

  // The stage that the primitive is called on: the first argument.
  StageData& stage() const { return stage(0); }
  StageData& stage(size_t k) const { return *std::get<StageData*>(arguments_[k]); }
  const IterVar& axis(size_t k) const { return std::get<IterVar>(arguments_[k]); }
  const std::vector<IterVar>& axes(size_t k) const {
    return std::get<std::vector<IterVar>>(arguments_[k]);
  }
  const std::vector<StageData*>& stages(size_t k) const {
    return std::get<std::vector<StageData*>>(arguments_[k]);
  }
  const std::vector<int64_t>& integers(size_t k) const {
    return std::get<std::vector<int64_t>>(arguments_[k]);
  }
  const std::vector<std::string>& texts(size_t k) const {
    return std::get<std::vector<std::string>>(arguments_[k]);
  }
  bool is_text(size_t k) const { return std::holds_alternative<std::string>(arguments_[k]); }
  int64_t integer(size_t k) const { return std::get<int64_t>(arguments_[k]); }
  const std::string& text(size_t k) const { return std::get<std::string>(arguments_[k]); }
  bool given(size_t k) const { return !std::holds_alternative<std::monostate>(arguments_[k]); }

  // Raises the error, with the stage and the script line filled in.
  [[noreturn]] void fail(ErrorInfo info) const;

 private:
  ScheduleData* schedule_;
  const Primitive* primitive_;
  const Step* step_;
  std::vector<BoundArgument> arguments_;
};

// Checks `step` against the table, applies it, and appends it to the trace.
const StepResults& apply_step(ScheduleData& schedule, Step step);

}  // namespace tw
