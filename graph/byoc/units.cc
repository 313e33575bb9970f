// SPDX-License-Identifier: Apache-2.0
#include "graph/byoc/units.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "graph/byoc/function.h"

namespace tw::graph {

Units::Units(const GraphIndex& index, std::span<const int64_t> region_of)
    : num_nodes_(index.num_nodes()), region_of_(region_of) {
  int64_t regions = 0;
  for (int64_t r : region_of) regions = std::max(regions, r + 1);
  edges_.resize(num_nodes_ + static_cast<size_t>(regions));
  for (uint32_t id = 0; id < num_nodes_; ++id) {
    const Node& node = *index.nodes()[id];
    const auto add = [&](const NodeRef& read) {
      const uint32_t from = index.node_id(*read);
      if (unit_of(from) != unit_of(id)) edges_[unit_of(from)].push_back({unit_of(id), from, id});
    };
    for (const Entry& e : node.inputs) add(e.node);
    std::ranges::for_each(node.control_dependencies, add);
  }
  find_cycle();
}

size_t Units::unit_of(uint32_t id) const {
  return region_of_[id] == kNoRegion ? id : num_nodes_ + static_cast<size_t>(region_of_[id]);
}

// Takes away units that depend on none that is left (Kahn 1962).
void Units::find_cycle() {
  std::vector<size_t> waits(edges_.size(), 0), ready;
  for (const auto& edges : edges_) {
    for (const Edge& e : edges) ++waits[e.to];
  }
  for (size_t u = 0; u < edges_.size(); ++u) {
    if (waits[u] == 0) ready.push_back(u);
  }
  size_t taken = 0;
  while (!ready.empty()) {
    const size_t u = ready.back();
    ready.pop_back();
    ++taken;
    for (const Edge& e : edges_[u]) {
      if (--waits[e.to] == 0) ready.push_back(e.to);
    }
  }
  has_cycle_ = taken != edges_.size();
}

std::vector<uint32_t> Units::way_back(int64_t region) const {
  if (!has_cycle_) return {};
  const size_t start = num_nodes_ + static_cast<size_t>(region);
  struct Reached {
    size_t from;
    Edge by;
  };
  std::vector<std::optional<Reached>> reached(edges_.size());
  std::deque<size_t> next{start};
  while (!next.empty() && !reached[start]) {
    const size_t u = next.front();
    next.pop_front();
    for (const Edge& e : edges_[u]) {
      if (reached[e.to]) continue;
      reached[e.to] = {u, e};
      next.push_back(e.to);
    }
  }
  std::vector<uint32_t> path;  // backwards
  const auto add = [&](uint32_t id) {
    if (path.empty() || path.back() != id) path.push_back(id);
  };
  for (size_t u = start; reached[start];) {
    const Reached& r = *reached[u];
    add(r.by.enters);
    add(r.by.leaves);
    u = r.from;
    if (u == start) break;
  }
  std::ranges::reverse(path);
  return path;
}

}  // namespace tw::graph
