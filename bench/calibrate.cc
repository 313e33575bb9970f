// SPDX-License-Identifier: Apache-2.0
// Fits the analytical prior's numbers to recorded candidates, and shows by cross-validation what
// that is worth: each workload is judged by numbers that were fitted to others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autotune/log/log.h"
#include "autotune/study/calibration.h"
#include "autotune/study/recording.h"
#include "bench/sections.h"
#include "runtime/error.h"
#include "schedule/infer_bound.h"
#include "schedule/kernel_part.h"
#include "schedule/normalize.h"
#include "schedule/schedule_ops.h"

namespace tw::bench {
namespace {

using autotune::Agreement;
using autotune::CalibrationTask;
using autotune::MachineModel;

std::vector<autotune::NestStatement> nest_of(const autotune::Task& task, Schedule&& schedule) {
  const Schedule normal = normalize(std::move(schedule));
  const KernelPart part = parts_of(normal, constants_of(task.program)).main;
  return autotune::analyze_nest(schedule_ops(normal, infer_bound(normal), {}, part));
}

// Of as many as `most`, evenly over their order; the rest would only take time.
CalibrationTask read_task(const autotune::Task& task, const std::vector<autotune::Record>& records,
                          size_t most) {
  const autotune::Recording recording(task, records);
  std::vector<const autotune::RecordedCandidate*> timed;
  for (const auto& c : recording.candidates()) {
    if (std::isfinite(c.seconds)) timed.push_back(&c);
  }
  CalibrationTask result;
  const size_t count = std::min(most, timed.size());
  for (size_t k = 0; k < count; ++k) {
    const auto& c = *timed[k * timed.size() / count];
    result.push_back({.nest = nest_of(task, recording.schedule(c.point)), .seconds = c.seconds});
  }
  return result;
}

nlohmann::json to_json(const Agreement& a) {
  return {{"rank", a.rank}, {"chosen", a.chosen}, {"spread", a.spread}};
}

}  // namespace

void calibrate_prior(const Options& options, Results& results) {
  const autotune::Log log(options.text("log", "study.db"), autotune::Log::Mode::Read);
  const auto most = static_cast<size_t>(options.count("candidates", 300));
  const auto folds = static_cast<size_t>(std::max(1, options.count("folds", 4)));
  std::vector<std::string> names;
  std::vector<CalibrationTask> tasks;
  MachineModel start;
  for (const autotune::Log::Workload& w : log.workloads()) {
    const auto records = log.records(w.id);
    if (records.empty()) continue;
    const autotune::Task task = autotune::make_task(w.te_text, Target::parse(records[0].target),
                                                    records[0].threads, w.name);
    start = autotune::machine_model(task.target, task.threads);
    names.push_back(w.name);
    tasks.push_back(read_task(task, records, most));
  }
  if (tasks.size() < 2) {
    raise({.code = ErrorCode::NoRecord,
           .what = fmt::format("trials of {} workloads", tasks.size()),
           .where = log.path(),
           .legal = "a log that ./tw bench model --collect made"});
  }
  const auto others = [&](size_t fold) {  // all: those outside of no fold
    std::vector<const CalibrationTask*> chosen;
    for (size_t k = 0; k < tasks.size(); ++k) {
      if (k % folds != fold) chosen.push_back(&tasks[k]);
    }
    return chosen;
  };
  const MachineModel fitted = autotune::calibrate(others(folds), start);
  std::vector<MachineModel> without;
  for (size_t fold = 0; fold < folds && folds > 1; ++fold) {
    without.push_back(autotune::calibrate(others(fold), start));
  }
  nlohmann::json workloads = nlohmann::json::array(), constants = nlohmann::json::array();
  for (size_t k = 0; k < tasks.size(); ++k) {
    nlohmann::json row = {{"workload", names[k]},
                          {"candidates", tasks[k].size()},
                          {"before", to_json(autotune::agreement(tasks[k], start))},
                          {"after", to_json(autotune::agreement(tasks[k], fitted))}};
    if (folds > 1) row["unseen"] = to_json(autotune::agreement(tasks[k], without[k % folds]));
    workloads.push_back(std::move(row));
  }
  for (const autotune::MachineConstant& c : autotune::machine_constants()) {
    MachineModel before = start, after = fitted;
    constants.push_back({{"name", c.name},
                         {"unit", c.unit},
                         {"meaning", c.meaning},
                         {"source", c.source},
                         {"before", c.of(before)},
                         {"after", c.of(after)}});
  }
  results.fact("workloads", workloads);
  results.fact("constants", constants);
  results.fact("folds", folds);
}

}  // namespace tw::bench
