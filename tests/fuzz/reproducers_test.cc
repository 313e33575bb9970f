// SPDX-License-Identifier: Apache-2.0
// What a fuzzer found once is tried for ever: the files of reproducers/, under every check. `./tw
// fuzz` writes them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/support/jit_check.h"
#include "tests/support/lower_check.h"
#include "tests/support/random_schedule.h"
#include "tests/support/reproducer.h"
#include "tests/support/source_dir.h"

namespace tw::test {
namespace {

std::string contents(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Reproducers, ComputeTheDefinition) {
  std::vector<ScheduleCheck> checks = schedule_checks();
  for (const auto& more : {lower_checks(), jit_checks(Target::host())})
    checks.insert(checks.end(), more.begin(), more.end());
  std::set<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_dir() + "/tests/fuzz/reproducers"))
    files.insert(entry.path().string());
  EXPECT_FALSE(files.empty());
  for (const std::string& file : files) {
    SCOPED_TRACE(file);
    const ScheduleCase c = parse_case(contents(file));
    EXPECT_EQ(parse_case(to_text(c)).reproducer(), c.reproducer());
    const Outcome outcome = outcome_of(c, checks);
    EXPECT_FALSE(outcome.failure) << *outcome.failure;
    EXPECT_FALSE(outcome.refused);
  }
}

// What a fuzz test writes is what is read.
TEST(Reproducers, AreReadBack) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const ScheduleCase c = random_case(seed);
    const ScheduleCase back = parse_case(to_text(c));
    EXPECT_EQ(to_text(back), to_text(c));
    EXPECT_EQ(back.trace, c.trace);
  }
  EXPECT_THROW(parse_case("te 1\n"), std::runtime_error);
}

// A check that fails leaves the shrunk case where it was asked to.
TEST(Reproducers, AreKept) {
  const std::string folder = testing::TempDir() + "tilewright_reproducers";
  std::filesystem::remove_all(folder);
  ASSERT_EQ(setenv("TW_FUZZ_KEEP", folder.c_str(), 1), 0);
  const std::string file = keep_reproducer(random_case(7), "case_7");
  ASSERT_EQ(unsetenv("TW_FUZZ_KEEP"), 0);
  EXPECT_EQ(contents(file), to_text(random_case(7)));
  EXPECT_EQ(keep_reproducer(random_case(7), "case_7"), "");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tw::test
