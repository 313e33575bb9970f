// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/confirm.h"

#include "autotune/measure/race.h"
#include "autotune/task/machine_kind.h"
#include "runtime/time_evaluator.h"

namespace tw::autotune {

std::optional<Confirmation> confirm_best(Measurer& measurer, const Task& task, Log& log,
                                         const std::string& run,
                                         const std::function<bool()>& stop) {
  std::vector<Record> records = log.records(task.workload, task.target_text, task.threads);
  std::erase_if(records, [&](const Record& r) {
    return r.caches != task.caches || !same_kind(r.kind, measurer.kind());
  });
  const std::vector<size_t> chosen = contenders(records);
  if (chosen.size() < 2) return {};
  std::vector<std::string> traces;
  for (size_t k : chosen) traces.push_back(records[k].trace);
  const RaceOutcome outcome = measurer.race(task, traces, race_seconds(records.size()), stop);
  if (!outcome.winner) return {};

  Confirmation result{.winner = records[chosen[*outcome.winner]], .settled = outcome.settled};
  RaceRecord race{.winner = result.winner.id, .settled = outcome.settled, .run = run};
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (outcome.seconds[i].empty()) continue;
    const Record& record = records[chosen[i]];
    race.seconds[record.id] = outcome.seconds[i];
    const double median = summarize(outcome.seconds[i]).median;
    if (i == *outcome.winner) result.seconds = median;
    if (record.origin == Origin::Prior) result.prior_seconds = median;
  }
  log.append(race);
  return result;
}

}  // namespace tw::autotune
