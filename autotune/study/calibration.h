// SPDX-License-Identifier: Apache-2.0
// Fits the numbers of the analytical prior to measured candidates.
#pragma once

#include <string_view>
#include <vector>

#include "autotune/cost/loop_nest.h"
#include "autotune/cost/machine_model.h"

namespace tw::autotune {

struct CalibrationCandidate {
  std::vector<NestStatement> nest;
  double seconds = 0;  // measured; failures are left out
};
// The candidates of one workload.
using CalibrationTask = std::vector<CalibrationCandidate>;

// How well estimates agree with one workload's measurements; ratios alone count.
struct Agreement {
  double rank = 0;    // Spearman's correlation, over all candidates
  double chosen = 0;  // best time / time of what the estimate holds for fastest, soft: the
                      // geometric mean over candidates, each weighing estimate^-16
  double spread = 0;  // mean |log(estimate / seconds) - its median|, weighing 1 / seconds
};
Agreement agreement(const CalibrationTask& task, const MachineModel& machine);
// The mean over workloads of -log(chosen) + spread.
double calibration_loss(const std::vector<const CalibrationTask*>& tasks,
                        const MachineModel& machine);

// Coordinate descent: of all numbers of machine_constants() that may move, the one step that lowers
// the loss most, until none lowers it by more than `least_gain`; then in smaller steps. Leaving
// `start` costs a little, so that what the candidates do not tell stays as it was.
MachineModel calibrate(const std::vector<const CalibrationTask*>& tasks, MachineModel start,
                       double least_gain = 1e-4);

}  // namespace tw::autotune
