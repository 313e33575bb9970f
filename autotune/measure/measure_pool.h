// SPDX-License-Identifier: Apache-2.0
// The worker processes of a measurer: requests, replies, deadlines, deaths and replacements. What
// is asked of them is measure.cc's business.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "autotune/measure/worker_process.h"
#include "autotune/task/task.h"

namespace tw::autotune {

using Clock = std::chrono::steady_clock;

// One place for a worker; its process comes and goes.
struct Slot {
  std::unique_ptr<WorkerProcess> process;
  std::string task;      // that the process was told about
  bool busy = false;     // a reply is due
  bool started = false;  // the worker has begun what the reply is due for
  bool proven = false;   // the process has said something
  int64_t request = -1;  // what the caller calls the request that is due
  int64_t last = -1;     // the one before it
  Clock::time_point deadline;
  int handled = 0;   // candidates that this process has compiled
  int64_t held = 0;  // compiled candidates that it still has
};

struct WorkerEvent {
  enum class Kind { Reply, Died, TimedOut };
  Kind kind;
  size_t slot;
  int64_t request;       // that was due, or -1 when the worker was idle
  bool started;          // false: whatever happened has nothing to do with `request`
  int64_t last;          // the request before, or -1
  nlohmann::json reply;  // Reply
  ProcessEnd end;        // Died
};

class WorkerPool {
 public:
  WorkerPool(size_t size, std::string program, uint64_t seed);

  size_t size() const { return slots_.size(); }
  Slot& slot(size_t k) { return slots_[k]; }
  // Sends a request to an idle slot, after starting a process and describing the task where that is
  // missing. A worker that is already dead shows as a Died event.
  void ask(size_t k, const Task& task, int64_t request, const nlohmann::json& message,
           double seconds);
  // What happened, after waiting for at most `seconds`; empty when nothing did. After Died and
  // TimedOut the slot has no process. Throws WorkerLost when workers end again and again before
  // they have done anything.
  std::vector<WorkerEvent> wait(double seconds);
  // Forgets compiled candidates; kills workers that are busy.
  void reset();
  // Ends idle processes that compiled at least this many candidates.
  void recycle(int most);
  int64_t resident_bytes() const;

 private:
  std::vector<Slot> slots_;
  std::string program_;
  uint64_t seed_;
  int failed_starts_ = 0;
};

}  // namespace tw::autotune
