// SPDX-License-Identifier: Apache-2.0
// One writer a log: an advisory lock that ends with the process that holds it.
#pragma once

#include <string>

namespace tw::autotune {

// Holds `<log>-lock`, a file beside the log that is there while somebody writes. A record lock
// (fcntl) rather than flock: a forked child does not inherit it, and the kernel knows who holds it.
class WriterLock {
 public:
  // LogBusy names the process that writes; LogUnreadable and DiskFull when the lock file cannot be
  // made.
  explicit WriterLock(const std::string& log_path);
  ~WriterLock();
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace tw::autotune
