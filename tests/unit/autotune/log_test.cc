// SPDX-License-Identifier: Apache-2.0
#include "autotune/log/log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "autotune/log/database.h"
#include "autotune/task/machine_kind.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace tw::autotune {
namespace {

namespace fs = std::filesystem;
using test::expect_error;

class LogTest : public testing::Test {
 protected:
  std::string path(const std::string& name = "log.db") const { return own_.file(name); }
  const tw::test::TemporaryFolder own_;
  const fs::path& folder_ = own_.path();
};

Task task(const std::string& workload = "0123456789abcdef") {
  Task t;
  t.name = "gemm:tiny";
  t.workload = workload;
  t.te_text = "te text of " + workload;
  t.target_text = "llvm -mcpu=x";
  t.threads = 2;
  return t;
}

Record record(const std::string& workload = "0123456789abcdef", double seconds = 1e-3) {
  Record r;
  r.workload = workload;
  r.target = "llvm -mcpu=x";
  r.threads = 2;
  r.trace = "split@1(s2:0, factor=16)\n";
  r.seconds = {seconds, seconds * 1.1, seconds * 0.9};
  r.compile_seconds = 0.02;
  r.elapsed_seconds = 1.5;
  r.ir_hash = "00000000deadbeef";
  r.seed = 0xffff'ffff'ffff'fff0;
  r.origin = Origin::Prior;
  r.predicted = 0.25;
  r.host = "h1";
  r.kind = "cpu; llvm -mcpu=x";
  return r;
}

// Which had no races and choices, and nothing about caches.
void make_version_2(const Database& log) {
  for (const char* sql :
       {"DROP TABLE choices", "DROP VIEW records", "DROP VIEW winners", "DROP TABLE race_times",
        "DROP TABLE races", "ALTER TABLE trials DROP COLUMN caches",
        "CREATE VIEW records AS SELECT id, median FROM trials", "PRAGMA user_version = 2"}) {
    log.execute(sql);
  }
}

template <class F>
ErrorCode code_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::Internal;
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(LogTest, KeepsEveryFieldOfARecord) {
  Log log(path(), Log::Mode::Write);
  log.begin_run({.id = "run-1",
                 .host = "h",
                 .cpu = "c",
                 .os = "o",
                 .version = "v",
                 .llvm_version = "19",
                 .seed = 7,
                 .command = "autotune"});
  log.add_task(task());
  log.add_task(task());
  Record r = record();
  r.run = "run-1";
  EXPECT_EQ(log.append(r), 1);
  const Record back = log.records().at(0);
  EXPECT_EQ(back.id, 1);
  EXPECT_EQ(back.workload, r.workload);
  EXPECT_EQ(back.target, r.target);
  EXPECT_EQ(back.threads, r.threads);
  EXPECT_EQ(back.trace, r.trace);
  EXPECT_TRUE(back.ok());
  EXPECT_EQ(back.seconds, r.seconds);
  EXPECT_EQ(back.compile_seconds, r.compile_seconds);
  EXPECT_EQ(back.elapsed_seconds, r.elapsed_seconds);
  EXPECT_EQ(back.ir_hash, r.ir_hash);
  EXPECT_EQ(back.seed, r.seed);
  EXPECT_EQ(back.origin, r.origin);
  EXPECT_EQ(back.predicted, r.predicted);
  EXPECT_EQ(back.run, "run-1");
  EXPECT_EQ(back.host, r.host);
  EXPECT_EQ(back.kind, r.kind);
  EXPECT_EQ(back.created.size(), std::string("2026-01-01T00:00:00.000Z").size());
  EXPECT_EQ(log.workloads().size(), 1u);
  EXPECT_EQ(log.te_text("0123456789abcdef"), task().te_text);
  EXPECT_EQ(log.te_text("nothing"), std::nullopt);
}

TEST_F(LogTest, FailuresAreKeptAndAreNeverBest) {
  Log log(path(), Log::Mode::Write);
  log.add_task(task());
  log.append(record("0123456789abcdef", 2e-3));
  Record failed = record("0123456789abcdef", 1e-6);
  failed.error = ErrorCode::WrongResult;
  failed.message = "element 3";
  log.append(failed);
  EXPECT_TRUE(std::isinf(failed.median()));
  log.append(record("0123456789abcdef", 1e-3));
  log.append(record("0123456789abcdef", 3e-3));
  const auto best = log.best("0123456789abcdef", "llvm -mcpu=x", 2);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->id, 3);
  EXPECT_FALSE(log.best("0123456789abcdef", "llvm -mcpu=x", 1));
  EXPECT_FALSE(log.best("0123456789abcdef", "llvm -mcpu=y", 2));
  EXPECT_EQ(log.records()[1].error, ErrorCode::WrongResult);
  EXPECT_EQ(log.records("0123456789abcdef", "", 2).size(), 4u);
  EXPECT_TRUE(log.records("other").empty());
}

// One timing may be lucky.
TEST_F(LogTest, TheBestHasTheLeastMedian) {
  Log log(path(), Log::Mode::Write);
  log.add_task(task());
  Record steady = record(), lucky = record();
  steady.seconds = {3e-3, 2e-3, 2e-3};
  lucky.seconds = {1e-3, 4e-3, 4e-3};
  const int64_t best = log.append(steady);
  log.append(lucky);
  EXPECT_EQ(log.best(steady.workload, steady.target, steady.threads)->id, best);
}

// For people who ask in SQL.
TEST_F(LogTest, TheColumnOfMediansIsThatOfTheSeconds) {
  Record r = record(), failed = record();
  r.seconds = {1e-3, 4e-3, 3e-3};
  failed.seconds.clear();
  failed.error = ErrorCode::RunCrashed;
  {
    Log log(path(), Log::Mode::Write);
    log.add_task(task());
    log.append(r);
    log.append(failed);
  }
  const Database db(path(), path(), Database::Access::Write);
  Statement rows(db, "SELECT median FROM trials ORDER BY id");
  ASSERT_TRUE(rows.next());
  EXPECT_DOUBLE_EQ(rows.real_at(0), 3e-3);
  ASSERT_TRUE(rows.next());
  EXPECT_TRUE(rows.null_at(0));
}

TEST_F(LogTest, TheWinnerOfTheLastRaceIsBest) {
  Log log(path(), Log::Mode::Write);
  log.add_task(task());
  const auto append = [&](double seconds) {
    return log.append(record("0123456789abcdef", seconds));
  };
  const auto best = [&] { return log.best("0123456789abcdef", "llvm -mcpu=x", 2).value(); };
  const int64_t lucky = append(1e-3), steady = append(1.1e-3);
  EXPECT_EQ(best().id, lucky);
  EXPECT_EQ(best().race_seconds, 0);
  log.append(
      RaceRecord{.winner = steady,
                 .settled = true,
                 .seconds = {{lucky, {1.3e-3, 1.2e-3}}, {steady, {1.2e-3, 1.1e-3, 1.2e-3}}}});
  EXPECT_EQ(best().id, steady);
  EXPECT_EQ(best().race_seconds, 1.2e-3);
  EXPECT_EQ(log.records()[0].race_seconds, 0);
  EXPECT_EQ(log.records()[1].race_seconds, 1.2e-3);
  EXPECT_EQ(log.records().size(), 2u);
  // Nobody has raced these yet.
  append(1.11e-3);
  EXPECT_EQ(best().id, steady);
  const int64_t later = append(1.05e-3);
  EXPECT_EQ(best().id, later);
  log.append(RaceRecord{.winner = lucky, .seconds = {{lucky, {1e-3}}, {later, {1.1e-3}}}});
  EXPECT_EQ(best().id, lucky);
  log.append(RaceRecord{.winner = steady, .seconds = {{steady, {1e-3}}, {lucky, {1.1e-3}}}});
  EXPECT_EQ(best().id, steady);
}

TEST_F(LogTest, ARaceOfTrialsThatTheLogDoesNotHaveIsRefusedWhole) {
  Log log(path(), Log::Mode::Write);
  log.add_task(task());
  const int64_t id = log.append(record());
  EXPECT_ANY_THROW(log.append(RaceRecord{.winner = id, .seconds = {{id, {1e-3}}, {id + 7, {1}}}}));
  EXPECT_EQ(log.records()[0].race_seconds, 0);
  log.append(RaceRecord{.winner = id, .seconds = {{id, {1e-3}}}});
  EXPECT_EQ(log.records()[0].race_seconds, 1e-3);
}

TEST_F(LogTest, HotAndColdTimesAreNotCompared) {
  Log log(path(), Log::Mode::Write);
  log.add_task(task());
  const auto best = [&](CacheState caches) {
    return log.best("0123456789abcdef", "llvm -mcpu=x", 2, caches).value();
  };
  const int64_t hot = log.append(record("0123456789abcdef", 1e-3));
  EXPECT_EQ(best(CacheState::ColdConstants).id, hot) << "better than none";
  Record r = record("0123456789abcdef", 3e-3);
  r.caches = CacheState::ColdConstants;
  const int64_t cold = log.append(r);
  EXPECT_EQ(best(CacheState::Hot).id, hot);
  EXPECT_EQ(best(CacheState::ColdConstants).id, cold);
  EXPECT_EQ(best(CacheState::ColdConstants).caches, CacheState::ColdConstants);
  log.append(RaceRecord{.winner = cold, .seconds = {{cold, {1e-4}}}});
  EXPECT_EQ(best(CacheState::Hot).id, hot);
}

TEST_F(LogTest, TrialsOfEarlierVersionsAreHotAndUnraced) {
  {
    Log log(path(), Log::Mode::Write);
    log.add_task(task());
    log.append(record("0123456789abcdef", 2e-3));
    log.append(record("0123456789abcdef", 1e-3));
  }
  {
    const Database old(path(), path(), Database::Access::Write);
    make_version_2(old);
    old.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  const std::string before = read_bytes(path());
  const auto check = [&](Log::Mode mode) {
    const Log log(path(), mode);
    const auto best = log.best("0123456789abcdef", "llvm -mcpu=x", 2);
    ASSERT_TRUE(best);
    EXPECT_EQ(best->id, 2);
    EXPECT_EQ(best->caches, CacheState::Hot);
    EXPECT_EQ(best->race_seconds, 0);
  };
  check(Log::Mode::Read);
  EXPECT_EQ(read_bytes(path()), before);
  check(Log::Mode::Write);
  EXPECT_EQ(Database(path(), path(), Database::Access::Write).pragma("user_version"), kLogVersion);
}

TEST_F(LogTest, ATrialOfAnUnknownWorkloadOrRunIsRefused) {
  Log log(path(), Log::Mode::Write);
  expect_error(ErrorCode::BadArgument, [&] { log.append(record()); });
  log.add_task(task());
  Record r = record();
  r.run = "never began";
  expect_error(ErrorCode::BadArgument, [&] { log.append(r); });
  Log reader(path(), Log::Mode::Read);
  expect_error(ErrorCode::BadArgument, [&] { reader.append(record()); });
}

TEST_F(LogTest, FilesThatAreNotLogsAreRefusedAndLeftAsTheyAre) {
  const auto code = [&](const std::string& p, Log::Mode mode) {
    return code_of([&] { Log log(p, mode); });
  };
  write_bytes(path("text"), "hello, this is some text of somebody else\n");
  EXPECT_EQ(code(path("text"), Log::Mode::Write), ErrorCode::LogForeign);
  EXPECT_EQ(code(path("text"), Log::Mode::Read), ErrorCode::LogForeign);
  EXPECT_EQ(read_bytes(path("text")).substr(0, 5), "hello");

  {
    Log log(path("other"), Log::Mode::Write);
  }
  std::string bytes = read_bytes(path("other"));
  bytes[68] = 0;  // the application's id
  write_bytes(path("other"), bytes);
  EXPECT_EQ(code(path("other"), Log::Mode::Write), ErrorCode::LogForeign);
  EXPECT_EQ(read_bytes(path("other")), bytes);

  {
    Log log(path("newer"), Log::Mode::Write);
  }
  bytes = read_bytes(path("newer"));
  bytes[63] = kLogVersion + 1;
  write_bytes(path("newer"), bytes);
  EXPECT_EQ(code(path("newer"), Log::Mode::Write), ErrorCode::LogNewer);
  EXPECT_EQ(code(path("newer"), Log::Mode::Read), ErrorCode::LogNewer);

  EXPECT_EQ(code(folder_.string(), Log::Mode::Write), ErrorCode::LogUnreadable);
  EXPECT_EQ(code(path("missing"), Log::Mode::Read), ErrorCode::LogUnreadable);
  EXPECT_EQ(code(path("no/such/folder"), Log::Mode::Write), ErrorCode::LogUnreadable);
  EXPECT_EQ(code("/dev/null", Log::Mode::Read), ErrorCode::LogForeign);
  write_bytes(path("empty"), "");
  EXPECT_EQ(code(path("empty"), Log::Mode::Read), ErrorCode::LogForeign);
  {
    Log log(path("empty"), Log::Mode::Write);
  }
  EXPECT_TRUE(Log(path("empty"), Log::Mode::Read).records().empty());
  for (const auto& entry : fs::directory_iterator(folder_)) {
    EXPECT_EQ(entry.path().filename().string().find("-lock"), std::string::npos) << entry.path();
    EXPECT_EQ(entry.path().filename().string().find(".new-"), std::string::npos) << entry.path();
  }
}

// A later Tilewright that still has the log open: what it changed may not be in the file's header
// yet.
TEST_F(LogTest, ANewerLogIsKnownByItsWriteAheadLog) {
  {
    Log log(path(), Log::Mode::Write);
  }
  const Database later(path(), path(), Database::Access::Write);
  later.execute(fmt::format("PRAGMA user_version = {}", kLogVersion + 1));
  ASSERT_EQ(read_bytes(path())[63], kLogVersion);
  for (const Log::Mode mode : {Log::Mode::Write, Log::Mode::Read}) {
    expect_error(ErrorCode::LogNewer, [&] { Log(path(), mode); });
  }
}

TEST_F(LogTest, DamageIsReportedAsSuch) {
  {
    Log log(path(), Log::Mode::Write);
    log.add_task(task());
    for (int i = 0; i < 50; ++i) log.append(record());
  }
  std::string bytes = read_bytes(path());
  for (size_t i = 4096; i < bytes.size(); ++i) bytes[i] = static_cast<char>(0x5a);
  write_bytes(path(), bytes);
  const ErrorInfo info =
      expect_error(ErrorCode::LogUnreadable, [&] { Log(path(), Log::Mode::Read).records(); });
  EXPECT_NE(info.what.find("damaged"), std::string::npos) << info.what;
  // Cut off in the middle of the header.
  write_bytes(path(), bytes.substr(0, 50));
  expect_error(ErrorCode::LogForeign, [&] { Log(path(), Log::Mode::Read); });
}

TEST_F(LogTest, AnOlderLogIsMigratedByWritersAndReadThroughACopy) {
  // Version 0: a database with our id and no tables, which is what every migration starts from.
  {
    Log log(path("v1"), Log::Mode::Write);
  }
  std::string page = read_bytes(path("v1")).substr(0, 4096);
  page[63] = 0;                                  // user_version
  for (size_t i = 28; i < 32; ++i) page[i] = 0;  // size in pages
  page[31] = 1;
  page[18] = page[19] = 1;  // rollback journal
  for (size_t i = 100; i < page.size(); ++i) page[i] = 0;
  page[100] = 13;    // an empty leaf of the schema's tree
  page[105] = 0x10;  // its content begins at the page's end
  write_bytes(path(), page);
  EXPECT_TRUE(Log(path(), Log::Mode::Read).records().empty());
  EXPECT_EQ(read_bytes(path()), page);
  {
    Log log(path(), Log::Mode::Write);
    log.add_task(task());
    log.append(record());
  }
  EXPECT_EQ(Log(path(), Log::Mode::Read).records().size(), 1u);
}

TEST_F(LogTest, TheBestIsOfMachinesOfOneKind) {
  Log log(path(), Log::Mode::Write);
  log.add_task(task());
  const auto append = [&](double seconds, const std::string& kind) {
    Record r = record(task().workload, seconds);
    r.kind = kind;
    return log.append(r);
  };
  const auto best = [&] { return log.best(task().workload, "llvm -mcpu=x", 2)->id; };
  append(1e-3, "other; x");  // fastest, of a kind with one record
  const int64_t of_many = append(2e-3, "another; x");
  append(3e-3, "another; x");
  EXPECT_EQ(best(), of_many);
  const int64_t here = append(9e-3, machine_kind());
  EXPECT_EQ(best(), here);
  // Early logs know the processor alone.
  const int64_t early = append(8e-3, machine_kind().substr(0, machine_kind().find(';')));
  EXPECT_EQ(best(), early);
}

TEST(MachineKind, AModelAloneIsOfOneKindWithItsInstructionSets) {
  EXPECT_TRUE(same_kind("a; x", "a; x"));
  EXPECT_TRUE(same_kind("a", "a; x"));
  EXPECT_TRUE(same_kind("", "a; x"));
  EXPECT_FALSE(same_kind("a; x", "a; y"));
  EXPECT_FALSE(same_kind("a", "b; x"));
}

// What a log of the first version knew of its machines is a matter of each trial now.
TEST_F(LogTest, TrialsOfTheFirstVersionGetTheHostOfTheirRun) {
  {
    Log log(path(), Log::Mode::Write);
    log.begin_run({.id = "run-1", .host = "old", .cpu = "model"});
    log.add_task(task());
    Record r = record();
    r.run = "run-1";
    log.append(r);
  }
  {
    const Database old(path(), path(), Database::Access::Write);
    make_version_2(old);
    old.execute("DROP VIEW records");
    old.execute("ALTER TABLE trials DROP COLUMN host");
    old.execute("ALTER TABLE trials DROP COLUMN kind");
    old.execute("CREATE VIEW records AS SELECT id FROM trials");
    old.execute("PRAGMA user_version = 1");
  }
  for (const Log::Mode mode : {Log::Mode::Read, Log::Mode::Write}) {
    const Record back = Log(path(), mode).records().at(0);
    EXPECT_EQ(back.host, "old");
    EXPECT_EQ(back.kind, "model");
  }
}

TEST_F(LogTest, ASecondWriterIsRefusedByProcessId) {
  std::optional<Log> log;
  log.emplace(path(), Log::Mode::Write);
  const ErrorInfo own = expect_error(ErrorCode::LogBusy, [&] { Log(path(), Log::Mode::Write); });
  EXPECT_NE(own.what.find(std::to_string(getpid())), std::string::npos) << own.what;
  // Another process, through a link.
  fs::create_symlink(path(), path("link.db"));
  const std::string expected = std::to_string(getpid());
  const pid_t child = fork();
  if (child == 0) {
    int status = 1;
    try {
      Log second(path("link.db"), Log::Mode::Write);
    } catch (const Error& e) {
      const bool named = e.info().what.find(expected) != std::string::npos;
      status = e.code() == ErrorCode::LogBusy && named ? 0 : 2;
    }
    _exit(status);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  log.reset();
  EXPECT_FALSE(fs::exists(path() + "-lock"));
  Log again(path(), Log::Mode::Write);
}

TEST_F(LogTest, ReadersSeeWholeTrialsWhileAWriterWrites) {
  Log log(path(), Log::Mode::Write);
  log.add_task(task());
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  std::atomic<int> problems = 0;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      size_t before = 0;
      while (!done) {
        const Log reader(path(), Log::Mode::Read);
        const size_t now = reader.records().size();
        if (now < before) ++problems;
        before = now;
      }
    });
  }
  for (int i = 0; i < 100; ++i) {
    log.append(record());
    if (Log(path(), Log::Mode::Read).records().size() != static_cast<size_t>(i) + 1) ++problems;
  }
  done = true;
  for (auto& t : readers) t.join();
  EXPECT_EQ(problems, 0);
}

TEST_F(LogTest, ReadsFromAFolderThatCannotBeWritten) {
  {
    Log log(path(), Log::Mode::Write);
    log.add_task(task());
    log.append(record());
  }
  fs::permissions(path(), fs::perms::owner_read);
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  // Root may write everywhere; a child without that right is what we need.
  const pid_t child = fork();
  if (child == 0) {
    if (getuid() == 0) {
      // The folder becomes somebody else's.
      if (chown(folder_.c_str(), 65534, 65534) != 0 || chown(path().c_str(), 65534, 65534) != 0 ||
          setgid(65534) != 0 || setuid(65534) != 0) {
        _exit(0);
      }
    }
    int status = 1;
    try {
      const Log log(path(), Log::Mode::Read);
      status = log.records().size() == 1 ? 0 : 2;
      Log writer(path(), Log::Mode::Write);
      status = 3;
    } catch (const Error& e) {
      if (status == 0 && e.code() != ErrorCode::LogUnreadable) status = 4;
    }
    _exit(status);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(LogTest, AFullDiskIsATypedErrorAndLosesNothing) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    int status = 1;
    try {
      Log log(path(), Log::Mode::Write);
      log.add_task(task());
      const rlimit limit = {96 << 10, 96 << 10};
      setrlimit(RLIMIT_FSIZE, &limit);
      int64_t committed = 0;
      try {
        for (int i = 0; i < 10'000; ++i) committed = log.append(record());
      } catch (const Error& e) {
        if (e.code() == ErrorCode::DiskFull) status = committed > 5 ? 0 : 2;
      }
      if (log.records().size() != static_cast<size_t>(committed)) status = 3;
      write_bytes(path("committed"), std::to_string(committed));
    } catch (const Error& e) {
      fprintf(stderr, "%s\n", e.what());
    }
    _exit(status);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 0);
  const Log log(path(), Log::Mode::Read);
  EXPECT_EQ(std::to_string(log.records().size()), read_bytes(path("committed")));
}

TEST_F(LogTest, KillingTheWriterLosesNothingCommitted) {
  size_t known = 0;
  for (int round = 0; round < 8; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      try {
        Log log(path(), Log::Mode::Write);
        log.add_task(task());
        for (;;) {
          const int64_t id = log.append(record());
          if (write(pipe_ends[1], &id, sizeof id) != sizeof id) _exit(1);
        }
      } catch (...) {
        _exit(1);
      }
    }
    close(pipe_ends[1]);
    int64_t id = 0;
    for (int i = 0; i < 3 + 5 * round; ++i) {
      ASSERT_EQ(read(pipe_ends[0], &id, sizeof id), static_cast<ssize_t>(sizeof id));
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    int64_t later = 0;
    while (read(pipe_ends[0], &later, sizeof later) == sizeof later) id = later;
    close(pipe_ends[0]);
    const auto records = Log(path(), Log::Mode::Read).records();
    // What was reported is there; at most one more had been committed without saying so yet.
    ASSERT_GE(records.size(), static_cast<size_t>(id));
    ASSERT_LE(records.size(), static_cast<size_t>(id) + 1);
    ASSERT_GT(records.size(), known);
    known = records.size();
  }
}

}  // namespace
}  // namespace tw::autotune
