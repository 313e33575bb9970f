// SPDX-License-Identifier: Apache-2.0
// Messages to stderr, one line each. TILEWRIGHT_LOG=debug|info|warning|silent says from which
// level on; warning is the default. What is an error is thrown, not logged.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/api.h"

namespace tw {

enum class LogLevel : uint8_t { Debug, Info, Warning, Silent };

// Ask first where building the message costs something.
TW_API bool log_enabled(LogLevel level);
// Writes "tilewright warning: message" as one write, so that lines of threads do not mix.
TW_API void log(LogLevel level, std::string_view message);
TW_API void set_log_level(LogLevel level);
TW_API LogLevel log_level();

inline void log_debug(std::string_view message) { log(LogLevel::Debug, message); }
inline void log_info(std::string_view message) { log(LogLevel::Info, message); }
inline void log_warning(std::string_view message) { log(LogLevel::Warning, message); }

}  // namespace tw
