// SPDX-License-Identifier: Apache-2.0
// A worker process as its measurer sees it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "autotune/measure/channel.h"

namespace tw::autotune {

// The worker program: `given`, else what TILEWRIGHT_WORKER says, else `tilewright-worker` beside
// the library (or program) that this code was linked into.
std::string worker_program(const std::string& given);

// How a process ended.
struct ProcessEnd {
  int signal = 0;            // that killed it, or 0
  int status = 0;            // its exit status otherwise
  std::string said;          // the last line it wrote to standard error
  std::string text() const;  // "killed by SIGSEGV: LLVM ERROR: …"
};

class WorkerProcess {
 public:
  // Started with posix_spawn, never fork, in a process group of its own: Ctrl-C at the terminal
  // reaches the measurer only. Throws WorkerLost when the program cannot be started.
  explicit WorkerProcess(const std::string& program);
  // Kills it, if it still runs.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  pid_t pid() const { return pid_; }
  Channel& channel() { return *channel_; }
  // Kills it unless it has ended by itself, and says how it ended.
  ProcessEnd end();
  // Resident memory in bytes; 0 when it is gone.
  int64_t resident_bytes() const;

 private:
  pid_t pid_ = -1;
  bool reaped_ = false;
  int said_ = -1;  // its standard error, a file in memory
  std::unique_ptr<Channel> channel_;
  ProcessEnd end_;
};

}  // namespace tw::autotune
