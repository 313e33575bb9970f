// SPDX-License-Identifier: Apache-2.0
// What passes share.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "runtime/error.h"

namespace tw::graph {

// A graph attribute that has a value for each of `count` entries or nodes. BadGraph where it is of
// another kind, or of another graph.
template <class T>
const std::vector<T>& list_of(const Graph& graph, std::string_view name, size_t count) {
  const auto* list = graph.find<std::vector<T>>(name);
  if (list != nullptr && list->size() == count) return *list;
  raise({.code = ErrorCode::BadGraph,
         .what = list == nullptr
                     ? fmt::format("the graph attribute '{}' is no list of its kind", name)
                     : fmt::format("the graph attribute '{}' has {} values", name, list->size()),
         .legal = fmt::format("{} values, as the pass gives them for this graph", count)});
}

}  // namespace tw::graph
