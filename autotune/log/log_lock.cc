// SPDX-License-Identifier: Apache-2.0
#include "autotune/log/log_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "runtime/error.h"

namespace tw::autotune {
namespace {

// Record locks do not exclude their own process, so the logs it writes are kept here, with the
// process: a forked child finds its parent's entries and must not believe them.
std::mutex held_mutex;
std::map<std::string, pid_t>& held() {
  static std::map<std::string, pid_t> paths;
  return paths;
}

[[noreturn]] void busy(const std::string& log, pid_t pid) {
  raise({.code = ErrorCode::LogBusy,
         .what = pid > 0 ? fmt::format("process {} is writing this tuning log", pid)
                         : std::string("a process outside this container writes this tuning log"),
         .where = log,
         .legal = "one writer at a time; wait for it to end, or choose another --log"});
}

[[noreturn]] void cannot_lock(const std::string& log, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  const bool no_folder = error == ENOENT || error == ENOTDIR;
  raise({.code = full ? ErrorCode::DiskFull : ErrorCode::LogUnreadable,
         .what = fmt::format("cannot write the tuning log: {}",
                             no_folder ? "its folder does not exist" : std::strerror(error)),
         .where = log,
         .legal = full ? "free some space" : "a file in a folder that may be written"});
}

bool same_file(int descriptor, const std::string& path) {
  struct stat mine = {}, named = {};
  return fstat(descriptor, &mine) == 0 && stat(path.c_str(), &named) == 0 &&
         mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

}  // namespace

WriterLock::WriterLock(const std::string& log_path) : path_(log_path + "-lock") {
  const std::lock_guard guard(held_mutex);
  if (const auto mine = held().find(path_); mine != held().end() && mine->second == getpid()) {
    busy(log_path, getpid());
  }
  // The holder removes the file before it lets go of it, so one that was locked too late may be
  // nobody's any more: try again with the one that has the name now.
  for (;;) {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) cannot_lock(log_path, errno);
    struct flock request = {};
    request.l_type = F_WRLCK;
    request.l_whence = SEEK_SET;
    if (fcntl(descriptor_, F_SETLK, &request) != 0) {
      const int error = errno;
      struct flock holder = request;
      const bool known = fcntl(descriptor_, F_GETLK, &holder) == 0 && holder.l_type != F_UNLCK;
      close(descriptor_);
      if (error != EACCES && error != EAGAIN) cannot_lock(log_path, error);
      if (!known) continue;  // it has just ended
      busy(log_path, holder.l_pid);
    }
    if (same_file(descriptor_, path_)) break;
    close(descriptor_);
  }
  held()[path_] = getpid();
}

WriterLock::~WriterLock() {
  const std::lock_guard guard(held_mutex);
  const auto mine = held().find(path_);
  if (mine != held().end() && mine->second == getpid()) {
    unlink(path_.c_str());
    held().erase(mine);
  }
  close(descriptor_);
}

}  // namespace tw::autotune
