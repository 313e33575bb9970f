// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tw {

// How a schedule is lowered; no part of its trace.
struct ScheduleOptions {
  bool clamp_split_factor = true;   // a factor above the extent becomes the extent
  bool keep_trivial_loops = false;  // loops of extent 1 stay
  bool source_lines = false;        // stores carry their stage's script line, where known
};

}  // namespace tw
