// SPDX-License-Identifier: Apache-2.0
// A measurer that works on many candidates at once and answers in any order: executors of other
// machines. The tuner gives it new candidates while others are under way, so that one slow machine
// keeps no other waiting.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autotune/measure/measure.h"

namespace tw::autotune {

class AsyncMeasurer : public Measurer {
 public:
  // How many candidates under way keep it busy; may change from call to call.
  virtual int capacity() = 0;
  // `best_seconds` as for `measure`. Tickets are never used twice. Timed with the task's caches.
  virtual void submit(int64_t ticket, const Task& task, const Candidate& candidate,
                      double best_seconds) = 0;
  struct Answer {
    int64_t ticket = 0;
    // Of what was measured: error, message, seconds, compile_seconds, ir_hash, host, kind. The rest
    // follows from the candidate.
    Record record;
  };
  // What has become known, after waiting for at most so many seconds; each ticket once.
  virtual std::vector<Answer> wait(double seconds) = 0;
  // Gives up all candidates under way; no answer to any of them follows.
  virtual void cancel() = 0;

  std::vector<Record> measure(const Task& task, const std::vector<Candidate>& batch,
                              double best_seconds, const std::function<void(const Record&)>& done,
                              const std::function<bool()>& stop = {}) override;
  const MeasureTimings& timings() const override { return timings_; }
  AsyncMeasurer* asynchronous() override { return this; }

  // The whole record of an answer; adds to the timings.
  Record complete(const Task& task, const Candidate& candidate, const Record& answer);

 private:
  MeasureTimings timings_;
};

}  // namespace tw::autotune
