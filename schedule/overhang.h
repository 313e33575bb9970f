// SPDX-License-Identifier: Apache-2.0
// Which stages inside a loop may compute the points of their region that lie outside their tensor.
//
// A tile that overhangs its tensor is computed for more points than there are. Testing each of them
// is right but slow where the tile is held in registers, its loops unrolled and in vectors, and
// impossible where they are an intrinsic's. The tests can go when the points are harmless: all that
// they read is in memory and was written. That is so for operands packed into padded tiles, which
// then are written whole.
#pragma once

#include <set>
#include <utility>

#include "ir/arithmetic/analyzer.h"
#include "schedule/relation.h"
#include "schedule/schedule_data.h"

namespace tw {

class Overhang {
 public:
  // The schedule must be normalised, and the analyzer know the leaf axes.
  Overhang(const ScheduleData& schedule, const DomainMap& domains, Analyzer& analyzer);
  // Data axis `d` of the stage needs no test against the bounds of the tensor.
  bool is_free(const StageData& stage, size_t d) const { return free_.contains({&stage, d}); }

 private:
  using Points = std::set<std::pair<const StageData*, size_t>>;

  bool overhangs(const StageData& stage, size_t d);
  bool is_register_tile(const StageData& stage, size_t d) const;
  // Whether the stage can be computed at all points of its region along `axes`, given those that
  // other stages are in `points`; adds to them what it takes.
  bool is_harmless(const StageData& stage, const std::set<size_t>& axes, Points& points);
  bool contains(const Range& outer, const Range& inner);

  const ScheduleData& schedule_;
  const DomainMap& domains_;
  Analyzer& analyzer_;
  Points free_;
};

}  // namespace tw
