// SPDX-License-Identifier: Apache-2.0
// The one file that knows SQLite. A trial is one INSERT and one commit; with WAL and
// synchronous=FULL the commit has reached the disk when `append` returns.
#include "autotune/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "autotune/log_lock.h"
#include "runtime/error.h"

namespace tw::autotune {
namespace {

// "TwTl": what `file` and we recognise a log by.
constexpr int32_t kApplicationId = 0x5477546c;

// How a log of version `to - 1` becomes one of version `to`. A new file is a log of version 0.
struct Migration {
  int to;
  const char* sql;
};
constexpr Migration kMigrations[] = {
    {1, R"sql(
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL UNIQUE,      -- random name of one run of the tuner
  host TEXT NOT NULL, cpu TEXT NOT NULL, os TEXT NOT NULL,
  version TEXT NOT NULL, llvm_version TEXT NOT NULL,
  seed INTEGER NOT NULL,         -- the 64 bits, read as signed
  command TEXT NOT NULL,
  started TEXT NOT NULL          -- UTC, ISO 8601
);
CREATE TABLE tasks (
  id INTEGER PRIMARY KEY,
  workload TEXT NOT NULL UNIQUE, -- hash of the te program without names
  name TEXT NOT NULL,
  te_text TEXT NOT NULL,
  added TEXT NOT NULL
);
CREATE TABLE trials (
  id INTEGER PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES tasks (id),
  target TEXT NOT NULL,
  threads INTEGER NOT NULL,
  trace TEXT NOT NULL,
  error TEXT,                    -- class of the failure; NULL: verified
  message TEXT NOT NULL,
  seconds TEXT NOT NULL,         -- JSON array: every raw timing of one call
  median REAL,                   -- of seconds; NULL for failures
  compile_seconds REAL NOT NULL,
  elapsed_seconds REAL NOT NULL, -- since the run began
  ir_hash TEXT NOT NULL,
  seed INTEGER NOT NULL,
  origin TEXT NOT NULL,
  predicted REAL,
  run INTEGER REFERENCES runs (id),
  created TEXT NOT NULL
);
CREATE INDEX trials_by_key ON trials (task, target, threads, median);
CREATE VIEW records AS
  SELECT trials.id, workload, name, target, threads, coalesce(error, 'ok') AS status, median,
         compile_seconds, origin, runs.run, created, trace, message
  FROM trials JOIN tasks ON trials.task = tasks.id LEFT JOIN runs ON trials.run = runs.id;
)sql"},
};
static_assert(std::size(kMigrations) == kLogVersion);

constexpr const char* kNow = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
constexpr const char* kLegalLog = "a log that autotune --log made, or a path where none is yet";

[[noreturn]] void refuse(ErrorCode code, const std::string& path, std::string what,
                         std::string legal = kLegalLog) {
  raise({.code = code, .what = std::move(what), .where = path, .legal = std::move(legal)});
}

[[noreturn]] void disk_full(const std::string& path) {
  refuse(ErrorCode::DiskFull, path,
         "cannot write the tuning log: its disk, or the quota or size limit on it, is full",
         "free some space and --resume; every trial reported so far is kept");
}

bool means_full(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

// An open database; every failure of SQLite leaves here as a typed error.
class Database {
 public:
  Database() = default;
  Database(const std::string& uri_or_path, const std::string& path, int flags) : path_(path) {
    const int rc =
        sqlite3_open_v2(uri_or_path.c_str(), &db_, flags | SQLITE_OPEN_FULLMUTEX, nullptr);
    if (rc != SQLITE_OK) {
      const Failure failure = failure_now(rc);
      sqlite3_close(db_);
      failed(failure);
    }
    sqlite3_extended_result_codes(db_, 1);
    sqlite3_busy_timeout(db_, 20'000);
  }
  ~Database() { sqlite3_close(db_); }
  Database(Database&& other) noexcept { *this = std::move(other); }
  Database& operator=(Database&& other) noexcept {
    std::swap(db_, other.db_);
    std::swap(path_, other.path_);
    return *this;
  }

  sqlite3* get() const { return db_; }
  int run(const char* sql) const {
    errno = 0;
    return sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  }
  void execute(const std::string& sql) const {
    const int rc = run(sql.c_str());
    if (rc != SQLITE_OK) failed(rc);
  }
  [[noreturn]] void failed(int rc) const { failed(failure_now(rc)); }

 private:
  struct Failure {
    int code, system;
    std::string text;
  };
  // A commit that fails leaves its reason in errno alone.
  Failure failure_now(int rc) const {
    const int last = errno;
    const int known = db_ != nullptr ? sqlite3_system_errno(db_) : 0;
    return {rc, known != 0 ? known : last, db_ != nullptr ? sqlite3_errmsg(db_) : "no memory"};
  }
  [[noreturn]] void failed(const Failure& failure) const {
    const int primary = failure.code & 0xff;
    if (primary == SQLITE_FULL || (primary == SQLITE_IOERR && means_full(failure.system)) ||
        (primary == SQLITE_CANTOPEN && means_full(failure.system))) {
      disk_full(path_);
    }
    if (primary == SQLITE_NOTADB || primary == SQLITE_CORRUPT) {
      refuse(ErrorCode::LogUnreadable, path_,
             fmt::format("the tuning log is damaged ({})", failure.text),
             "restore a copy; the sqlite3 program's .recover saves what is readable");
    }
    if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) {
      refuse(ErrorCode::LogBusy, path_, "the tuning log is locked by another program",
             "close the program that has it open (a database browser, a backup) and try again");
    }
    if (primary == SQLITE_NOMEM) {
      raise({.code = ErrorCode::OutOfMemory,
             .what = "no memory to read the tuning log",
             .where = path_});
    }
    refuse(ErrorCode::LogUnreadable, path_,
           failure.system != 0 ? fmt::format("cannot use the tuning log: {} ({})", failure.text,
                                             std::strerror(failure.system))
                               : fmt::format("cannot use the tuning log: {}", failure.text));
  }

  sqlite3* db_ = nullptr;
  std::string path_;
};

// One statement with its parameters bound in order.
class Statement {
 public:
  Statement(const Database& db, const std::string& sql) : db_(db) {
    const int rc = sqlite3_prepare_v2(db.get(), sql.c_str(), -1, &statement_, nullptr);
    if (rc != SQLITE_OK) db.failed(rc);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& text(std::string_view value) {
    check(sqlite3_bind_text64(statement_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT,
                              SQLITE_UTF8));
    return *this;
  }
  Statement& integer(int64_t value) {
    check(sqlite3_bind_int64(statement_, ++bound_, value));
    return *this;
  }
  // NaN and infinities become NULL.
  Statement& real(double value) {
    const bool finite = value - value == 0;
    check(finite ? sqlite3_bind_double(statement_, ++bound_, value)
                 : sqlite3_bind_null(statement_, ++bound_));
    return *this;
  }
  Statement& null() {
    check(sqlite3_bind_null(statement_, ++bound_));
    return *this;
  }

  // The next row, or false.
  bool next() {
    errno = 0;
    const int rc = sqlite3_step(statement_);
    if (rc == SQLITE_ROW) return true;
    if (rc != SQLITE_DONE) db_.failed(rc);
    return false;
  }
  void finish() {
    while (next()) {
    }
  }
  std::string text_at(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
    return bytes == nullptr ? std::string() : std::string(bytes, size);
  }
  int64_t integer_at(int column) const { return sqlite3_column_int64(statement_, column); }
  double real_at(int column) const { return sqlite3_column_double(statement_, column); }
  bool null_at(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

 private:
  void check(int rc) const {
    if (rc != SQLITE_OK) db_.failed(rc);
  }
  const Database& db_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

int64_t pragma(const Database& db, const char* name) {
  Statement s(db, fmt::format("PRAGMA {}", name));
  return s.next() ? s.integer_at(0) : 0;
}

[[noreturn]] void newer(const std::string& path, int64_t version) {
  refuse(ErrorCode::LogNewer, path,
         fmt::format("the tuning log has version {}, made by a later Tilewright", version),
         fmt::format("versions up to {}; use the later Tilewright, or another file", kLogVersion));
}

// Everything that the first bytes of a file tell, without letting SQLite touch a file that is not
// ours. A log gets its name only once it is complete, so the header is never half written.
enum class FileState { Missing, Empty, Log };
FileState look_at(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return FileState::Missing;
    refuse(ErrorCode::LogUnreadable, path,
           fmt::format("cannot open the tuning log: {}", std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) {
    refuse(ErrorCode::LogUnreadable, path, "cannot open the tuning log: it is a folder",
           "the path of a file");
  }
  if (!S_ISREG(info.st_mode)) {
    refuse(ErrorCode::LogForeign, path, "a tuning log must be a regular file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    refuse(ErrorCode::LogUnreadable, path,
           fmt::format("cannot open the tuning log: {}", std::strerror(errno)));
  }
  std::array<char, 100> header = {};
  file.read(header.data(), header.size());
  if (file.gcount() == 0) return FileState::Empty;
  const auto number = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(header[at + i]);
    return static_cast<int32_t>(value);
  };
  if (std::string_view(header.data(), 16) != std::string_view("SQLite format 3\0", 16)) {
    refuse(ErrorCode::LogForeign, path, "this file is not a tuning log");
  }
  if (number(68) != kApplicationId) {
    refuse(ErrorCode::LogForeign, path, "this SQLite database is not a tuning log");
  }
  if (number(60) > kLogVersion) newer(path, number(60));
  return FileState::Log;
}

void migrate(const Database& db, const std::string& path) {
  const int64_t version = pragma(db, "user_version");
  if (version > kLogVersion) newer(path, version);
  for (const Migration& migration : kMigrations) {
    if (migration.to <= version) continue;
    db.execute("BEGIN IMMEDIATE");
    db.execute(migration.sql);
    db.execute(fmt::format("PRAGMA user_version = {}", migration.to));
    db.execute("COMMIT");
  }
}

// Makes an empty log under another name first: whoever finds `path` finds a complete log, also
// after a crash or on a full disk.
void create(const std::string& path) {
  const std::string fresh = fmt::format("{}.new-{}", path, getpid());
  struct Remove {
    const std::string& name;
    ~Remove() { unlink(name.c_str()); }
  } remove{fresh};
  unlink(fresh.c_str());
  {
    Database db(fresh, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    db.execute("PRAGMA journal_mode = MEMORY");
    db.execute("PRAGMA synchronous = FULL");
    db.execute(fmt::format("PRAGMA application_id = {}", kApplicationId));
    migrate(db, path);
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) {
    if (means_full(errno)) disk_full(path);
    refuse(ErrorCode::LogUnreadable, path,
           fmt::format("cannot create the tuning log: {}", std::strerror(errno)));
  }
}

Database open_writer(const std::string& path) {
  if (look_at(path) != FileState::Log) create(path);
  if (access(path.c_str(), W_OK) != 0) {
    refuse(ErrorCode::LogUnreadable, path,
           fmt::format("cannot write the tuning log: {}", std::strerror(errno)),
           "a file and a folder that may be written");
  }
  Database db(path, path, SQLITE_OPEN_READWRITE);
  // File systems without shared memory keep the rollback journal, which is as durable.
  db.execute("PRAGMA journal_mode = WAL");
  db.execute("PRAGMA synchronous = FULL");
  db.execute("PRAGMA foreign_keys = ON");
  migrate(db, path);
  return db;
}

// Percent-encodes what a URI reads otherwise.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02X}", static_cast<unsigned>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

bool has_bytes(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && info.st_size > 0;
}

// Readers open for writing where they may, only so that the last one to leave takes the write-ahead
// files away; they change nothing.
Database open_reader(const std::string& path) {
  switch (look_at(path)) {
    case FileState::Missing:
      refuse(ErrorCode::LogUnreadable, path, "there is no such tuning log",
             "a log that autotune --log made");
    case FileState::Empty:
      refuse(ErrorCode::LogForeign, path, "this file is empty, not a tuning log",
             "a log that autotune --log made");
    case FileState::Log:
      break;
  }
  Database db(path, path, SQLITE_OPEN_READWRITE);
  const int rc = db.run("SELECT count(*) FROM sqlite_schema");
  // On read-only media SQLite cannot make the index of the write-ahead log; without such a log the
  // file alone is everything.
  if (const int primary = rc & 0xff;
      (primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY) && !has_bytes(path + "-wal")) {
    db = Database(immutable_uri(path), path, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  } else if (rc != SQLITE_OK) {
    db.failed(rc);
  }
  const int64_t version = pragma(db, "user_version");
  if (version > kLogVersion) newer(path, version);
  if (version < kLogVersion) {
    // An older log is brought up to date in a copy; only a writer changes the file.
    Database copy(":memory:", path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    sqlite3_backup* backup = sqlite3_backup_init(copy.get(), "main", db.get(), "main");
    if (backup == nullptr) copy.failed(sqlite3_errcode(copy.get()));
    sqlite3_backup_step(backup, -1);
    const int finished = sqlite3_backup_finish(backup);
    if (finished != SQLITE_OK) copy.failed(finished);
    migrate(copy, path);
    db = std::move(copy);
  }
  db.execute("PRAGMA query_only = ON");
  return db;
}

ErrorCode parse_error_code(std::string_view text) {
  static constexpr ErrorCode kCodes[] = {
#define ERROR_CODE(Name, Kind, Text) ErrorCode::Name,
#include "runtime/error_codes.def"
#undef ERROR_CODE
  };
  for (ErrorCode code : kCodes) {
    if (to_string(code) == text) return code;
  }
  return ErrorCode::Internal;  // a class that a later Tilewright added
}

Origin parse_origin(std::string_view text) {
  for (Origin origin : {Origin::Prior, Origin::Random, Origin::Script}) {
    if (to_string(origin) == text) return origin;
  }
  return Origin::Search;
}

constexpr std::string_view kSelect =
    "SELECT trials.id, workload, target, threads, trace, error, message, seconds, compile_seconds, "
    "elapsed_seconds, ir_hash, trials.seed, origin, predicted, runs.run, created "
    "FROM trials JOIN tasks ON trials.task = tasks.id LEFT JOIN runs ON trials.run = runs.id ";

Record read_record(const Statement& row, const std::string& path) {
  Record r;
  r.id = row.integer_at(0);
  r.workload = row.text_at(1);
  r.target = row.text_at(2);
  r.threads = static_cast<int>(row.integer_at(3));
  r.trace = row.text_at(4);
  if (!row.null_at(5)) r.error = parse_error_code(row.text_at(5));
  r.message = row.text_at(6);
  const auto seconds = nlohmann::json::parse(row.text_at(7), nullptr, false);
  if (!seconds.is_array()) {
    refuse(ErrorCode::LogUnreadable, path,
           fmt::format("the tuning log is damaged (timings of trial {})", r.id));
  }
  for (const auto& value : seconds)
    r.seconds.push_back(value.is_number() ? value.get<double>() : 0);
  r.compile_seconds = row.real_at(8);
  r.elapsed_seconds = row.real_at(9);
  r.ir_hash = row.text_at(10);
  r.seed = std::bit_cast<uint64_t>(row.integer_at(11));
  r.origin = parse_origin(row.text_at(12));
  r.predicted = row.null_at(13) ? -std::numeric_limits<double>::infinity() : row.real_at(13);
  r.run = row.text_at(14);
  r.created = row.text_at(15);
  return r;
}

}  // namespace

struct Log::State {
  std::string path;
  Mode mode;
  std::optional<WriterLock> lock;  // released after the database is closed
  Database db;

  void writing() const {
    if (mode == Mode::Write) return;
    raise({.code = ErrorCode::BadArgument,
           .what = "this tuning log was opened for reading",
           .where = path,
           .legal = "Log::Mode::Write"});
  }
};

Log::Log(const std::string& path, Mode mode) : state_(std::make_unique<State>()) {
  state_->path = path;
  state_->mode = mode;
  // Links resolved, so that one file has one lock.
  std::error_code ignored;
  std::string file = std::filesystem::weakly_canonical(path, ignored).string();
  if (ignored || file.empty()) file = path;
  if (mode == Mode::Read) {
    state_->db = open_reader(file);
    return;
  }
  look_at(file);  // a file that is not ours is refused before anything is left beside it
  state_->lock.emplace(file);
  state_->db = open_writer(file);
}
Log::~Log() = default;
Log::Log(Log&&) noexcept = default;

void Log::begin_run(const RunInfo& info) {
  state_->writing();
  Statement(state_->db, fmt::format("INSERT INTO runs (run, host, cpu, os, version, llvm_version, "
                                    "seed, command, started) VALUES (?,?,?,?,?,?,?,?,{})",
                                    kNow))
      .text(info.id)
      .text(info.host)
      .text(info.cpu)
      .text(info.os)
      .text(info.version)
      .text(info.llvm_version)
      .integer(std::bit_cast<int64_t>(info.seed))
      .text(info.command)
      .finish();
}

void Log::add_task(const Task& task) {
  state_->writing();
  Statement(state_->db, fmt::format("INSERT OR IGNORE INTO tasks (workload, name, te_text, added) "
                                    "VALUES (?,?,?,{})",
                                    kNow))
      .text(task.workload)
      .text(task.name)
      .text(task.te_text)
      .finish();
}

int64_t Log::append(const Record& record) {
  state_->writing();
  const auto id_of = [&](const char* sql, const std::string& key) -> std::optional<int64_t> {
    Statement s(state_->db, sql);
    s.text(key);
    if (!s.next()) return {};
    return s.integer_at(0);
  };
  const auto task = id_of("SELECT id FROM tasks WHERE workload = ?", record.workload);
  if (!task) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("a trial of workload '{}', which the log does not know",
                               record.workload),
           .where = state_->path,
           .legal = "workloads given to add_task"});
  }
  std::optional<int64_t> run;
  if (!record.run.empty()) {
    run = id_of("SELECT id FROM runs WHERE run = ?", record.run);
    if (!run) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("a trial of run '{}', which the log does not know", record.run),
             .where = state_->path,
             .legal = "runs given to begin_run"});
    }
  }
  Statement insert(
      state_->db,
      fmt::format(
          "INSERT INTO trials (task, target, threads, trace, error, message, seconds, "
          "median, compile_seconds, elapsed_seconds, ir_hash, seed, origin, predicted, run, "
          "created) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,{}) RETURNING id",
          kNow));
  insert.integer(*task).text(record.target).integer(record.threads).text(record.trace);
  if (record.error) {
    insert.text(to_string(*record.error));
  } else {
    insert.null();
  }
  insert.text(record.message)
      .text(nlohmann::json(record.seconds).dump())
      .real(record.median())
      .real(record.compile_seconds)
      .real(record.elapsed_seconds)
      .text(record.ir_hash)
      .integer(std::bit_cast<int64_t>(record.seed))
      .text(to_string(record.origin))
      .real(record.predicted);
  if (run) {
    insert.integer(*run);
  } else {
    insert.null();
  }
  const int64_t id = insert.next() ? insert.integer_at(0) : 0;
  insert.finish();  // the commit
  return id;
}

std::optional<Record> Log::best(const std::string& workload, const std::string& target,
                                int threads) const {
  Statement s(state_->db, fmt::format("{} WHERE workload = ? AND target = ? AND threads = ? AND "
                                      "error IS NULL AND median IS NOT NULL "
                                      "ORDER BY median, trials.id LIMIT 1",
                                      kSelect));
  s.text(workload).text(target).integer(threads);
  if (!s.next()) return {};
  return read_record(s, state_->path);
}

std::vector<Record> Log::records(const std::string& workload, const std::string& target,
                                 int threads) const {
  Statement s(state_->db,
              fmt::format("{} WHERE (?1 = '' OR workload = ?1) AND (?2 = '' OR target = ?2) AND "
                          "(?3 = 0 OR threads = ?3) ORDER BY trials.id",
                          kSelect));
  s.text(workload).text(target).integer(threads);
  std::vector<Record> records;
  while (s.next()) records.push_back(read_record(s, state_->path));
  return records;
}

std::vector<Log::Workload> Log::workloads() const {
  Statement s(state_->db, "SELECT workload, name, te_text FROM tasks ORDER BY id");
  std::vector<Workload> workloads;
  while (s.next()) workloads.push_back({s.text_at(0), s.text_at(1), s.text_at(2)});
  return workloads;
}

std::optional<std::string> Log::te_text(const std::string& workload) const {
  Statement s(state_->db, "SELECT te_text FROM tasks WHERE workload = ?");
  s.text(workload);
  if (!s.next()) return {};
  return s.text_at(0);
}

const std::string& Log::path() const { return state_->path; }

}  // namespace tw::autotune
