// SPDX-License-Identifier: Apache-2.0
// Which sketches are made where there are several ways to schedule several operations, and not all
// combinations can be had.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <vector>

namespace tw::autotune {

// Making a sketch is a path through decisions; which ones it meets depends on those before. The
// first path takes the first way of each, the likeliest. Then follow paths that branch off from
// earlier ones, into a way that was never taken if there is one, and take from there on what was
// taken least: what is the second way for one operation meets the second way for the others. So
// few paths take every way at least once, however many operations there are. All paths are taken
// where there are few of them.
class Decisions {
 public:
  // Begins a path; false when there are enough.
  bool begin();
  // The way to take, of so many that are open to the operation.
  size_t next(size_t op, size_t ways);
  // The ways that the path took, in the order of decisions.
  std::vector<size_t> taken() const;

  // Paths to make where all ways have been taken already.
  static constexpr size_t kEnough = 8;

 private:
  struct Way {
    size_t op, of, way;
    auto operator<=>(const Way&) const = default;
  };
  using Path = std::vector<Way>;

  void add_branches();

  Path path_;                   // taken so far
  Path ahead_;                  // to follow first
  std::vector<Path> branches_;  // beginnings of paths that were not taken
  std::map<Way, size_t> uses_;
  size_t paths_ = 0;
};

}  // namespace tw::autotune
