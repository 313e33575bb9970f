// SPDX-License-Identifier: Apache-2.0
// Expressions in arguments of steps, as text: by a trace alone, whatever variables are called.
// `v0`, `v1`, … are the variables of the program's shapes, in the order in which its operations
// first use them; `p0`, `p1`, … are variables of sizes alone, in the order in which steps use them,
// with their type behind a dot unless it is int32: arguments of what is built. Thread axes have
// their tags, such as `threadIdx.x`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule_data.h"

namespace tw {

// The text of a size. What is in no shape becomes a parameter of the schedule, and BadArgument is
// raised for variables of axes.
std::string size_text(ScheduleData& schedule, const Expr& e);
// The text of a condition over variables of shapes, parameters and variables named like thread
// axes. BadArgument for any other.
std::string condition_text(const ScheduleData& schedule, const Expr& e);
// The inverse of both, raising through `call`. Thread axes that it uses are added to `threads`;
// where that is null, as for sizes, they are refused, and parameters that the schedule does not
// have yet are made.
Expr parse_symbolic(const PrimitiveCall& call, std::string_view text,
                    std::vector<ThreadVar>* threads = nullptr);

// "threadIdx.x", or "threadIdx.x[64]" of an axis with an extent.
struct ThreadTag {
  std::string tag;
  int64_t extent = 0;  // 0: that of the axis it is bound to

  bool is_block() const { return tag.starts_with("blockIdx."); }
  bool is_thread() const { return tag.starts_with("threadIdx."); }
  bool is_virtual() const { return tag == "vthread" || tag == "cthread"; }
};
// All of them: blockIdx and threadIdx (.x, .y, .z), vthread and cthread.
std::span<const std::string_view> thread_tags();
// Nothing unless it is one of these; or BadArgument.
std::optional<ThreadTag> read_thread(std::string_view text);
ThreadTag parse_thread(const PrimitiveCall& call, std::string_view text);

}  // namespace tw
