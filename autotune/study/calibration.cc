// SPDX-License-Identifier: Apache-2.0
#include "autotune/study/calibration.h"

#include <algorithm>
#include <cmath>

#include "autotune/cost/prior.h"
#include "autotune/study/simulation.h"
#include "runtime/thread_pool.h"

namespace tw::autotune {
namespace {

constexpr double kSharpness = 16;  // an estimate 5 % above the least weighs half
constexpr double kFactors[] = {2, 1.4, 1.15};
constexpr double kLeastStep = 0.05;  // of the range, for what stands at zero

double weighted_median(std::vector<std::pair<double, double>> values) {  // value, weight
  std::ranges::sort(values);
  double all = 0, below = 0;
  for (const auto& [value, weight] : values) all += weight;
  for (const auto& [value, weight] : values) {
    below += weight;
    if (below >= all / 2) return value;
  }
  return 0;
}

// By candidate.
std::vector<double> estimates(const CalibrationTask& task, const MachineModel& machine) {
  std::vector<double> seconds(task.size());
  const auto count = static_cast<int32_t>(task.size());
  parallel_for({.num_tasks = count, .chunking = Chunking::Dynamic}, [&](int32_t i, int32_t) {
    const auto k = static_cast<size_t>(i);
    seconds[k] = nest_seconds(task[k].nest, machine);
  });
  return seconds;
}

}  // namespace

Agreement agreement(const CalibrationTask& task, const MachineModel& machine) {
  if (task.empty()) return {};
  const std::vector<double> estimate = estimates(task, machine);
  std::vector<double> measured;
  for (const CalibrationCandidate& c : task) measured.push_back(c.seconds);
  const double least = std::ranges::min(estimate), best = std::ranges::min(measured);
  double weights = 0, slower = 0, all = 0, apart = 0;
  std::vector<std::pair<double, double>> errors;
  for (size_t i = 0; i < task.size(); ++i) {
    const double weight = std::pow(least / estimate[i], kSharpness);
    weights += weight;
    slower += weight * std::log(measured[i] / best);
    errors.emplace_back(std::log(estimate[i] / measured[i]), best / measured[i]);
  }
  const double middle = weighted_median(errors);
  for (const auto& [error, weight] : errors) {
    all += weight;
    apart += weight * std::abs(error - middle);
  }
  return {.rank = rank_correlation(estimate, measured),
          .chosen = std::exp(-slower / weights),
          .spread = apart / all};
}

double calibration_loss(const std::vector<const CalibrationTask*>& tasks,
                        const MachineModel& machine) {
  double loss = 0;
  for (const CalibrationTask* task : tasks) {
    const Agreement a = agreement(*task, machine);
    loss += a.spread - std::log(a.chosen);
  }
  return loss / double(tasks.size());
}

namespace {

// What moving away from documents and earlier fits must bring: workloads are few, and numbers that
// are free fit what is theirs alone.
constexpr double kLossOfDoubling = 0.003;

double moved(const MachineModel& from, const MachineModel& to) {
  double doublings = 0;
  for (const MachineConstant& c : machine_constants()) {
    MachineModel a = from, b = to;
    const double least = kLeastStep * (c.most - c.least) + 1e-9;
    doublings += std::abs(std::log2((c.of(b) + least) / (c.of(a) + least)));
  }
  return kLossOfDoubling * doublings;
}

}  // namespace

MachineModel calibrate(const std::vector<const CalibrationTask*>& tasks, MachineModel start,
                       double least_gain) {
  MachineModel best = start;
  double loss = calibration_loss(tasks, best);
  for (const double factor : kFactors) {
    for (bool better = true; better;) {
      better = false;
      const MachineModel here = best;
      for (const MachineConstant& constant : machine_constants()) {
        MachineModel changed = here;
        const double now = constant.of(changed);
        const double step = kLeastStep * (constant.most - constant.least);
        for (const double to : {now * factor, now / factor, now + step, now - step}) {
          const double inside = std::clamp(to, constant.least, constant.most);
          if (inside == now) continue;
          constant.of(changed) = inside;
          const double then = calibration_loss(tasks, changed) + moved(start, changed);
          if (then >= loss - least_gain) continue;
          best = changed;
          loss = then;
          better = true;
        }
      }
    }
  }
  return best;
}

}  // namespace tw::autotune
