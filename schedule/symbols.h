// SPDX-License-Identifier: Apache-2.0
// Expressions in arguments of steps, as text: by a trace alone, whatever variables are called.
// `v0`, `v1`, … are the variables of the program's shapes, in the order in which its operations
// first use them; thread axes have their tags, such as `threadIdx.x`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule_data.h"

namespace tw {

// The text of an expression over the program's variables and variables named like thread axes.
// BadArgument for any other.
std::string symbolic_text(const ScheduleData& schedule, const Expr& e);
// The inverse, raising through `call`. Thread axes that it uses are added to `threads`; where that
// is null they are refused.
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
