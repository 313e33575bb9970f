// SPDX-License-Identifier: Apache-2.0
#include "autotune/log/log_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "autotune/log/log.h"

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
    {2, R"sql(
ALTER TABLE trials ADD COLUMN host TEXT NOT NULL DEFAULT '';  -- that measured it
ALTER TABLE trials ADD COLUMN kind TEXT NOT NULL DEFAULT '';  -- of its processor; instruction set
UPDATE trials SET host = runs.host, kind = runs.cpu FROM runs WHERE trials.run = runs.id;
DROP VIEW records;
CREATE VIEW records AS
  SELECT trials.id, workload, name, target, threads, coalesce(error, 'ok') AS status, median,
         compile_seconds, origin, runs.run, trials.host, kind, created, trace, message
  FROM trials JOIN tasks ON trials.task = tasks.id LEFT JOIN runs ON trials.run = runs.id;
)sql"},
    {3, R"sql(
ALTER TABLE trials ADD COLUMN caches TEXT NOT NULL DEFAULT 'hot';  -- while it was timed
CREATE TABLE races (               -- of trials of one task, timed in turns
  id INTEGER PRIMARY KEY,
  winner INTEGER NOT NULL REFERENCES trials (id),
  settled INTEGER NOT NULL,        -- 0: the winner leads, but another one may be faster
  last_trial INTEGER NOT NULL,     -- of the log when the race was run
  run INTEGER REFERENCES runs (id),
  created TEXT NOT NULL
);
CREATE TABLE race_times (
  race INTEGER NOT NULL REFERENCES races (id),
  trial INTEGER NOT NULL REFERENCES trials (id),
  seconds TEXT NOT NULL,           -- JSON array: one of each round
  median REAL NOT NULL,
  PRIMARY KEY (race, trial)
) WITHOUT ROWID;
CREATE INDEX races_by_winner ON races (winner);
-- Of trials that won a race: what it said last.
CREATE VIEW winners AS
  SELECT winner AS trial, max(races.id) AS race, last_trial, median AS seconds, settled
  FROM races JOIN race_times ON race_times.race = races.id AND race_times.trial = winner
  GROUP BY winner;
DROP VIEW records;
CREATE VIEW records AS
  SELECT trials.id, workload, name, target, threads, caches, coalesce(error, 'ok') AS status,
         median, winners.seconds AS race_median, compile_seconds, origin, runs.run, trials.host,
         kind, created, trace, message
  FROM trials JOIN tasks ON trials.task = tasks.id LEFT JOIN runs ON trials.run = runs.id
       LEFT JOIN winners ON winners.trial = trials.id;
)sql"},
    {4, R"sql(
CREATE TABLE choices (             -- how parts of networks are computed
  id INTEGER PRIMARY KEY,
  program TEXT NOT NULL,           -- hash of the part
  name TEXT NOT NULL,              -- its nodes, for people
  codegen TEXT NOT NULL, version TEXT NOT NULL,
  target TEXT NOT NULL, threads INTEGER NOT NULL, caches TEXT NOT NULL,
  chosen TEXT NOT NULL,            -- ours, vendor, or parts: each of its parts as it was chosen
  seconds TEXT NOT NULL,           -- JSON object: of each way an array, one of each round
  kernels TEXT NOT NULL,           -- JSON object: our kernels' workloads and trials; 0: the prior's
  message TEXT NOT NULL,           -- why the code generator took no part
  host TEXT NOT NULL, kind TEXT NOT NULL, created TEXT NOT NULL
);
CREATE INDEX choices_by_key ON choices (program, codegen, target, threads);
)sql"},
};
static_assert(std::size(kMigrations) == kLogVersion);

[[noreturn]] void newer(const std::string& path, int64_t version) {
  refuse_log(
      ErrorCode::LogNewer, path,
      fmt::format("the tuning log has version {}, made by a later Tilewright", version),
      fmt::format("versions up to {}; use the later Tilewright, or another file", kLogVersion));
}

void migrate(const Database& db, const std::string& path) {
  const int64_t version = db.pragma("user_version");
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
    Database db(fresh, path, Database::Access::Create);
    db.execute("PRAGMA journal_mode = MEMORY");
    db.execute("PRAGMA synchronous = FULL");
    db.execute(fmt::format("PRAGMA application_id = {}", kApplicationId));
    migrate(db, path);
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) {
    if (means_full(errno)) refuse_full_disk(path);
    refuse_log(ErrorCode::LogUnreadable, path,
               fmt::format("cannot create the tuning log: {}", std::strerror(errno)));
  }
}

bool has_bytes(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && info.st_size > 0;
}

}  // namespace

// Everything that the first bytes of a file tell, without letting SQLite touch a file that is not
// ours. A log gets its name only once it is complete, so the header is never half written.
FileState look_at_log(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return FileState::Missing;
    refuse_log(ErrorCode::LogUnreadable, path,
               fmt::format("cannot open the tuning log: {}", std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) {
    refuse_log(ErrorCode::LogUnreadable, path, "cannot open the tuning log: it is a folder",
               "the path of a file");
  }
  if (!S_ISREG(info.st_mode)) {
    refuse_log(ErrorCode::LogForeign, path, "a tuning log must be a regular file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    refuse_log(ErrorCode::LogUnreadable, path,
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
    refuse_log(ErrorCode::LogForeign, path, "this file is not a tuning log");
  }
  if (number(68) != kApplicationId) {
    refuse_log(ErrorCode::LogForeign, path, "this SQLite database is not a tuning log");
  }
  if (number(60) > kLogVersion) newer(path, number(60));
  return FileState::Log;
}

Database open_log_writer(const std::string& path) {
  if (look_at_log(path) != FileState::Log) create(path);
  if (access(path.c_str(), W_OK) != 0) {
    refuse_log(ErrorCode::LogUnreadable, path,
               fmt::format("cannot write the tuning log: {}", std::strerror(errno)),
               "a file and a folder that may be written");
  }
  Database db(path, path, Database::Access::Write);
  // File systems without shared memory keep the rollback journal, which is as durable.
  db.execute("PRAGMA journal_mode = WAL");
  db.execute("PRAGMA synchronous = FULL");
  db.execute("PRAGMA foreign_keys = ON");
  migrate(db, path);
  return db;
}

// Readers open for writing where they may, only so that the last one to leave takes the write-ahead
// files away; they change nothing.
Database open_log_reader(const std::string& path) {
  switch (look_at_log(path)) {
    case FileState::Missing:
      refuse_log(ErrorCode::LogUnreadable, path, "there is no such tuning log",
                 "a log that autotune --log made");
    case FileState::Empty:
      refuse_log(ErrorCode::LogForeign, path, "this file is empty, not a tuning log",
                 "a log that autotune --log made");
    case FileState::Log:
      break;
  }
  Database db(path, path, Database::Access::Write);
  // On read-only media SQLite cannot make the index of the write-ahead log; without such a log the
  // file alone is everything.
  if (db.cannot_make_index()) {
    if (has_bytes(path + "-wal")) {
      refuse_log(ErrorCode::LogUnreadable, path,
                 "cannot read the tuning log: its write-ahead log is beside it, and nothing can be "
                 "written there",
                 "a copy of both files in a folder that may be written");
    }
    db = Database(path, path, Database::Access::Immutable);
  }
  const int64_t version = db.pragma("user_version");
  if (version > kLogVersion) newer(path, version);
  if (version < kLogVersion) {
    // An older log is brought up to date in a copy; only a writer changes the file.
    Database copy(path, path, Database::Access::Memory);
    copy.copy_from(db);
    migrate(copy, path);
    db = std::move(copy);
  }
  db.execute("PRAGMA query_only = ON");
  return db;
}

}  // namespace tw::autotune
