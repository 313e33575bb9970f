// SPDX-License-Identifier: Apache-2.0
// What a tuning run knows before its first trial: other tasks of the log, or the model that comes
// with the library.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/learn/experience.h"
#include "autotune/log/log.h"

namespace tw::autotune {

// Trials of a log; a sample's `task` is its entry of `workloads`.
struct Lessons {
  std::vector<std::string> workloads;  // ids, those of another target or number of threads apart
  std::vector<Sample> samples;
};
struct LessonsOptions {
  std::function<bool(const Record&)> wanted;  // empty: all
  size_t most_of_task = 100;                  // distinct candidates, evenly over the task's trials
  size_t most = 1500;                         // of all tasks
  size_t least_of_task = 16;                  // what has fewer is left out
  double seconds = 2;                         // after which no further task is read
};
// A candidate that was measured several times is one sample, of the median of its medians.
Lessons lessons_of(const Log& log, const LessonsOptions& options);

struct TransferRow {
  std::string_view name, doc;
};
std::span<const TransferRow> transfers();

struct Transfer {
  std::shared_ptr<const Experience> experience;  // null: none
  std::string source;                            // for people; "" for none
  std::string refusal;                           // why a model was not taken; "" where it was
};
// `how` is a row's name, or the path of a file that Experience::save gave; BadArgument where it is
// neither. Trials of `tuned` workloads and those on other kinds of machines, targets, numbers of
// threads or states of caches than the task's teach nothing.
Transfer find_transfer(std::string_view how, const Log& log, const Task& task,
                       std::span<const Task> tuned, std::string_view kind, uint64_t seed);

}  // namespace tw::autotune
