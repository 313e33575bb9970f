// SPDX-License-Identifier: Apache-2.0
// Google Benchmark behind one function: repeated, interleaved in random order, every repetition
// kept.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/results.h"

namespace tw::bench {

struct Subject {
  std::string name;
  std::function<void()> run;      // what is timed
  std::function<void()> prepare;  // once before each repetition, untimed; may be empty
  bool prepare_each = false;      // before each single run instead, which is then timed alone
  int threads = 0;                // that a run uses; 0: unknown
  int parts = 1;                  // things that one run does; a sample is the time of one
  double slow_seconds = 0;        // one run takes this long: a repetition is a single run then
  nlohmann::json labels = nlohmann::json::object();
  std::vector<std::pair<std::string, nlohmann::json>> also = {};  // names and labels of its samples
};

struct Repetition {
  int count = 10;        // none: nothing runs
  double seconds = 0.1;  // at least, of each
};

// Seconds of one run, or of a part of it, a sample each repetition. The repetitions of all subjects
// are shuffled into one sequence, so that a machine whose speed drifts is equally unfair to all,
// and those of one thread stay on one CPU: on a machine that others use, CPUs differ by a tenth.
void time_interleaved(const std::vector<Subject>& subjects, const Repetition& repetition,
                      Results& results);

}  // namespace tw::bench
