// SPDX-License-Identifier: Apache-2.0
#include "autotune/task/record.h"

#include <limits>

#include "runtime/time_evaluator.h"

namespace tw::autotune {

std::string_view to_string(Origin origin) {
  switch (origin) {
    case Origin::Prior:
      return "prior";
    case Origin::Search:
      return "search";
    case Origin::Random:
      return "random";
    case Origin::Script:
      return "script";
  }
  return "search";
}

double Record::median() const {
  if (!ok() || seconds.empty()) return std::numeric_limits<double>::infinity();
  return summarize(seconds).median;
}

double Record::spread() const {
  if (!ok() || seconds.empty()) return 0;
  const TimeResult r = summarize(seconds);
  return r.median > 0 ? (r.interval_high - r.interval_low) / (2 * r.median) : 0;
}

void describe(Record& record, const Task& task, const Candidate& candidate) {
  record.workload = task.workload;
  record.target = task.target_text;
  record.threads = task.threads;
  record.caches = task.caches;
  record.trace = to_text(candidate.trace);
  record.origin = candidate.origin;
  record.predicted = candidate.predicted;
}

}  // namespace tw::autotune
