// SPDX-License-Identifier: Apache-2.0
// Says of each node what a partition makes of it, by the same choices that the passes make.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "graph/byoc/annotation.h"
#include "graph/byoc/function.h"
#include "graph/byoc/known_types.h"
#include "graph/byoc/pattern_table.h"
#include "graph/byoc/text.h"
#include "graph/op.h"
#include "graph/pass.h"

namespace tw::graph {
namespace {

class Explanation {
 public:
  Explanation(const Graph& graph, const PatternTable& table)
      : table_(table), patterns_(known_types(graph)), choice_(choose_composites(table, patterns_)) {
    for (const Composite& c : choice_.composites) {
      for (uint32_t id : c.nodes) composite_of_[id] = &c;
    }
    if (choice_.composites.empty()) return;
    Graph merged = with_composites(graph, table, patterns_.index(), choice_);
    merged.attributes["compiler"] = table.compiler;
    explain_regions(apply(std::move(merged), "AnnotateTarget"));
  }

  std::vector<PartitionNote> notes() const {
    std::vector<PartitionNote> result;
    for (uint32_t id = 0; id < patterns_.index().num_nodes(); ++id) {
      const Node& node = *patterns_.index().nodes()[id];
      if (node.is_variable()) continue;
      const auto c = composite_of_.find(id);
      result.push_back({node.name, c == composite_of_.end() ? why_none(id) : taken(*c->second)});
    }
    return result;
  }

 private:
  const std::string& name(uint32_t id) const { return patterns_.index().nodes()[id]->name; }

  std::string taken(const Composite& c) const {
    std::string text = fmt::format("{}, of '{}'", table_.patterns[c.pattern].name, name(c.root));
    const auto region = region_text_.find(name(c.root));
    return region == region_text_.end() ? text : text + ", in " + region->second;
  }

  // The pattern that would have taken the node and was refused, or else the one that came nearest.
  std::string why_none(uint32_t id) const {
    const auto refused = std::ranges::find(choice_.refusals, id, &Refusal::root);
    if (refused != choice_.refusals.end()) {
      return fmt::format("none: {} matches, but {}", table_.patterns[refused->pattern].name,
                         refused->why);
    }
    std::optional<NearestMatch> best;
    size_t pattern = 0;
    for (size_t k = 0; k < table_.patterns.size(); ++k) {
      NearestMatch m =
          explain_match(table_.patterns[k].pattern, {patterns_.index().nodes()[id]}, patterns_);
      // A pattern of which nothing fits says nothing about the node; one that fits whole matches a
      // part of what another took.
      if (m.difference.empty() || m.matched == 0 || (best && m.matched <= best->matched)) continue;
      best = std::move(m);
      pattern = k;
    }
    if (best) {
      return fmt::format("none: {} comes nearest; {}", table_.patterns[pattern].name,
                         best->difference);
    }
    return fmt::format("none: no pattern ends in a {}",
                       printed_name(patterns_.index().nodes()[id]->op->name));
  }

  // Of each composite, by its node's name: its region and where that ends.
  void explain_regions(const Graph& annotated) {
    const GraphIndex index(annotated);
    const Annotations found = find_annotations(annotated, index);
    const MergedRegions merged = merge_regions(index, found);
    std::map<int64_t, int> number;
    for (uint32_t id = 0; id < index.num_nodes(); ++id) {
      const int64_t region = merged.region_of[id];
      if (region == kNoRegion) continue;
      const int k = number.try_emplace(region, static_cast<int>(number.size())).first->second;
      region_text_[index.nodes()[id]->name] = fmt::format("region {}", k);
    }
    for (uint32_t id = 0; id < index.num_nodes(); ++id) {
      const Node& node = *index.nodes()[id];
      if (node.is_variable() || is_begin(node) || is_end(node)) continue;
      for (const Entry& e : node.inputs) {
        if (!is_end(*e.node)) continue;
        region_text_[e.node->inputs[0].node->name] +=
            fmt::format("; it ends before '{}', which no pattern took", node.name);
      }
    }
    for (const MergedRegions::Refusal& r : merged.refusals) {
      region_text_[index.nodes()[r.from]->name] +=
          fmt::format("; it ends before '{}', since a way leads there through '{}'",
                      index.nodes()[r.to]->name, index.nodes()[r.through]->name);
    }
  }

  const PatternTable& table_;
  PatternGraph patterns_;
  CompositeChoice choice_;
  std::unordered_map<uint32_t, const Composite*> composite_of_;  // look-ups only
  std::map<std::string, std::string> region_text_;
};

}  // namespace

std::vector<PartitionNote> explain_partition(const Graph& graph, const PatternTable& table) {
  return Explanation(graph, table).notes();
}

}  // namespace tw::graph
