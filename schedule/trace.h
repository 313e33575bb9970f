// SPDX-License-Identifier: Apache-2.0
// The trace: every primitive applied to a schedule, as data. It is the one record that scripts,
// templates, search and the log share; replay needs nothing else but the te program.
//
// Nothing in a trace is named by a display name. A stage is either the k-th operation of the
// program's canonical order ("s2") or the r-th result of a step ("t5.0"); an axis is either the
// k-th root axis of a stage's operation ("s2:1", "t5.0:1") or the r-th result of a step ("t7.1").
#pragma once

#include <cstdint>
#include <optional>
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
// step >= 0: result `index` of that step. step < 0: root axis `index` of `stage`.
struct AxisRef {
  int step = -1;
  int index = 0;
  StageRef stage;
  bool operator==(const AxisRef&) const = default;
};

// One argument. Monostate: the optional argument was not given.
using Argument = std::variant<std::monostate, int64_t, double, std::string, StageRef, AxisRef,
                              std::vector<AxisRef>, std::vector<StageRef>, std::vector<int64_t>>;

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

// One line a step: `split@1(s2:0, factor=16)`; parse_trace is the inverse (BadTrace with the line).
std::string to_text(const Trace& trace);
Trace parse_trace(std::string_view text);
uint64_t trace_hash(const Trace& trace);

}  // namespace tw
