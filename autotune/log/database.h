// SPDX-License-Identifier: Apache-2.0
// SQLite as the tuning log needs it: typed errors, parameters bound in order. The source file is
// the only one that includes SQLite.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tw::autotune {

// An error about the log at `path`.
[[noreturn]] void refuse_log(
    ErrorCode code, const std::string& path, std::string what,
    std::string legal = "a log that autotune --log made, or a path where none is yet");
[[noreturn]] void refuse_full_disk(const std::string& path);
// Whether an errno says that there is no space.
bool means_full(int error);

// An open database; every failure of SQLite leaves here as a typed error about the log.
class Database {
 public:
  enum class Access { Write, Create, Memory, Immutable };

  Database() = default;
  // Immutable: on media that nobody writes to, without the write-ahead log.
  Database(const std::string& file, const std::string& path, Access access);
  ~Database();
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;

  void execute(const std::string& sql) const;
  // PRAGMA name, a number.
  int64_t pragma(const char* name) const;
  // Whether SQLite lacks what it must make beside the file, as on read-only media.
  bool cannot_make_index() const;
  // Everything that `other` holds.
  void copy_from(const Database& other) const;

 private:
  friend class Statement;
  struct Failure {
    int code, system;
    std::string text;
  };
  Failure failure_now(int rc) const;
  [[noreturn]] void failed(const Failure& failure) const;
  [[noreturn]] void failed(int rc) const { failed(failure_now(rc)); }
  int run(const char* sql) const;

  sqlite3* db_ = nullptr;
  std::string path_;
};

// One statement with its parameters bound in order.
class Statement {
 public:
  Statement(const Database& db, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& text(std::string_view value);
  Statement& integer(int64_t value);
  Statement& real(double value);  // NaN and infinities become NULL
  Statement& null();

  bool next();  // the next row, or false
  void finish();
  std::string text_at(int column) const;
  int64_t integer_at(int column) const;
  double real_at(int column) const;
  bool null_at(int column) const;

 private:
  void check(int rc) const;
  const Database& db_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

}  // namespace tw::autotune
