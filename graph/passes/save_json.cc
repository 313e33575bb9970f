// SPDX-License-Identifier: Apache-2.0
// A graph as text in an attribute of another, which has no nodes: how NNVM's passes give text.
#include "graph/json.h"
#include "graph/pass.h"
#include "runtime/error.h"

namespace tw::graph {
namespace {

Graph only_attribute(std::string name, std::string text) {
  Graph result;
  result.attributes[std::move(name)] = std::move(text);
  return result;
}

}  // namespace

Graph save_json_pass(Graph graph) { return only_attribute("json", save_json(graph)); }

Graph print_pass(Graph graph) { return only_attribute("graphir", to_text(graph)); }

Graph load_json_pass(Graph graph) {
  const auto* text = graph.find<std::string>("json");
  if (text == nullptr) {
    raise({.code = ErrorCode::BadGraph,
           .what = "the graph attribute 'json' is no text",
           .legal = "text that SaveJSON made"});
  }
  return load_json(*text);
}

}  // namespace tw::graph
