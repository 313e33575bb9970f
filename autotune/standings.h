// SPDX-License-Identifier: Apache-2.0
// Which trace of a task is the best, where most were timed once and a few again.
//
// The fastest of many single timings is above all the luckiest (the winner's curse), so a tuner
// times its finalists again, in races: short rounds over all of them, which whatever else the
// machine does hits alike (SMAC and irace call it intensification: Hutter, Hoos and Leyton-Brown,
// "Sequential model-based optimization for general algorithm configuration", 2011). In a log the
// records of a race, origin `Confirm`, stand in a row, the incumbent's first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autotune/record.h"

namespace tw::autotune {

class Standings {
 public:
  struct Entry {
    std::string trace;
    // Of its last race, infinity when it failed there; of its fastest trial when it was in none.
    double seconds = 0;
    int64_t record = 0;  // that says so
    int race = -1;       // the last that it took part in; -1: none
    bool confirmed() const { return race >= 0; }
  };

  // Records of one workload, target and number of threads, in the order of the log.
  void add(const Record& record);

  // The fastest entry that its last race did not beat; null without a verified one. One that was
  // never timed again must be faster by a clear margin to come before one that was.
  const Entry* best() const;

  // Entries to be timed again together: the incumbent (the best of those that were in a race), then
  // at most `most` that were in no race and look noticeably faster, fastest first. Empty when none
  // does.
  std::vector<Entry> challenge(size_t most) const;
  // The incumbent, then at most `most` of all others, fastest first.
  std::vector<Entry> finalists(size_t most) const;

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> by_trace_;
  std::vector<std::vector<std::pair<size_t, double>>> races_;  // entries and their seconds there
  bool in_race_ = false;  // the last record belongs to the last race
  std::string run_;       // that the last record is of

  std::vector<bool> beaten() const;
  const Entry* leading(double doubt) const;
  template <class Eligible>
  std::vector<Entry> field(size_t most, Eligible eligible) const;
};

}  // namespace tw::autotune
