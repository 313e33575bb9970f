// SPDX-License-Identifier: Apache-2.0
// A search over recorded candidates, in the time that it takes to think: what a cost model is worth
// on the same measurements as any other, as often as intervals need.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "autotune/learn/cost_model.h"
#include "autotune/search/policies.h"
#include "autotune/study/recording.h"

namespace tw::autotune {

struct SimulationOptions {
  int trials = 200;
  int batch = 16;
  uint64_t seed = 0;
  SearchOptions search;
  PolicyFactory policy = search_policy("evolutionary");
  // Called when the model was trained after so many trials.
  std::function<void(size_t trials, const CostModel& model)> trained;
};

struct Simulation {
  std::vector<size_t> asked;   // candidates of the recording, in order
  std::vector<double> shown;   // seconds that the policy saw: one visit to each, drawn at random
  std::vector<double> regret;  // after each trial: the true time of what looked fastest so far,
                               // in parts of the recording's best, less 1
};
// Begins, as the tuner does, with the prior's choice where that was recorded.
Simulation simulate(const Task& task, const Recording& recording, CostModel& model,
                    const SimulationOptions& options);

// Spearman's rank correlation, ties sharing their mean rank; 0 where one side is all ties.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace tw::autotune
