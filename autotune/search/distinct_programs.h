// SPDX-License-Identifier: Apache-2.0
// Which points of a space lower to one kernel, found without lowering most of them to the end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "autotune/space/space.h"
#include "autotune/task/task.h"
#include "lower/pipeline.h"

namespace tw::autotune {

// A kernel before its unrolled loops are copied, which takes a small part of what lowering does.
struct Outline {
  // Equal: the kernels are equal.
  uint64_t code = 0;
  // Unequal: the kernels are. The loops that stay loops around each store, whatever the order in
  // which straight code stands and the loops that it was made from.
  std::string loops;
};
// Throws what lowering throws.
Outline outline(const Task& task, const Schedule& schedule);

// The kernels of points, as a set. Most share their loops with no other and are never lowered.
class DistinctPrograms {
 public:
  DistinctPrograms(const Task& task, const Space& space) : task_(task), space_(space) {}

  // Lowers what `add` will have to look at, in parallel, where points are added in this order.
  void prepare(const std::vector<Point>& points);
  // False where a point was added that lowers to the same kernel. A point that cannot be lowered is
  // like no other.
  bool add(const Point& point);

 private:
  struct Group {
    std::vector<Point> waiting;  // not lowered yet
    std::unordered_set<std::string> kernels;
  };
  // Null where the point cannot be lowered. Found once for each point that is prepared.
  using Outlines = std::map<Point, std::optional<Outline>>;
  std::optional<Outline> outline_of(const Point& point) const;
  std::string kernel_of(const Point& point) const;

  const Task& task_;
  const Space& space_;
  std::unordered_set<uint64_t> codes_;
  std::unordered_map<std::string, Group> groups_;  // by loops
  Outlines outlines_;                              // of the points that were prepared last
  std::map<Point, std::string> kernels_;           // of those of them that have to be compared
};

}  // namespace tw::autotune
