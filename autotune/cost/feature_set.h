// SPDX-License-Identifier: Apache-2.0
// A user's own features of candidates, for a cost model of their own, and the features of many
// points of a space at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "autotune/cost/features.h"
#include "autotune/space/space.h"

namespace tw::autotune {

// One row of numbers for a candidate; they are kept as Features::own.
class FeatureSet {
 public:
  virtual ~FeatureSet();
  virtual const std::vector<std::string>& names() const = 0;
  // names().size() numbers.
  virtual std::vector<float> extract(const Task& task, const Trace& trace) const = 0;
};

// What a model that takes a matrix gets unless there are columns of the user's own: ours, and the
// prior's estimate.
const std::vector<std::string>& matrix_columns();
std::vector<float> matrix_row(const Features& features);

// The features of each point, in parallel; null for one that the schedule refuses, which is then no
// part of the space. `own` is added where it is given; what it throws is passed on.
std::vector<std::shared_ptr<const Features>> extract_features(
    const Task& task, const Space& space, const std::vector<const Point*>& points,
    const FeatureSet* own = nullptr);

}  // namespace tw::autotune
