// SPDX-License-Identifier: Apache-2.0
#include "autotune/log/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tw::autotune {
namespace {

constexpr int kFlags[] = {SQLITE_OPEN_READWRITE, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                          SQLITE_OPEN_READONLY | SQLITE_OPEN_URI};

// Percent-encodes what a URI reads otherwise.
std::string immutable_uri(const std::string& file) {
  std::string uri = "file:";
  for (char c : file) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02X}", static_cast<unsigned>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

std::string name_for(const std::string& file, Database::Access access) {
  if (access == Database::Access::Memory) return ":memory:";
  return access == Database::Access::Immutable ? immutable_uri(file) : file;
}

}  // namespace

void refuse_log(ErrorCode code, const std::string& path, std::string what, std::string legal) {
  raise({.code = code, .what = std::move(what), .where = path, .legal = std::move(legal)});
}

void refuse_full_disk(const std::string& path) {
  refuse_log(ErrorCode::DiskFull, path,
             "cannot write the tuning log: its disk, or the quota or size limit on it, is full",
             "free some space and --resume; every trial reported so far is kept");
}

bool means_full(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

Database::Database(const std::string& file, const std::string& path, Access access) : path_(path) {
  const int flags = kFlags[static_cast<int>(access)] | SQLITE_OPEN_FULLMUTEX;
  const int rc = sqlite3_open_v2(name_for(file, access).c_str(), &db_, flags, nullptr);
  if (rc != SQLITE_OK) {
    const Failure failure = failure_now(rc);
    sqlite3_close(db_);
    failed(failure);
  }
  sqlite3_extended_result_codes(db_, 1);
  sqlite3_busy_timeout(db_, 20'000);
}

Database::~Database() { sqlite3_close(db_); }
Database::Database(Database&& other) noexcept { *this = std::move(other); }
Database& Database::operator=(Database&& other) noexcept {
  std::swap(db_, other.db_);
  std::swap(path_, other.path_);
  return *this;
}

int Database::run(const char* sql) const {
  errno = 0;
  return sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
}

void Database::execute(const std::string& sql) const {
  const int rc = run(sql.c_str());
  if (rc != SQLITE_OK) failed(rc);
}

int64_t Database::pragma(const char* name) const {
  Statement s(*this, fmt::format("PRAGMA {}", name));
  return s.next() ? s.integer_at(0) : 0;
}

bool Database::cannot_make_index() const {
  const int rc = run("SELECT count(*) FROM sqlite_schema");
  const int primary = rc & 0xff;
  if (primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY) return true;
  if (rc != SQLITE_OK) failed(rc);
  return false;
}

void Database::copy_from(const Database& other) const {
  sqlite3_backup* backup = sqlite3_backup_init(db_, "main", other.db_, "main");
  if (backup == nullptr) failed(sqlite3_errcode(db_));
  sqlite3_backup_step(backup, -1);
  const int finished = sqlite3_backup_finish(backup);
  if (finished != SQLITE_OK) failed(finished);
}

// A commit that fails leaves its reason in errno alone.
Database::Failure Database::failure_now(int rc) const {
  const int last = errno;
  const int known = db_ != nullptr ? sqlite3_system_errno(db_) : 0;
  return {rc, known != 0 ? known : last, db_ != nullptr ? sqlite3_errmsg(db_) : "no memory"};
}

void Database::failed(const Failure& failure) const {
  const int primary = failure.code & 0xff;
  if (primary == SQLITE_FULL || (primary == SQLITE_IOERR && means_full(failure.system)) ||
      (primary == SQLITE_CANTOPEN && means_full(failure.system))) {
    refuse_full_disk(path_);
  }
  if (primary == SQLITE_NOTADB || primary == SQLITE_CORRUPT) {
    refuse_log(ErrorCode::LogUnreadable, path_,
               fmt::format("the tuning log is damaged ({})", failure.text),
               "restore a copy; the sqlite3 program's .recover saves what is readable");
  }
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) {
    refuse_log(ErrorCode::LogBusy, path_, "the tuning log is locked by another program",
               "close the program that has it open (a database browser, a backup) and try again");
  }
  if (primary == SQLITE_NOMEM) {
    raise({.code = ErrorCode::OutOfMemory,
           .what = "no memory to read the tuning log",
           .where = path_});
  }
  refuse_log(ErrorCode::LogUnreadable, path_,
             failure.system != 0 ? fmt::format("cannot use the tuning log: {} ({})", failure.text,
                                               std::strerror(failure.system))
                                 : fmt::format("cannot use the tuning log: {}", failure.text));
}

Statement::Statement(const Database& db, const std::string& sql) : db_(db) {
  const int rc = sqlite3_prepare_v2(db.db_, sql.c_str(), -1, &statement_, nullptr);
  if (rc != SQLITE_OK) db.failed(rc);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::text(std::string_view value) {
  check(sqlite3_bind_text64(statement_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
  return *this;
}

Statement& Statement::integer(int64_t value) {
  check(sqlite3_bind_int64(statement_, ++bound_, value));
  return *this;
}

Statement& Statement::real(double value) {
  const bool finite = value - value == 0;
  check(finite ? sqlite3_bind_double(statement_, ++bound_, value)
               : sqlite3_bind_null(statement_, ++bound_));
  return *this;
}

Statement& Statement::null() {
  check(sqlite3_bind_null(statement_, ++bound_));
  return *this;
}

bool Statement::next() {
  errno = 0;
  const int rc = sqlite3_step(statement_);
  if (rc == SQLITE_ROW) return true;
  if (rc != SQLITE_DONE) db_.failed(rc);
  return false;
}

void Statement::finish() {
  while (next()) {
  }
}

std::string Statement::text_at(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
  return bytes == nullptr ? std::string() : std::string(bytes, size);
}

int64_t Statement::integer_at(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::real_at(int column) const { return sqlite3_column_double(statement_, column); }
bool Statement::null_at(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

void Statement::check(int rc) const {
  if (rc != SQLITE_OK) db_.failed(rc);
}

}  // namespace tw::autotune
