// SPDX-License-Identifier: Apache-2.0
// One trial: what is tried and what came of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/task/task.h"
#include "runtime/error.h"
#include "schedule/trace.h"

namespace tw::autotune {

// Why a trial exists: the untuned prior's choice, or the search's.
enum class Origin : uint8_t { Prior, Search, Random, Script };
std::string_view to_string(Origin origin);

// What is to be tried.
struct Candidate {
  Trace trace;
  Origin origin = Origin::Search;
  double predicted = 0;
};

struct Record {
  int64_t id = 0;        // given by the log
  std::string workload;  // te::workload_id
  std::string target;    // Target::text
  int threads = 1;
  std::string trace;               // to_text(Trace)
  std::optional<ErrorCode> error;  // nothing: compiled, ran and computed the right result
  std::string message;             // of the failure
  std::vector<double> seconds;     // every raw timing, per call
  double compile_seconds = 0;
  double elapsed_seconds = 0;  // since the run of the tuner began
  std::string ir_hash;         // structural hash of the lowered kernel, 16 hex digits
  uint64_t seed = 0;
  Origin origin = Origin::Search;
  double predicted = 0;  // the model's score when it was chosen; larger is better
  CacheState caches = CacheState::Hot;
  // Its median in the last race that it won (race.h); 0: it won none.
  double race_seconds = 0;
  std::string run;      // id of the tuner run that made it
  std::string host;     // the machine that measured it
  std::string kind;     // of that machine; see machine_kind.h
  std::string created;  // UTC, ISO 8601; given by the log

  bool ok() const { return !error.has_value(); }
  // Median of the timings, seconds; infinity for failures.
  double median() const;
  // Half the 95 % interval of the median, in parts of it; 0 for failures.
  double spread() const;
};

// What a record has from the task and the candidate that it is of.
void describe(Record& record, const Task& task, const Candidate& candidate);

}  // namespace tw::autotune
