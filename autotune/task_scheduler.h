// SPDX-License-Identifier: Apache-2.0
// Which of several tasks the next trials are spent on, from what earlier ones brought. Functions of
// histories alone: nothing here measures or searches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tw::autotune {

struct TaskHistory {
  double weight = 1;         // how often the task's kernel runs
  double limit_seconds = 0;  // the machine cannot compute it faster; 0: not known
  // The fastest verified seconds after each trial so far; infinity while there was none.
  std::vector<double> best = {};
  bool exhausted = false;  // there is nothing left to try
};

enum class TaskPolicy : uint8_t {
  ExpectedGain,  // whose next trials should shorten the weighted sum of best times most
  Turns,         // who had the fewest trials
};
// "expected_gain", "turns"; BadArgument lists them.
TaskPolicy parse_task_policy(std::string_view text);

// Weighted seconds by which `trials` more of a task should shorten its best time.
//
// What the machine's limit leaves to be gained, the room, is taken to fall with a power of the
// number of trials: log(room) by R for each unit of log(trials), as the best of random draws does
// from a distribution with a bounded end. R is not known but held for Gamma distributed, by what
// recorded runs of many tasks showed and by how the room of this one fell lately. The expectation
// over R has a closed form, so that a task that stood still for a batch keeps most of its hope and
// one that stood still while its trials multiplied does not. Without uncertainty and limit, and
// with R = 1, it is the forward-looking term of the gradient in Zheng et al., "Ansor" (2020),
// section 6.
//
// A task without any verified schedule gains `worth` by its first one. Before anything was tried
// every second such task is thought to have none at all, and the share of verified schedules among
// the trials of the others to be uniform (Laplace's rule of succession).
double expected_gain(const TaskHistory& task, int trials, double worth = 1);

// The power of the number of trials with which the room fell over all trials of a history that ends
// with a verified schedule: what R was.
double room_power(const TaskHistory& task);

// The task that should get the next `trials`; nothing when all are exhausted. Whatever the policy,
// no task falls behind a quarter of an equal share by more than one such batch. Equal tasks: the
// one with fewer trials, then the first.
std::optional<size_t> next_task(const std::vector<TaskHistory>& tasks, int trials,
                                TaskPolicy policy = TaskPolicy::ExpectedGain);

}  // namespace tw::autotune
