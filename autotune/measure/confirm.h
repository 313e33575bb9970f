// SPDX-License-Identifier: Apache-2.0
// Who of a task's records is the best: timings of single trials, minutes apart, do not tell within
// some per cent, and the least of many is too low. So the contenders are raced, the prior's
// schedule among them, and the log remembers the winner: see Log::best.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "autotune/log/log.h"
#include "autotune/measure/measure.h"

namespace tw::autotune {

struct Confirmation {
  Record winner;
  double seconds = 0;                   // its median in the race
  std::optional<double> prior_seconds;  // of the prior's schedule, where it took part
  bool settled = false;
};

// Races what the log holds of a task, with its caches, and writes what came of it there, as part of
// a run of the tuner. Nothing where there is nobody to race with, or the race was stopped.
std::optional<Confirmation> confirm_best(Measurer& measurer, const Task& task, Log& log,
                                         const std::string& run,
                                         const std::function<bool()>& stop = {});

}  // namespace tw::autotune
