// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/worker_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "runtime/error.h"

extern char** environ;

namespace tw::autotune {
namespace {

[[noreturn]] void cannot_start(const std::string& program, int error) {
  raise({.code = ErrorCode::WorkerLost,
         .what = fmt::format("cannot start the worker program: {}", std::strerror(error)),
         .where = program,
         .legal = "the path of tilewright-worker, in TILEWRIGHT_WORKER or in the options"});
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

// The last line of what a process wrote; at most 400 bytes of it.
std::string last_line(int descriptor) {
  struct stat info = {};
  if (fstat(descriptor, &info) != 0 || info.st_size == 0) return {};
  constexpr off_t kMost = 4096;
  const off_t from = std::max<off_t>(0, info.st_size - kMost);
  std::string text(static_cast<size_t>(info.st_size - from), '\0');
  const ssize_t got = pread(descriptor, text.data(), text.size(), from);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  // LLVM's crash handler prints the program's arguments and a stack after the reason.
  if (const size_t stack = text.find("PLEASE submit"); stack != std::string::npos) {
    text.resize(stack);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.pop_back();
  }
  if (const size_t newline = text.rfind('\n'); newline != std::string::npos) {
    text.erase(0, newline + 1);
  }
  if (text.size() > 400) text.resize(400);
  return text;
}

}  // namespace

std::string worker_program(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* named = std::getenv("TILEWRIGHT_WORKER"); named != nullptr && *named != '\0') {
    return named;
  }
  Dl_info info = {};
  std::filesystem::path folder;
  if (dladdr(reinterpret_cast<const void*>(&worker_program), &info) != 0 &&
      info.dli_fname != nullptr) {
    std::error_code ignored;
    folder = std::filesystem::absolute(info.dli_fname, ignored).parent_path();
  }
  return (folder / "tilewright-worker").string();
}

std::string ProcessEnd::text() const {
  const std::string how = signal != 0 ? "killed by " + signal_name(signal)
                                      : fmt::format("exited with status {}", status);
  return said.empty() ? how : how + ": " + said;
}

WorkerProcess::WorkerProcess(const std::string& program) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) cannot_start(program, errno);
  channel_ = std::make_unique<Channel>(ends[0]);
  // The duplicate for the child must not be numbered like one that the actions below overwrite.
  const int theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
  close(ends[1]);
  said_ = memfd_create("worker-stderr", MFD_CLOEXEC);
  const int their_stderr = said_ >= 0 ? fcntl(said_, F_DUPFD_CLOEXEC, 10) : -1;

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  // TILEWRIGHT_LOG and TILEWRIGHT_DUMP ask to see what workers print.
  const bool show =
      std::getenv("TILEWRIGHT_LOG") != nullptr || std::getenv("TILEWRIGHT_DUMP") != nullptr;
  if (their_stderr >= 0 && !show) {
    posix_spawn_file_actions_adddup2(&actions, their_stderr, STDERR_FILENO);
  }
  posix_spawn_file_actions_adddup2(&actions, theirs, Channel::kWorkerDescriptor);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  sigdelset(&signals, SIGKILL);
  sigdelset(&signals, SIGSTOP);
  posix_spawnattr_setsigdefault(&attributes, &signals);

  std::string name = "tilewright-worker";
  char* arguments[] = {name.data(), nullptr};
  const int error =
      theirs < 0 ? errno
                 : posix_spawn(&pid_, program.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (theirs >= 0) close(theirs);
  if (their_stderr >= 0) close(their_stderr);
  if (error != 0) {
    if (said_ >= 0) close(said_);
    cannot_start(program, error);
  }
}

WorkerProcess::~WorkerProcess() {
  end();
  if (said_ >= 0) close(said_);
}

ProcessEnd WorkerProcess::end() {
  if (reaped_) return end_;
  int status = 0;
  // One whose socket has just closed is about to be gone by itself, and how is worth knowing.
  pid_t got = waitpid(pid_, &status, WNOHANG);
  pollfd closed = {.fd = channel_->descriptor(), .events = 0, .revents = 0};
  if (got == 0 && poll(&closed, 1, 0) > 0 && (closed.revents & POLLHUP) != 0) {
    for (int i = 0; i < 200 && got == 0; ++i) {
      usleep(1000);
      got = waitpid(pid_, &status, WNOHANG);
    }
  }
  if (got == 0) {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);  // it may not have made its group yet
    while ((got = waitpid(pid_, &status, 0)) < 0 && errno == EINTR) {
    }
  }
  reaped_ = true;
  // Somebody who ignores SIGCHLD leaves nothing to wait for.
  if (got == pid_) {
    end_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end_.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  }
  if (said_ >= 0) end_.said = last_line(said_);
  return end_;
}

int64_t WorkerProcess::resident_bytes() const {
  if (reaped_) return 0;
  std::ifstream file(fmt::format("/proc/{}/statm", pid_));
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace tw::autotune
