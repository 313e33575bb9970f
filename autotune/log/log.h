// SPDX-License-Identifier: Apache-2.0
// The tuning log: SQLite in WAL mode, one writer, a commit a trial. It holds everything that replay
// needs (te text, target, trace) and everything that was measured, and never deletes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autotune/log/vendor_choice.h"
#include "autotune/task/record.h"
#include "autotune/task/task.h"

namespace tw::autotune {

inline constexpr int kLogVersion = 4;

// Facts of the machine and the software, stored once per run of the tuner.
struct RunInfo {
  std::string id;  // random, unique
  std::string host, cpu, os, version, llvm_version;
  uint64_t seed = 0;
  std::string command;  // as typed
};

// A race of trials, and who won.
struct RaceRecord {
  int64_t winner = 0;  // the trial's id
  bool settled = false;
  std::string run;                                 // id of the tuner run
  std::map<int64_t, std::vector<double>> seconds;  // by trial: one a round that it was in
};

class Log {
 public:
  enum class Mode { Read, Write };
  // Write creates the file when missing. Errors: LogUnreadable, LogForeign (an SQLite file, or any
  // file, that is not ours), LogNewer (made by a later version), LogBusy (another writer; says its
  // process id), DiskFull.
  Log(const std::string& path, Mode mode);
  ~Log();
  Log(Log&&) noexcept;

  void begin_run(const RunInfo& info);
  // Remembers the task's te text; idempotent.
  void add_task(const Task& task);
  // Durable when it returns. Gives the record's id.
  int64_t append(const Record& record);
  // Of trials of one task that are in the log; durable when it returns.
  void append(const RaceRecord& race);
  void append(const VendorChoice& choice);

  // Best verified record for a workload on a target with this many threads, of those timed with
  // such caches, where there are any, and measured on machines of this kind, where there are any,
  // else of the kind that most were measured on: the winner of the last race, or a later trial
  // whose median is less than the winner's; where none was raced the least median.
  std::optional<Record> best(const std::string& workload, const std::string& target, int threads,
                             CacheState caches = CacheState::Hot) const;
  // All records of one workload in the order they were made; all workloads when empty.
  std::vector<Record> records(const std::string& workload = "", const std::string& target = "",
                              int threads = 0) const;
  // The last choice of a key that was made with these kernels of ours, as VendorChoice::kernels has
  // them, on machines of this kind. A damaged one is passed over, and `damaged` says so in a line.
  std::optional<VendorChoice> choice(const VendorKey& key,
                                     const std::map<std::string, int64_t>& kernels,
                                     std::vector<std::string>* damaged = nullptr) const;
  struct Workload {
    std::string id, name, te_text;
  };
  std::vector<Workload> workloads() const;
  std::optional<std::string> te_text(const std::string& workload) const;
  const std::string& path() const;

 private:
  // A trial that won a race, and the last one that the log held then.
  struct Win {
    int64_t trial, last_trial;
  };
  // Of the last race that one of these won.
  std::optional<Win> last_win(const std::vector<Record>& records) const;

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tw::autotune
