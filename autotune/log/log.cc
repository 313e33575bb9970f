// SPDX-License-Identifier: Apache-2.0
// A trial is one INSERT and one commit; with WAL and synchronous=FULL the commit has reached the
// disk when `append` returns.
#include "autotune/log/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "autotune/log/database.h"
#include "autotune/log/log_file.h"
#include "autotune/log/log_lock.h"
#include "autotune/task/machine_kind.h"
#include "runtime/error.h"
#include "runtime/time_evaluator.h"

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
    "SELECT trials.id, workload, target, threads, trace, error, message, trials.seconds, "
    "compile_seconds, elapsed_seconds, ir_hash, trials.seed, origin, predicted, runs.run, "
    "trials.host, kind, created, caches, winners.seconds "
    "FROM trials JOIN tasks ON trials.task = tasks.id LEFT JOIN runs ON trials.run = runs.id "
    "LEFT JOIN winners ON winners.trial = trials.id ";

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
  r.caches =
      row.text_at(18) == to_string(CacheState::Hot) ? CacheState::Hot : CacheState::ColdConstants;
  r.race_seconds = row.null_at(19) ? 0 : row.real_at(19);
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
          "median, compile_seconds, elapsed_seconds, ir_hash, seed, origin, predicted, caches, "
          "run, host, kind, created) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,{}) RETURNING id",
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
      .real(record.predicted)
      .text(to_string(record.caches));
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

void Log::append(const RaceRecord& race) {
  state_->writing();
  const Database& db = state_->db;
  db.execute("BEGIN IMMEDIATE");
  try {
    Statement insert(db,
                     fmt::format("INSERT INTO races (winner, settled, last_trial, run, created) "
                                 "VALUES (?1, ?2, (SELECT max(id) FROM trials), "
                                 "(SELECT id FROM runs WHERE run = ?3), {}) RETURNING id",
                                 kNow));
    insert.integer(race.winner).integer(race.settled ? 1 : 0).text(race.run);
    const int64_t id = insert.next() ? insert.integer_at(0) : 0;
    insert.finish();
    for (const auto& [trial, seconds] : race.seconds) {
      Statement(db, "INSERT INTO race_times (race, trial, seconds, median) VALUES (?,?,?,?)")
          .integer(id)
          .integer(trial)
          .text(nlohmann::json(seconds).dump())
          .real(summarize(seconds).median)
          .finish();
    }
  } catch (...) {
    db.execute("ROLLBACK");
    throw;
  }
  db.execute("COMMIT");
}

void Log::append(const VendorChoice& choice) {
  state_->writing();
  const VendorKey& key = choice.key;
  Statement(state_->db,
            fmt::format("INSERT INTO choices (program, name, codegen, version, target, threads, "
                        "caches, chosen, seconds, kernels, message, host, kind, created) "
                        "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,{})",
                        kNow))
      .text(key.program)
      .text(choice.name)
      .text(key.codegen)
      .text(key.version)
      .text(key.target)
      .integer(key.threads)
      .text(to_string(key.caches))
      .text(choice.chosen)
      .text(nlohmann::json(choice.seconds).dump())
      .text(nlohmann::json(choice.kernels).dump())
      .text(choice.message)
      .text(choice.host)
      .text(choice.kind)
      .finish();
}

namespace {

// Nothing for text that says none of them.
std::optional<std::string_view> parse_way(std::string_view text) {
  for (std::string_view way : {kOurs, kVendor, kParts}) {
    if (text == way) return way;
  }
  return {};
}

template <class T>
std::optional<T> parse_json(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<T>();
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

}  // namespace

std::optional<VendorChoice> Log::choice(const VendorKey& key,
                                        const std::map<std::string, int64_t>& kernels,
                                        std::vector<std::string>* damaged) const {
  Statement s(state_->db,
              "SELECT id, name, chosen, seconds, kernels, message, host, kind, created "
              "FROM choices WHERE program = ? AND codegen = ? AND version = ? AND target = ? AND "
              "threads = ? AND caches = ? ORDER BY id DESC");
  s.text(key.program).text(key.codegen).text(key.version).text(key.target).integer(key.threads);
  s.text(to_string(key.caches));
  while (s.next()) {
    const auto chosen = parse_way(s.text_at(2));
    auto seconds = parse_json<decltype(VendorChoice::seconds)>(s.text_at(3));
    auto used = parse_json<decltype(VendorChoice::kernels)>(s.text_at(4));
    if (!chosen || !seconds || !used) {
      if (damaged != nullptr) {
        damaged->push_back(fmt::format("choice {} of {} is damaged and passed over",
                                       s.integer_at(0), state_->path));
      }
      continue;
    }
    if (*used != kernels || !same_kind(s.text_at(7), machine_kind())) continue;
    return VendorChoice{.key = key,
                        .name = s.text_at(1),
                        .chosen = *chosen,
                        .seconds = std::move(*seconds),
                        .kernels = std::move(*used),
                        .message = s.text_at(5),
                        .host = s.text_at(6),
                        .kind = s.text_at(7),
                        .created = s.text_at(8)};
  }
  return {};
}

namespace {

// Leaves those of machines of this kind, or, where there are none, of the kind that most are of.
void keep_one_kind(std::vector<Record>& records) {
  const auto here = [](const Record& r) { return same_kind(r.kind, machine_kind()); };
  std::string wanted = machine_kind();
  if (std::ranges::none_of(records, here)) {
    std::vector<std::pair<std::string, int>> counts;  // the kind of the oldest record first
    for (const Record& r : records) {
      auto known = std::ranges::find(counts, r.kind, &std::pair<std::string, int>::first);
      if (known == counts.end()) known = counts.insert(known, {r.kind, 0});
      ++known->second;
    }
    const auto most = std::ranges::max_element(counts, {}, &std::pair<std::string, int>::second);
    if (most != counts.end()) wanted = most->first;
  }
  std::erase_if(records, [&](const Record& r) { return !same_kind(r.kind, wanted); });
}

}  // namespace

std::optional<Record> Log::best(const std::string& workload, const std::string& target, int threads,
                                CacheState caches) const {
  const auto other = caches == CacheState::Hot ? CacheState::ColdConstants : CacheState::Hot;
  std::vector<Record> all = records(workload, target, threads);
  std::erase_if(all, [](const Record& r) { return !std::isfinite(r.median()); });
  for (CacheState state : {caches, other}) {
    std::vector<Record> alike;
    std::ranges::copy_if(all, std::back_inserter(alike),
                         [&](const Record& r) { return r.caches == state; });
    keep_one_kind(alike);
    if (alike.empty()) continue;
    const auto won = last_win(alike);
    // A race says nothing about later trials, and of earlier ones that only the winner counts, as
    // fast as the race says where that is less than its median.
    if (won) {
      std::erase_if(alike,
                    [&](const Record& r) { return r.id != won->trial && r.id <= won->last_trial; });
    }
    return *std::ranges::min_element(alike, {}, [&](const Record& r) {
      return won && r.id == won->trial ? std::min(r.median(), r.race_seconds) : r.median();
    });
  }
  return {};
}

std::optional<Log::Win> Log::last_win(const std::vector<Record>& records) const {
  Statement s(state_->db, "SELECT trial, last_trial FROM winners ORDER BY race DESC");
  while (s.next()) {
    const Win win{s.integer_at(0), s.integer_at(1)};
    if (std::ranges::find(records, win.trial, &Record::id) != records.end()) return win;
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
