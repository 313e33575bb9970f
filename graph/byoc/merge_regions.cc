// SPDX-License-Identifier: Apache-2.0
// MergeCompilerRegions: a region that reads another one of the same compiler becomes one with it,
// unless a third way leads from the one to the other: then the two as one would wait for something
// that waits for them. Until no two are left that can be one.
//
//   %3 = compiler_end(%2, 'dnnl')
//   %4 = compiler_begin(%3, 'dnnl')    →    %3 = tanh(%2)
//   %5 = tanh(%4)
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "graph/byoc/annotation.h"
#include "graph/byoc/function.h"
#include "graph/byoc/pattern_table.h"
#include "graph/pass.h"
#include "graph/rewrite.h"

namespace tw::graph {
namespace {

// Units are regions and nodes outside of them; marks are none, and edges lead through them.
class Merger {
 public:
  Merger(const GraphIndex& index, const Annotations& annotations)
      : index_(index), annotations_(annotations) {
    parent_.resize(index.num_nodes() + annotations.regions.size());
    std::iota(parent_.begin(), parent_.end(), 0U);
    readers_.resize(parent_.size());
    seen_.resize(parent_.size(), 0);
    for (uint32_t id = 0; id < index.num_nodes(); ++id) add_edges(id);
  }

  MergedRegions run() {
    for (bool changed = true; changed;) {
      changed = false;
      result_.refusals.clear();
      for (const Border& b : borders_) changed |= try_merge(b);
    }
    for (uint32_t id = 0; id < index_.num_nodes(); ++id) {
      const bool inside = annotations_.region_of[id] != kNoRegion;
      result_.region_of.push_back(inside ? static_cast<int64_t>(find(unit_of(id))) : kNoRegion);
    }
    return std::move(result_);
  }

 private:
  // One region reads another of the same compiler.
  struct Border {
    uint32_t from, to;
  };

  const Node& node(uint32_t id) const { return *index_.nodes()[id]; }
  bool is_mark(const Node& n) const { return is_begin(n) || is_end(n); }
  size_t unit_of(uint32_t id) const {
    const int64_t region = annotations_.region_of[id];
    return region == kNoRegion ? id : index_.num_nodes() + static_cast<size_t>(region);
  }
  size_t find(size_t unit) {
    while (parent_[unit] != unit) unit = parent_[unit] = parent_[parent_[unit]];
    return unit;
  }

  void add_edges(uint32_t id) {
    if (is_mark(node(id))) return;
    const auto add = [&](const Node* from) {
      while (!from->is_variable() && is_mark(*from)) from = from->inputs[0].node.get();
      const uint32_t read = index_.node_id(*from);
      if (unit_of(read) == unit_of(id)) return;
      readers_[unit_of(read)].push_back({unit_of(id), id});
      const int64_t a = annotations_.region_of[read], b = annotations_.region_of[id];
      const bool joins = a != kNoRegion && b != kNoRegion &&
                         annotations_.regions[static_cast<size_t>(a)].compiler ==
                             annotations_.regions[static_cast<size_t>(b)].compiler;
      if (joins) borders_.push_back({read, id});
    };
    for (const Entry& e : node(id).inputs) add(e.node.get());
    for (const NodeRef& n : node(id).control_dependencies) add(n.get());
  }

  bool try_merge(const Border& border) {
    const size_t a = find(unit_of(border.from)), b = find(unit_of(border.to));
    if (a == b) return false;
    if (const auto through = way_around(a, b)) {
      result_.refusals.push_back({border.from, border.to, *through});
      return false;
    }
    parent_[a] = b;
    readers_[b].insert(readers_[b].end(), readers_[a].begin(), readers_[a].end());
    readers_[a].clear();
    return true;
  }

  // The first node outside of both on a way from one unit to the other.
  std::optional<uint32_t> way_around(size_t a, size_t b) {
    ++stamp_;
    struct Visit {
      size_t unit;
      uint32_t first;
    };
    std::vector<Visit> open;
    const auto enter = [&](size_t unit, uint32_t first) {
      if (seen_[unit] == stamp_) return;
      seen_[unit] = stamp_;
      open.push_back({unit, first});
    };
    seen_[a] = stamp_;
    for (const Reader& r : readers_[a]) {
      if (find(r.unit) != b) enter(find(r.unit), r.node);
    }
    while (!open.empty()) {
      const Visit v = open.back();
      open.pop_back();
      if (v.unit == b) return v.first;
      for (const Reader& r : readers_[v.unit]) enter(find(r.unit), v.first);
    }
    return std::nullopt;
  }

  struct Reader {
    size_t unit;
    uint32_t node;
  };
  const GraphIndex& index_;
  const Annotations& annotations_;
  std::vector<size_t> parent_;  // of a union-find over units
  std::vector<std::vector<Reader>> readers_;
  std::vector<Border> borders_;
  std::vector<int> seen_;  // the last search that met a unit
  int stamp_ = 0;
  MergedRegions result_;
};

}  // namespace

MergedRegions merge_regions(const GraphIndex& index, const Annotations& annotations) {
  return Merger(index, annotations).run();
}

Graph merge_compiler_regions(Graph graph) {
  const GraphIndex index(graph);
  const Annotations found = find_annotations(graph, index);
  require_no_faults(found);
  const MergedRegions merged = merge_regions(index, found);
  // Within one region no marks are left.
  return rewrite(graph, [&](size_t id, const NodeRef& node) -> Replacement {
    const Node& before = *index.nodes()[id];
    if (before.is_variable() || is_begin(before) || is_end(before)) return std::nullopt;
    Node next = *node;
    bool changed = false;
    for (size_t k = 0; k < next.inputs.size(); ++k) {
      const Node& mark = *before.inputs[k].node;
      if (!is_begin(mark) || !is_end(*mark.inputs[0].node)) continue;
      const Node& inner = *mark.inputs[0].node->inputs[0].node;
      if (merged.region_of[index.node_id(inner)] != merged.region_of[id]) continue;
      next.inputs[k] = next.inputs[k].node->inputs[0].node->inputs[0];
      changed = true;
    }
    if (!changed) return std::nullopt;
    return entries_of(make_node(std::move(next)));
  });
}

}  // namespace tw::graph
