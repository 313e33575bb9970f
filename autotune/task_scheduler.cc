// SPDX-License-Identifier: Apache-2.0
#include "autotune/task_scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "runtime/error.h"

namespace tw::autotune {
namespace {

// R before anything is known of a task: mean 0.13 and deviation 0.10, the moments over the recorded
// runs of `./tw bench tasks`, which prints them.
constexpr double kShape = 1.6, kRate = 12;
// The room is looked at from this part of the trials on: how it fell long ago says little.
constexpr double kLately = 0.25;
// Measured rates vary, and a limit that is too high would leave no room at all.
constexpr double kLimitTrusted = 0.9, kLeastRoom = 0.05;
constexpr double kLeastShare = 0.25;  // of an equal share, for each task

double room(const TaskHistory& task, double seconds) {
  return seconds -
         std::min(kLimitTrusted * task.limit_seconds, (1 - kLeastRoom) * task.best.back());
}

bool any_verified(const TaskHistory& task) {
  return !task.best.empty() && std::isfinite(task.best.back());
}

// By how much log(room) fell while log(trials) grew.
struct Fall {
  double of_room, of_trials;
};
// Since the trial `from`, counted from one, or the first verified one after it.
Fall fall_since(const TaskHistory& task, size_t from) {
  while (!std::isfinite(task.best[from - 1])) ++from;
  return {.of_room = std::log(room(task, task.best[from - 1]) / room(task, task.best.back())),
          .of_trials = std::log(static_cast<double>(task.best.size()) / static_cast<double>(from))};
}

// The largest weighted best time: what a task that cannot run yet is taken to be worth.
double worth_of_first(const std::vector<TaskHistory>& tasks) {
  double worth = 0;
  for (const TaskHistory& t : tasks) {
    if (any_verified(t)) worth = std::max(worth, t.weight * t.best.back());
  }
  return worth > 0 ? worth : 1;
}

}  // namespace

TaskPolicy parse_task_policy(std::string_view text) {
  if (text == "expected_gain") return TaskPolicy::ExpectedGain;
  if (text == "turns") return TaskPolicy::Turns;
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("no policy '{}' of spending trials over tasks", text),
         .legal = "expected_gain, turns"});
}

double expected_gain(const TaskHistory& task, int trials, double worth) {
  const auto done = static_cast<double>(task.best.size()), more = static_cast<double>(trials);
  if (!any_verified(task)) return worth / (done + 2) * more / (done + more + 1);
  const Fall lately = fall_since(task, static_cast<size_t>(std::ceil(kLately * done)));
  const double shape = kShape + lately.of_room, rate = kRate + lately.of_trials;
  // E[1 - exp(-R x)] over R of this Gamma distribution.
  const double x = std::log((done + more) / done);
  return task.weight * room(task, task.best.back()) * (1 - std::pow(rate / (rate + x), shape));
}

double room_power(const TaskHistory& task) {
  const Fall whole = fall_since(task, 1);
  return whole.of_trials > 0 ? whole.of_room / whole.of_trials : 0;
}

std::optional<size_t> next_task(const std::vector<TaskHistory>& tasks, int trials,
                                TaskPolicy policy) {
  size_t spent = 0;
  for (const TaskHistory& t : tasks) spent += t.best.size();
  const double share = kLeastShare * static_cast<double>(spent) / static_cast<double>(tasks.size());
  const double worth = worth_of_first(tasks);
  // Tasks that are owed a whole batch come first.
  const auto rank = [&](const TaskHistory& t) {
    const auto done = static_cast<double>(t.best.size());
    const bool owed = done + trials <= share;
    const bool in_turn = owed || policy == TaskPolicy::Turns;
    return std::tuple(owed, in_turn ? 0.0 : expected_gain(t, trials, worth), -done);
  };
  std::optional<size_t> best;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].exhausted) continue;
    if (!best || rank(tasks[i]) > rank(tasks[*best])) best = i;
  }
  return best;
}

}  // namespace tw::autotune
