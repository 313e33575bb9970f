// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/pattern_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>

#include "graph/byoc/codegens.h"
#include "graph/byoc/readers.h"
#include "graph/op.h"
#include "runtime/error.h"
#include "runtime/nearest_word.h"

namespace tw::graph {
namespace {

// Python registers tables while other threads may read some.
struct Tables {
  std::mutex mutex = {};
  std::map<std::string, PatternTable, std::less<>> by_compiler;
};
Tables& tables() {
  static auto* const value = new Tables{// Python functions may outlive our statics
                                        .by_compiler = {
#define CODEGEN(name, library, patterns, doc) {#name, patterns()},
#include "graph/byoc/codegens.def"
#undef CODEGEN
                                        }};
  return *value;
}

bool can_be_inside(const Node& node) {
  return !node.is_variable() && !node.function && node.op->mutates.empty() &&
         node.control_dependencies.empty();
}

// The first value that matched nodes read or give and whose shape or type is not known, by name.
std::string unknown_part(const Match& m, const PatternGraph& graph) {
  const auto is_known = [&](const Entry& e) {
    const Shape* shape = graph.shape(e);
    return shape != nullptr && shape->known() && graph.dtype(e);
  };
  for (uint32_t id : m.nodes) {
    const NodeRef& node = graph.index().nodes()[id];
    for (const Entry& e : node->inputs) {
      if (!is_known(e)) return e.node->name;
    }
    if (!std::ranges::all_of(entries_of(node), is_known)) return node->name;
  }
  return "";
}

}  // namespace

void register_pattern_table(PatternTable table) {
  const std::lock_guard lock(tables().mutex);
  const std::string compiler = table.compiler;
  tables().by_compiler[compiler] = std::move(table);
}

std::vector<std::string> pattern_table_names() {
  const std::lock_guard lock(tables().mutex);
  std::vector<std::string> names;
  for (const auto& [name, table] : tables().by_compiler) names.push_back(name);
  return names;
}

PatternTable find_pattern_table(std::string_view compiler) {
  {
    const std::lock_guard lock(tables().mutex);
    const auto it = tables().by_compiler.find(compiler);
    if (it != tables().by_compiler.end()) return it->second;
  }
  const std::vector<std::string> names = pattern_table_names();
  const std::vector<std::string_view> views(names.begin(), names.end());
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("there is no pattern table '{}'{}", compiler,
                             suggestion(nearest_word(compiler, views))),
         .legal = names.empty() ? "one of register_pattern_table"
                                : fmt::format("{}", fmt::join(names, ", "))});
}

PatternTable pattern_table_of(const Graph& graph) {
  const auto* compiler = graph.find<std::string>("compiler");
  if (compiler == nullptr) {
    raise({.code = ErrorCode::PassRequirement,
           .what = "the graph attribute 'compiler' is missing",
           .legal = "the name of a pattern table"});
  }
  return find_pattern_table(*compiler);
}

CompositeChoice choose_composites(const PatternTable& table, const PatternGraph& graph) {
  const GraphIndex& index = graph.index();
  const Readers readers(index);
  std::vector<size_t> order(table.patterns.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return table.patterns[a].priority > table.patterns[b].priority;
  });
  std::vector<bool> taken(index.num_nodes(), false);
  CompositeChoice choice;
  for (size_t number : order) {
    const TablePattern& row = table.patterns[number];
    for (uint32_t id = static_cast<uint32_t>(index.num_nodes()); id-- > 0;) {
      const NodeRef& node = index.nodes()[id];
      if (taken[id] || !can_be_inside(*node)) continue;
      const auto m = match(row.pattern, {node}, graph);
      if (!m || m->nodes.empty()) continue;
      const auto refuse = [&](std::string why) {
        choice.refusals.push_back({number, id, std::move(why)});
      };
      const auto other = std::ranges::find_if(
          m->nodes, [&](uint32_t n) { return taken[n] || !can_be_inside(*index.nodes()[n]); });
      if (other != m->nodes.end()) {
        refuse(fmt::format("'{}' is part of something else", index.nodes()[*other]->name));
      } else if (!readers.is_closed(m->nodes, id)) {
        refuse("a value within it is read by others");
      } else if (const std::string name = row.of_known_types ? unknown_part(*m, graph) : "";
                 !name.empty()) {
        refuse(fmt::format("the shape or type of '{}' is unknown", name));
        choice.refusals.back().is_unknown = true;
      } else if (std::string why = row.refusal ? row.refusal(*m, graph) : ""; !why.empty()) {
        refuse(std::move(why));
      } else {
        for (uint32_t n : m->nodes) taken[n] = true;
        choice.composites.push_back({number, id, m->nodes});
      }
    }
  }
  return choice;
}

CompositeChoice require_composites(const PatternTable& table, const PatternGraph& graph) {
  CompositeChoice choice = choose_composites(table, graph);
  const auto unknown = std::ranges::find_if(choice.refusals, &Refusal::is_unknown);
  if (choice.composites.empty() && unknown != choice.refusals.end()) {
    raise({.code = ErrorCode::PassRequirement,
           .what = fmt::format("{} takes nothing: {}", table.compiler, unknown->why),
           .where = fmt::format("node '{}'", graph.index().nodes()[unknown->root]->name),
           .legal = "a shape and a dtype of each input, by its variable or as an argument"});
  }
  return choice;
}

}  // namespace tw::graph
