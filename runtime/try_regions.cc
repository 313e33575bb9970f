// SPDX-License-Identifier: Apache-2.0
// The program tilewright-codegen (graph/byoc/worker) reads a region a line and writes a line for
// each, "ok" or what went wrong. Where it ends before, the region in work is what ended it, and
// another process goes on behind that.
#include "runtime/try_regions.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "runtime/error.h"
#include "runtime/region_json.h"

namespace tw::vendor {
namespace {

class File {
 public:
  explicit File(const char* name) : descriptor_(memfd_create(name, MFD_CLOEXEC)) {
    if (descriptor_ < 0) {
      raise({.code = ErrorCode::WorkerLost, .what = "there is no file for regions"});
    }
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int descriptor() const { return descriptor_; }
  void write(const std::string& text) const {
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(descriptor_, text.data() + done, text.size() - done);
      if (n <= 0) raise({.code = ErrorCode::DiskFull, .what = "a region cannot be written"});
      done += static_cast<size_t>(n);
    }
    lseek(descriptor_, 0, SEEK_SET);
  }
  std::vector<std::string> lines() const {
    std::string text;
    char buffer[4096];
    for (off_t at = 0; true;) {
      const ssize_t n = pread(descriptor_, buffer, sizeof buffer, at);
      if (n <= 0) break;
      text.append(buffer, static_cast<size_t>(n));
      at += n;
    }
    std::vector<std::string> result;
    for (size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
      result.push_back(text.substr(0, end));
    return result;
  }

 private:
  int descriptor_;
};

std::filesystem::path worker_program() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&try_regions), &info) == 0 || info.dli_fname == nullptr)
    return "tilewright-codegen";
  std::error_code ignored;
  return std::filesystem::absolute(info.dli_fname, ignored).parent_path() / "tilewright-codegen";
}

// Writes a line for each region until it ends; says how.
std::string run_worker(std::vector<std::string> arguments, const File& in, const File& out) {
  const std::string program = worker_program().string();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::string name = "tilewright-codegen";
  std::vector<char*> words{name.data()};
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, program.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    raise({.code = ErrorCode::WorkerLost,
           .what = fmt::format("{} cannot be started: {}", program, std::strerror(error))});
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFSIGNALED(status)) return fmt::format("ended with status {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  if (signal == SIGALRM) return "took too long";
  return fmt::format("was killed by {}", strsignal(signal));
}

}  // namespace

std::vector<std::string> try_regions(const std::string& library,
                                     const std::vector<Region>& regions) {
  std::vector<std::string> problems;
  while (problems.size() < regions.size()) {
    const File in("regions"), out("results");
    std::string text;
    for (size_t k = problems.size(); k < regions.size(); ++k) text += to_json(regions[k]) + "\n";
    in.write(text);
    const std::string end = run_worker({library}, in, out);
    for (const std::string& line : out.lines()) problems.push_back(line == "ok" ? "" : line);
    if (problems.size() < regions.size()) problems.push_back("the process that built it " + end);
  }
  return problems;
}

std::string try_saved_region(const std::filesystem::path& folder, std::string_view region) {
  if (!std::filesystem::exists(worker_program())) return "";
  const File in("regions"), out("results");
  const std::string end = run_worker({folder.string(), std::string(region)}, in, out);
  const std::vector<std::string> lines = out.lines();
  if (lines.empty()) return "the process that built it " + end;
  return lines.front() == "ok" ? "" : lines.front();
}

}  // namespace tw::vendor
