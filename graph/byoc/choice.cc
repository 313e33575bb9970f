// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/byoc/annotation.h"
#include "graph/byoc/function.h"
#include "graph/byoc/pattern_table.h"
#include "graph/byoc/readers.h"
#include "graph/byoc/region.h"
#include "graph/dtypes.h"
#include "graph/pass.h"
#include "graph/rewrite.h"
#include "runtime/checksum.h"
#include "runtime/codegen_library.h"
#include "runtime/error.h"
#include "runtime/region_json.h"

namespace tw::graph {
namespace {

bool is_composite(const Node& node) {
  return node.function != nullptr && !text_of(node, "Composite").empty();
}

// A composite that is to be inlined is a function of no pattern and no compiler.
NodeRef without_pattern(Node composite) {
  composite.attributes = {};
  return make_node(std::move(composite));
}
bool is_plain(const Node& call) {
  return text_of(call, "Composite").empty() && text_of(call, "Compiler").empty();
}

// Composites by the number of the region that MergeCompilerRegions would put them in.
std::map<int64_t, Part> regions_of(const GraphIndex& index) {
  Annotations each;
  for (uint32_t id = 0; id < index.num_nodes(); ++id) {
    const bool inside = is_composite(*index.nodes()[id]);
    each.region_of.push_back(inside ? static_cast<int64_t>(each.regions.size()) : kNoRegion);
    if (inside) each.regions.push_back({.compiler = "", .nodes = {id}});
  }
  const MergedRegions merged = merge_regions(index, each);
  std::map<int64_t, Part> regions;
  for (uint32_t id = 0; id < index.num_nodes(); ++id) {
    if (merged.region_of[id] != kNoRegion) regions[merged.region_of[id]].push_back(id);
  }
  return regions;
}

std::vector<Part> cut(const GraphIndex& index, const Part& region) {
  std::map<size_t, size_t> last_reader;  // of each entry that is read in the region: a position
  for (size_t at = 0; at < region.size(); ++at) {
    for (const Entry& e : index.nodes()[region[at]]->inputs) last_reader[index.entry_id(e)] = at;
  }
  std::vector<Part> pieces(1);
  std::vector<size_t> ends(region.size(), 0);  // how many values are read there for the last time
  size_t alive = 0;
  for (size_t at = 0; at < region.size(); ++at) {
    pieces.back().push_back(region[at]);
    alive -= ends[at];
    const Node& node = *index.nodes()[region[at]];
    for (uint32_t k = 0; k < static_cast<uint32_t>(node.num_outputs()); ++k) {
      const auto last = last_reader.find(index.entry_id(region[at], k));
      if (last == last_reader.end()) continue;
      ++alive;
      ++ends[last->second];
    }
    if (alive <= 1 && at + 1 < region.size()) pieces.emplace_back();
  }
  return pieces;
}

}  // namespace

std::vector<std::vector<Part>> pieces_of(const Graph& merged) {
  const GraphIndex index(merged);
  std::vector<std::vector<Part>> result;
  for (const auto& [number, region] : regions_of(index)) result.push_back(cut(index, region));
  std::ranges::sort(result, {}, [](const std::vector<Part>& pieces) { return pieces[0][0]; });
  return result;
}

Graph keep_composites(const Graph& merged, const std::set<uint32_t>& kept) {
  const Graph marked = rewrite(merged, [&](size_t id, const NodeRef& node) -> Replacement {
    if (!is_composite(*node) || kept.contains(static_cast<uint32_t>(id))) return std::nullopt;
    return entries_of(without_pattern(*node));
  });
  return inline_functions(marked, is_plain);
}

Graph graph_of_part(const Graph& merged, std::span<const uint32_t> part,
                    const std::set<uint32_t>& kept) {
  const GraphIndex index(merged);
  const auto& shapes = list_of<Shape>(merged, "shape", index.num_entries());
  const auto& types = list_of<int64_t>(merged, "dtype", index.num_entries());
  const PatternGraph facts(merged);
  std::map<size_t, Entry> entries;  // of the new graph, by those of the old one
  int inputs = 0;
  const auto enter = [&](const Entry& e) {
    const size_t id = index.entry_id(e);
    const auto known = entries.find(id);
    if (known != entries.end()) return known->second;
    if (facts.is_constant(*e.node)) return entries[id] = e;
    Attributes said;
    said.set("shape", to_string(shapes[id]));
    if (const auto type = type_of_number(static_cast<int>(types[id])))
      said.set("dtype", to_string(*type));
    return entries[id] = {make_variable(fmt::format("part_input{}", inputs++), said)};
  };
  for (uint32_t id : part) {
    Node next = *index.nodes()[id];
    for (Entry& e : next.inputs) e = enter(e);
    const bool stays = kept.contains(id) || !is_composite(next);
    const NodeRef made = stays ? make_node(std::move(next)) : without_pattern(next);
    for (uint32_t k = 0; k < static_cast<uint32_t>(made->num_outputs()); ++k)
      entries[index.entry_id(id, k)] = {made, k};
  }
  const std::set<uint32_t> members(part.begin(), part.end());
  std::set<size_t> read_outside;
  for (uint32_t id = 0; id < index.num_nodes(); ++id) {
    if (members.contains(id)) continue;
    for (const Entry& e : index.nodes()[id]->inputs) read_outside.insert(index.entry_id(e));
  }
  for (const Entry& e : index.outputs()) read_outside.insert(index.entry_id(e));
  Graph result;
  for (uint32_t id : part) {
    const Node& node = *index.nodes()[id];
    for (uint32_t k = 0; k < static_cast<uint32_t>(node.num_outputs()); ++k) {
      const size_t entry = index.entry_id(id, k);
      if (read_outside.contains(entry)) result.outputs.push_back(entries.at(entry));
    }
  }
  const auto constants = merged.attributes.find("param_name_list");
  if (constants != merged.attributes.end()) result.attributes.insert(*constants);
  return inline_functions(result, is_plain);
}

std::string part_hash(const Graph& part, const std::set<std::string>& constants) {
  const GraphIndex index(part);
  const auto& shapes = list_of<Shape>(part, "shape", index.num_entries());
  const auto& types = list_of<int64_t>(part, "dtype", index.num_entries());
  GraphFunction function{.parameters = {}, .outputs = part.outputs};
  std::vector<RegionInput> inputs;
  std::string text;
  for (uint32_t id : index.inputs()) {
    const NodeRef& variable = index.nodes()[id];
    const size_t entry = index.entry_id(id, 0);
    function.parameters.push_back(variable);
    inputs.push_back({.shape = shapes[entry],
                      .dtype = type_of_number(static_cast<int>(types[entry])).value_or(DType{})});
    text += constants.contains(variable->name) ? 'c' : 'v';
  }
  Node call;
  call.function = std::make_shared<const GraphFunction>(std::move(function));
  vendor::Region region = region_of(call, inputs);
  for (vendor::Composite& c : region.composites) {
    for (vendor::Step& s : c.steps) s.node.clear();
  }
  text += vendor::to_json(region);
  return fmt::format("{:016x}", checksum(text.data(), text.size()));
}

std::string codegen_version(const Codegen& codegen) {
  const char* text = load_library(codegen).computes_with;
  return text == nullptr ? "" : text;
}

}  // namespace tw::graph
