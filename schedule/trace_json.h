// SPDX-License-Identifier: Apache-2.0
// Traces as JSON, for programs that do not read their text:
//
//   {"trace": 1,
//    "steps": [{"primitive": "split", "version": 1, "where": "conv.py:12",
//               "arguments": {"stage": "s2", "parent": "s2:0", "factor": 16}}]}
//
// Arguments stand under the names of primitives.def, those that were not given are left out, and
// stages and axes are named as in the text.
#pragma once

#include <string>
#include <string_view>

#include "schedule/trace.h"

namespace tw {

std::string to_json(const Trace& trace);
// The inverse; steps of older versions are upgraded, as by parse_trace. BadTrace with the place
// ("steps[2].arguments.factor") for what is no trace; UnknownPrimitive and PrimitiveVersion for
// what this program cannot know.
Trace trace_from_json(std::string_view text);

}  // namespace tw
