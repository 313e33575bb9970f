// SPDX-License-Identifier: Apache-2.0
#include "runtime/log.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace tw {
namespace {

constexpr std::string_view kNames[] = {"debug", "info", "warning", "silent"};

void write_line(std::string_view level, std::string_view message) {
  std::string line = "tilewright ";
  line.append(level).append(": ").append(message).append("\n");
  // A closed or full stderr is nobody's error.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

LogLevel level_from_environment() {
  const char* text = std::getenv("TILEWRIGHT_LOG");
  if (text == nullptr || *text == '\0') return LogLevel::Warning;
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == text) return static_cast<LogLevel>(i);
  }
  write_line("warning",
             "TILEWRIGHT_LOG is '" + std::string(text) + "'; legal: debug, info, warning, silent");
  return LogLevel::Warning;
}

std::atomic<LogLevel>& level_variable() {
  static std::atomic<LogLevel> level{level_from_environment()};
  return level;
}

}  // namespace

bool log_enabled(LogLevel level) { return level >= log_level(); }
LogLevel log_level() { return level_variable().load(std::memory_order_relaxed); }
void set_log_level(LogLevel level) { level_variable().store(level, std::memory_order_relaxed); }

void log(LogLevel level, std::string_view message) {
  if (level == LogLevel::Silent || !log_enabled(level)) return;
  write_line(kNames[static_cast<size_t>(level)], message);
}

}  // namespace tw
