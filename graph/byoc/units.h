// SPDX-License-Identifier: Apache-2.0
// A graph in which regions are single units: who depends on whom, and whether anything depends on
// itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace tw::graph {

class Units {
 public:
  // `region_of`: of each node its region, or kNoRegion for those that are units of their own.
  Units(const GraphIndex& index, std::span<const int64_t> region_of);

  // Whether units depend on themselves.
  bool has_cycle() const { return has_cycle_; }
  // A shortest path of nodes that leaves a region and comes back to it: its first and last node are
  // of the region, and where it runs through others, it may enter and leave them at different
  // nodes. Empty when there is none.
  std::vector<uint32_t> way_back(int64_t region) const;

 private:
  struct Edge {
    size_t to;                // unit
    uint32_t leaves, enters;  // nodes
  };
  size_t unit_of(uint32_t id) const;
  void find_cycle();

  size_t num_nodes_;
  std::span<const int64_t> region_of_;
  std::vector<std::vector<Edge>> edges_;  // to the units that read a unit
  bool has_cycle_ = false;
};

}  // namespace tw::graph
