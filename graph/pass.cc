// SPDX-License-Identifier: Apache-2.0
#include "graph/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "graph/byoc/function.h"
#include "graph/op.h"
#include "lower/selected_names.h"
#include "runtime/error.h"
#include "runtime/nearest_word.h"

namespace tw::graph {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) result.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

// Python registers passes while other threads may apply some.
struct Table {
  std::mutex mutex;
  std::vector<Pass> rows = {
#define GRAPH_PASS(name, function, needs, gives, doc) \
  {#name, function, words(needs), words(gives), doc, true},
#include "graph/passes.def"
#undef GRAPH_PASS
  };
};
Table& table() {
  static Table* const passes = new Table;  // Python functions may outlive our statics
  return *passes;
}

std::optional<Pass> find(std::string_view name) {
  const std::lock_guard lock(table().mutex);
  for (const Pass& pass : table().rows) {
    if (pass.name == name) return pass;
  }
  return std::nullopt;
}

[[noreturn]] void unknown(std::string_view name) {
  const std::vector<Pass> all = passes();
  std::vector<std::string_view> names;
  for (const Pass& pass : all) names.push_back(pass.name);
  raise(
      {.code = ErrorCode::UnknownPass,
       .what = fmt::format("there is no pass '{}'{}", name, suggestion(nearest_word(name, names))),
       .legal = fmt::format("{}", fmt::join(names, ", "))});
}

// How one gets a graph attribute.
std::string remedy(std::string_view attribute) {
  std::vector<std::string> givers;
  const auto contains = [&](const std::vector<std::string>& names) {
    return std::ranges::find(names, attribute) != names.end();
  };
  for (const Pass& pass : passes()) {
    if (contains(pass.gives) && !contains(pass.needs)) givers.push_back(pass.name);
  }
  return givers.empty() ? "set it first" : fmt::format("apply {} first", fmt::join(givers, " or "));
}

void require_given(const Pass& pass, const Graph& graph) {
  for (const std::string& attribute : pass.gives) {
    if (graph.attributes.contains(attribute)) continue;
    raise({.code = ErrorCode::PassRequirement,
           .what = fmt::format("{} did not give the graph attribute '{}'", pass.name, attribute),
           .legal = "what it says in its 'gives'"});
  }
}

// Shapes that a pass of a user left, or changed, must be those that follow from the inputs'.
void verify_shapes(const Pass& pass, const Graph& graph) {
  const auto* given = graph.find<std::vector<Shape>>("shape");
  if (given == nullptr) return;
  const GraphIndex index(graph);
  const auto& shapes = list_of<Shape>(graph, "shape", index.num_entries());
  Graph fresh{.outputs = graph.outputs};
  fresh.attributes["shape"] = shapes;
  try {
    infer_shape(std::move(fresh));
  } catch (const Error& error) {
    ErrorInfo info = error.info();
    info.where = fmt::format("{}{}in 'shape' as {} left it", info.where,
                             info.where.empty() ? "" : ", ", pass.name);
    raise(std::move(info));
  }
}

bool is_dumped(std::string_view pass) {
  const auto require = [](std::string_view name) {
    if (!find(name)) unknown(name);
  };
  return selected_names("TILEWRIGHT_DUMP_GRAPH", require)(pass);
}

void require_attributes(const Pass& pass, const Graph& graph) {
  for (const std::string& need : pass.needs) {
    if (graph.attributes.contains(need)) continue;
    raise({.code = ErrorCode::PassRequirement,
           .what = fmt::format("{} needs the graph attribute '{}'", pass.name, need),
           .legal = remedy(need)});
  }
}

[[noreturn]] void not_a_graph(std::string what, std::string legal, const std::string& node) {
  raise({.code = ErrorCode::BadGraph,
         .what = std::move(what),
         .where = node.empty() ? "" : fmt::format("node '{}'", node),
         .legal = std::move(legal)});
}

void verify_entry(const Entry& e, const std::string& node) {
  if (!e.node) not_a_graph("an input that is missing", "an entry", node);
  if (static_cast<int>(e.index) < e.node->num_outputs()) return;
  not_a_graph(fmt::format("output {} of '{}'", e.index, e.node->name),
              fmt::format("an output below {}", e.node->num_outputs()), node);
}

}  // namespace

std::vector<Pass> passes() {
  const std::lock_guard lock(table().mutex);
  return table().rows;
}

void register_pass(Pass pass) {
  if (find(pass.name)) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("there is a pass '{}' already", pass.name),
           .legal = "a name of its own"});
  }
  const std::lock_guard lock(table().mutex);
  table().rows.push_back(std::move(pass));
}

void raise_no_list(const Graph& graph, std::string_view attribute, std::optional<size_t> found,
                   size_t count) {
  if (!graph.attributes.contains(attribute)) {
    raise({.code = ErrorCode::PassRequirement,
           .what = fmt::format("the graph attribute '{}' is missing", attribute),
           .legal = remedy(attribute)});
  }
  raise({.code = ErrorCode::BadGraph,
         .what = found ? fmt::format("the graph attribute '{}' has {} values", attribute, *found)
                       : fmt::format("the graph attribute '{}' is no list of its kind", attribute),
         .legal = fmt::format("{} values, as the pass gives them for this graph", count)});
}

Graph apply(Graph graph, std::string_view name) {
  const auto pass = find(name);
  if (!pass) unknown(name);
  require_attributes(*pass, graph);
  Graph result = pass->function(std::move(graph));
  verify(result);
  if (!pass->built_in) {
    require_given(*pass, result);
    verify_shapes(*pass, result);
  }
  if (is_dumped(name)) fmt::print(stderr, "// after {}\n{}\n", name, to_text(result));
  return result;
}

void verify(const Graph& graph) {
  for (const Entry& e : graph.outputs) verify_entry(e, "");
  for (const NodeRef& node : nodes_of(graph.outputs)) {
    for (const Entry& e : node->inputs) verify_entry(e, node->name);
    if (node->is_variable()) continue;
    const std::string wanted = wrong_number_of_inputs(*node);
    if (!wanted.empty()) {
      not_a_graph(fmt::format("{} inputs of a {}", node->inputs.size(), node->op->name), wanted,
                  node->name);
    }
    verify_function(*node);
  }
}

}  // namespace tw::graph
