// SPDX-License-Identifier: Apache-2.0
// A trial is one INSERT and one commit; with WAL and synchronous=FULL the commit has reached the
// disk when `append` returns.
#include "autotune/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "autotune/database.h"
#include "autotune/log_file.h"
#include "autotune/log_lock.h"
#include "autotune/machine_kind.h"
#include "runtime/error.h"

namespace tw::autotune {
namespace {

constexpr const char* kNow = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

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
    "elapsed_seconds, ir_hash, trials.seed, origin, predicted, runs.run, trials.host, kind, "
    "created "
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
    refuse_log(ErrorCode::LogUnreadable, path,
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
  r.host = row.text_at(15);
  r.kind = row.text_at(16);
  r.created = row.text_at(17);
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
    state_->db = open_log_reader(file);
    return;
  }
  look_at_log(file);  // a file that is not ours is refused before anything is left beside it
  state_->lock.emplace(file);
  state_->db = open_log_writer(file);
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
          "host, kind, created) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,{}) RETURNING id",
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
  insert.text(record.host).text(record.kind);
  const int64_t id = insert.next() ? insert.integer_at(0) : 0;
  insert.finish();  // the commit
  return id;
}

std::optional<Record> Log::best(const std::string& workload, const std::string& target,
                                int threads) const {
  constexpr std::string_view kVerified =
      "WHERE workload = ?1 AND target = ?2 AND threads = ?3 AND error IS NULL AND median IS NOT "
      "NULL ";
  std::vector<std::string> kinds;  // the one with most records first
  Statement by_kind(state_->db,
                    fmt::format("SELECT kind FROM trials JOIN tasks ON trials.task = tasks.id {} "
                                "GROUP BY kind ORDER BY count(*) DESC, min(trials.id)",
                                kVerified));
  by_kind.text(workload).text(target).integer(threads);
  while (by_kind.next()) kinds.push_back(by_kind.text_at(0));
  if (kinds.empty()) return {};
  const auto here = [](const std::string& kind) { return same_kind(kind, machine_kind()); };
  const std::string wanted = std::ranges::any_of(kinds, here) ? machine_kind() : kinds.front();
  Statement s(state_->db, fmt::format("{} {} ORDER BY median, trials.id", kSelect, kVerified));
  s.text(workload).text(target).integer(threads);
  while (s.next()) {
    if (Record r = read_record(s, state_->path); same_kind(r.kind, wanted)) return r;
  }
  return {};
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
