// SPDX-License-Identifier: Apache-2.0
// The file of a tuning log: its tables, how older ones are brought up to date, and how it is
// created and opened. What is no log of ours is refused before SQLite touches it.
#pragma once

#include <string>

#include "autotune/log/database.h"

namespace tw::autotune {

enum class FileState { Missing, Empty, Log };
// Throws LogUnreadable, LogForeign or LogNewer for what is none of these.
FileState look_at_log(const std::string& path);

// Creates the file when missing; brings an older log up to date.
Database open_log_writer(const std::string& path);
// Changes nothing: an older log is brought up to date in memory.
Database open_log_reader(const std::string& path);

}  // namespace tw::autotune
