// SPDX-License-Identifier: Apache-2.0
// The trace: every primitive applied to a schedule, as data. It is the one record that scripts,
// templates, search and the log share; replay needs nothing else but the te program.
//
// Nothing in a trace is named by a display name. A stage is either the k-th operation of the
// program's canonical order ("s2") or the r-th result of a step ("t5.0"); an axis is either the
// k-th root axis of a stage's operation ("s2:1", "t5.0:1") or the r-th result of a step ("t7.1").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tw {

// step >= 0: result `index` of that step. step < 0: operation number `index` of the program.
struct StageRef {
  int step = -1;
  int index = 0;
  bool operator==(const StageRef&) const = default;
};
// step >= 0: result `index` of that step. step < 0: root axis `index` of `stage`, counted on the
// operation that the stage has when the reference is read.
struct AxisRef {
  int step = -1;
  int index = 0;
  StageRef stage;
  bool operator==(const AxisRef&) const = default;
};

// One argument. Monostate: the optional argument was not given.
using Argument = std::variant<std::monostate, int64_t, double, std::string, StageRef, AxisRef,
                              std::vector<AxisRef>, std::vector<StageRef>, std::vector<int64_t>,
                              std::vector<std::string>>;

// Arguments stand in the order of the primitive's parameters (schedule/primitives.def).
struct Step {
  std::string primitive;
  int version = 1;
  std::vector<Argument> arguments;
  std::string where;  // script line that asked for it; not part of equality or of the text's hash
  bool operator==(const Step& o) const {
    return primitive == o.primitive && version == o.version && arguments == o.arguments;
  }
};

struct Trace {
  std::vector<Step> steps;
  bool operator==(const Trace&) const = default;
};

// One line a step: `split@1(s2, s2:0, factor=16)  # conv.py:12`. Required arguments stand by
// position, optional ones by name; the comment is `where`.
std::string to_text(const Trace& trace);
// The same line without the comment and the line break.
std::string to_text(const Step& step);
std::string to_text(const StageRef& ref);
std::string to_text(const AxisRef& ref);
// The inverse of to_text, but that steps of older versions of their primitives become steps of the
// present ones with the same meaning. BadTrace with the line and column; UnknownPrimitive and
// PrimitiveVersion for what this program cannot know.
Trace parse_trace(std::string_view text);
// One step without a comment; errors name `place` instead of a line.
Step parse_step(std::string_view text, std::string_view place);
// A string in quotes, as it stands in the text of a trace.
std::string quoted_text(std::string_view text);
// Depends on primitives, versions and arguments only; the same on every machine.
uint64_t trace_hash(const Trace& trace);

}  // namespace tw
