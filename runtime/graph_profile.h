// SPDX-License-Identifier: Apache-2.0
// Where the time of a network's runs goes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/api.h"

namespace tw {

// Times in seconds, one of each repetition; starts count from the beginning of the first.
struct NodeProfile {
  std::string name, function;
  int64_t bytes_in = 0, bytes_out = 0;  // of the tensors that it reads and writes
  std::vector<double> start, seconds;
};

struct GraphProfile {
  std::vector<NodeProfile> nodes;      // those that call a function, in order
  std::vector<double> start, seconds;  // of whole runs
};

// Trace events as Perfetto (ui.perfetto.dev) and chrome://tracing open them; times in microseconds.
TW_API std::string trace_json(const GraphProfile& profile);

}  // namespace tw
