// SPDX-License-Identifier: Apache-2.0
// Passes: functions from graph to graph, by name. A pass says which graph attributes it needs and
// which it gives; the runner refuses when one is missing and, after the pass, that the graph is
// still one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace tw::graph {

struct Pass {
  std::string name;
  std::function<Graph(Graph)> function;
  std::vector<std::string> needs, gives;  // graph attributes
  std::string doc;
  bool built_in = false;  // a row of passes.def; what others give is verified
};

// The passes of passes.def and those that were registered, in that order.
std::vector<Pass> passes();
// BadArgument where the name is taken.
void register_pass(Pass pass);
// UnknownPass with the nearest name; PassRequirement where an attribute is missing that the pass
// needs, with the pass that gives it. The environment variable TILEWRIGHT_DUMP_GRAPH, a
// comma-separated list of passes or "all", says after which of them the graph goes to stderr.
Graph apply(Graph graph, std::string_view pass);

// A graph attribute that has a value for each of `count` entries or nodes. PassRequirement, with
// the pass that gives it, where it is not there; BadGraph where it is of another kind, or of
// another graph.
[[noreturn]] void raise_no_list(const Graph& graph, std::string_view attribute,
                                std::optional<size_t> found, size_t count);
template <class T>
const std::vector<T>& list_of(const Graph& graph, std::string_view attribute, size_t count) {
  const auto* list = graph.find<std::vector<T>>(attribute);
  if (list != nullptr && list->size() == count) return *list;
  raise_no_list(graph, attribute, list == nullptr ? std::nullopt : std::optional(list->size()),
                count);
}

// What every graph must be: each entry names an output that its node has, each node has the inputs
// of its operator.
// BadGraph where it is not.
void verify(const Graph& graph);

// Rows of passes.def.
#define GRAPH_PASS(name, function, needs, gives, doc) Graph function(Graph graph);
#include "graph/passes.def"
#undef GRAPH_PASS

}  // namespace tw::graph
