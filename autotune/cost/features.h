// SPDX-License-Identifier: Apache-2.0
// What the cost model sees of a candidate: one row of numbers, of the nest as a whole, of the
// statement that does most of the work, and of all others together by what they cost. In the
// spirit of "Ansor: Generating High-Performance Tensor Programs for Deep Learning" (OSDI 2020),
// appendix B, but pooled over loops and accesses, and relative to the target.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autotune/cost/loop_nest.h"
#include "autotune/task/task.h"
#include "ir/node.h"
#include "schedule/schedule.h"
#include "schedule/trace.h"

namespace tw::autotune {

// Names of the columns, in order.
const std::vector<std::string>& feature_names();

// One row of feature_names().size() numbers, ratios as log2, for which float16 is exact enough. A
// tuner keeps thousands of these.
struct Features {
  std::vector<uint16_t> rows;
  // The analytical prior: estimated seconds, from the same walk over the loop nest.
  double prior_seconds = 0;
  std::vector<float> own;  // columns of a user's FeatureSet; none without one
  size_t num_rows() const { return rows.size() / feature_names().size(); }
  void append_to(std::vector<float>& matrix) const;
};
// Makes the loop nest of a schedule, which is used up; nothing is lowered further, since this runs
// thousands of times a round. Throws what scheduling throws where the schedule is not legal.
Features extract_features(const Task& task, Schedule&& schedule);
Features extract_features(const Task& task, const Trace& trace);
// The prior's estimate alone.
double prior_seconds(const Task& task, Schedule&& schedule);
double prior_seconds(const Task& task, const Trace& trace);
// `nest` is what schedule_ops gives; `cold` as analyze_nest takes it.
Features extract_features(const Stmt& nest, const Target& target, int threads,
                          const Producers& cold = {});

}  // namespace tw::autotune
