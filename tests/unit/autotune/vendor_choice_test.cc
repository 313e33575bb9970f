// SPDX-License-Identifier: Apache-2.0
#include "autotune/log/vendor_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/log/database.h"
#include "autotune/log/log.h"
#include "autotune/task/machine_kind.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace tw::autotune {
namespace {

VendorKey key(const std::string& program = "0123456789abcdef") {
  return {.program = program,
          .codegen = "onednn",
          .version = "oneDNN 2.6.3",
          .target = "llvm -mcpu=x",
          .threads = 2};
}

// Times of `rounds` rounds; the noise of one round meets everybody.
VendorChoice choice(double vendor, double ours = 1, double parts = 0, int rounds = 20) {
  VendorChoice c{.key = key(),
                 .name = "conv0 … relu1",
                 .kernels = {{"aa", 0}, {"bb", 3}},
                 .host = "h",
                 .kind = machine_kind()};
  for (int r = 0; r < rounds; ++r) {
    const double noise = 1e-3 * (1 + 0.2 * (r % 3));
    c.seconds["ours"].push_back(ours * noise);
    c.seconds["vendor"].push_back(vendor * noise * (1 + 0.01 * (r % 2)));
    if (parts > 0) c.seconds["parts"].push_back(parts * noise);
  }
  c.chosen = choose_way(c);
  return c;
}

TEST(VendorChoice, TheRatioIsOfTimesOfOneRound) {
  VendorChoice c = choice(0.8);
  const auto ratio = ratio_of(c, kVendor, kOurs);
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->median, 0.804, 1e-6);
  EXPECT_NEAR(ratio->low, 0.8, 1e-6);
  EXPECT_NEAR(ratio->high, 0.808, 1e-6);
  // One that was taken out after its first rounds is compared over these.
  c.seconds["vendor"].resize(7);
  EXPECT_NEAR(ratio_of(c, kVendor, kOurs)->median, 0.8, 1e-6);
  EXPECT_FALSE(ratio_of(c, kParts, kOurs));
  c.seconds["vendor"].clear();
  EXPECT_FALSE(ratio_of(c, kVendor, kOurs));
}

TEST(VendorChoice, AnotherWayIsTakenOnlyWhereItsUpperBoundIsBelowOne) {
  EXPECT_EQ(choice(0.9).chosen, kVendor);
  EXPECT_EQ(choice(1.1).chosen, kOurs);
  // The median is below 1, the upper bound is not.
  EXPECT_EQ(choice(0.995).chosen, kOurs);
  // Fewer than six rounds bound nothing but by their range.
  VendorChoice few = choice(0.9, 1, 0, 3);
  few.seconds["vendor"][2] = few.seconds["ours"][2] * 1.01;
  EXPECT_EQ(choose_way(few), kOurs);
  VendorChoice none{.key = key()};
  EXPECT_EQ(choose_way(none), kOurs);
}

TEST(VendorChoice, PartsMustBeFasterThanTheBetterOfTheOthers) {
  EXPECT_EQ(choice(0.9, 1, 0.8).chosen, kParts);
  EXPECT_EQ(choice(0.9, 1, 0.95).chosen, kVendor);
  EXPECT_EQ(choice(1.2, 1, 0.95).chosen, kParts);
  EXPECT_EQ(choice(1.2, 1, 1.05).chosen, kOurs);
}

class VendorChoiceLogTest : public testing::Test {
 protected:
  std::string path() const { return folder_.file("log.db"); }
  Log reader() const { return Log(path(), Log::Mode::Read); }
  const tw::test::TemporaryFolder folder_;
};

TEST_F(VendorChoiceLogTest, KeepsEveryField) {
  const VendorChoice c = choice(0.8, 1, 0.7);
  Log(path(), Log::Mode::Write).append(c);
  const auto back = reader().choice(c.key, c.kernels);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->name, c.name);
  EXPECT_EQ(back->chosen, kParts);
  EXPECT_EQ(back->seconds, c.seconds);
  EXPECT_EQ(back->kernels, c.kernels);
  EXPECT_EQ(back->message, "");
  EXPECT_EQ(back->host, "h");
  EXPECT_EQ(back->kind, machine_kind());
  EXPECT_EQ(back->created.size(), std::string("2026-01-01T00:00:00.000Z").size());
}

TEST_F(VendorChoiceLogTest, AnotherKeyKernelOrMachineIsAnotherChoice) {
  const VendorChoice c = choice(0.8);
  {
    Log log(path(), Log::Mode::Write);
    log.append(c);
    VendorChoice elsewhere = choice(2);
    elsewhere.kind = "another; x";
    log.append(elsewhere);
  }
  const Log log = reader();
  EXPECT_EQ(log.choice(c.key, c.kernels)->chosen, kVendor);
  EXPECT_FALSE(log.choice(key("fedcba9876543210"), c.kernels));
  EXPECT_FALSE(log.choice(c.key, {{"aa", 0}, {"bb", 4}}));  // tuned since
  const auto changed = [&](auto change) {
    VendorKey other = c.key;
    change(other);
    return log.choice(other, c.kernels).has_value();
  };
  EXPECT_FALSE(changed([](VendorKey& k) { k.codegen = "openblas"; }));
  EXPECT_FALSE(changed([](VendorKey& k) { k.version = "oneDNN 3"; }));
  EXPECT_FALSE(changed([](VendorKey& k) { k.target = "llvm -mcpu=y"; }));
  EXPECT_FALSE(changed([](VendorKey& k) { k.threads = 1; }));
  EXPECT_FALSE(changed([](VendorKey& k) { k.caches = CacheState::Hot; }));
  EXPECT_TRUE(changed([](VendorKey&) {}));
}

TEST_F(VendorChoiceLogTest, ADamagedRowIsPassedOverWithALine) {
  {
    Log log(path(), Log::Mode::Write);
    for (int k = 0; k < 4; ++k) log.append(choice(0.8));
  }
  {
    const Database db(path(), path(), Database::Access::Write);
    db.execute("UPDATE choices SET seconds = '{\"ours\": [1' WHERE id = 4");
    db.execute("UPDATE choices SET chosen = 'theirs' WHERE id = 3");
    db.execute("UPDATE choices SET kernels = '[]' WHERE id = 2");
  }
  std::vector<std::string> lines;
  const auto found = reader().choice(key(), choice(1).kernels, &lines);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->chosen, kVendor);
  EXPECT_THAT(lines, testing::ElementsAre(testing::HasSubstr("choice 4 of "),
                                          testing::HasSubstr("choice 3 of "),
                                          testing::HasSubstr("choice 2 of ")));
}

TEST_F(VendorChoiceLogTest, OlderLogsAreMigratedAndReadersDoNotWrite) {
  {
    Log log(path(), Log::Mode::Write);
  }
  {
    const Database old(path(), path(), Database::Access::Write);
    old.execute("DROP TABLE choices");
    old.execute("PRAGMA user_version = 3");
  }
  EXPECT_FALSE(reader().choice(key(), {}));
  EXPECT_EQ(Database(path(), path(), Database::Access::Write).pragma("user_version"), 3);
  Log(path(), Log::Mode::Write).append(choice(0.8));
  EXPECT_TRUE(reader().choice(key(), choice(1).kernels));
  Log other = reader();
  test::expect_error(ErrorCode::BadArgument, [&] { other.append(choice(0.8)); });
}

// What was acknowledged is there, whenever the writer dies.
TEST_F(VendorChoiceLogTest, KillingTheWriterLosesNothingAcknowledged) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    try {
      Log log(path(), Log::Mode::Write);
      for (int k = 0;; ++k) {
        VendorChoice c = choice(0.8);
        c.key.program = std::to_string(k);
        log.append(c);
        if (write(pipe_ends[1], &k, sizeof k) != sizeof k) _exit(1);
      }
    } catch (...) {
      _exit(1);
    }
  }
  close(pipe_ends[1]);
  int last = 0;
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(read(pipe_ends[0], &last, sizeof last), static_cast<ssize_t>(sizeof last));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(pipe_ends[0]);
  const Log log = reader();
  for (int k = 0; k <= last; ++k)
    EXPECT_TRUE(log.choice(key(std::to_string(k)), choice(1).kernels));
  // And the next writer goes on.
  Log(path(), Log::Mode::Write).append(choice(0.8));
}

}  // namespace
}  // namespace tw::autotune
