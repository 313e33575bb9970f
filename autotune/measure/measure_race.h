// SPDX-License-Identifier: Apache-2.0
// A race of candidates in a worker process: all of them are compiled there, and visited in turns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "autotune/measure/measure.h"
#include "autotune/measure/measure_pool.h"

namespace tw::autotune {

// Of schedules of one task, as traces. Candidates get numbers from `next_id` on, anew each time
// that they are compiled. A worker that dies is replaced and the race goes on; whom it dies with
// twice, who hangs or does not compile is out. Once `seconds` were spent on visits it ends
// unsettled (a few rounds later where they are long: has_time). Stopped, or with nobody left: no
// winner.
RaceOutcome run_race(WorkerPool& pool, const Task& task, const std::vector<std::string>& traces,
                     double seconds, const MeasureOptions& options, int64_t& next_id,
                     const std::function<bool()>& stop);

}  // namespace tw::autotune
