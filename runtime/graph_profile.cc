// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph_profile.h"

#include <nlohmann/json.hpp>

namespace tw {
namespace {

using Json = nlohmann::ordered_json;

Json event(const std::string& name, const char* category, double start, double seconds) {
  return {{"name", name}, {"cat", category},   {"ph", "X"},           {"pid", 1},
          {"tid", 1},     {"ts", start * 1e6}, {"dur", seconds * 1e6}};
}

}  // namespace

std::string trace_json(const GraphProfile& profile) {
  Json events = Json::array();
  events.push_back({{"name", "process_name"},
                    {"ph", "M"},
                    {"pid", 1},
                    {"tid", 1},
                    {"args", {{"name", "tilewright"}}}});
  for (size_t run = 0; run < profile.seconds.size(); ++run) {
    events.push_back(event("run", "run", profile.start[run], profile.seconds[run]));
    for (const NodeProfile& node : profile.nodes) {
      Json& added =
          events.emplace_back(event(node.name, "kernel", node.start[run], node.seconds[run]));
      added["args"] = {
          {"function", node.function}, {"bytes_in", node.bytes_in}, {"bytes_out", node.bytes_out}};
    }
  }
  const Json trace = {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  // Names may be any bytes.
  return trace.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tw
