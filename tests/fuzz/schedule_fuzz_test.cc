// SPDX-License-Identifier: Apache-2.0
// Random programs under random schedules: the loop nest computes what the definition says, and a
// replay from text makes the same loop nest.
#include <gtest/gtest.h>

#include "tests/support/random_schedule.h"

namespace tw {
namespace {

TEST(ScheduleFuzz, LoopNestComputesTheDefinition) {
  test::fuzz_schedules(test::schedule_checks(), 400, 0.85);
}

TEST(ScheduleFuzz, LoopNestOfExtentsOfZeroComputesTheDefinition) {
  test::fuzz_schedules(test::schedule_checks(), 400, 0.8, 1, {.empty_percent = 15});
}

TEST(ScheduleFuzz, LoopNestOfScansComputesTheDefinition) {
  test::fuzz_schedules(test::schedule_checks(), 400, 0.7, 2, {.scan_percent = 40});
}

TEST(ScheduleFuzz, LoopNestOfVectorElementsComputesTheDefinition) {
  test::fuzz_schedules(test::schedule_checks(), 300, 0.7, 5, {.scan_percent = 15, .vectors = true});
}

TEST(ScheduleFuzz, LoopNestOfOutputsThatNobodyUsesComputesTheDefinition) {
  test::fuzz_schedules(test::schedule_checks(), 300, 0.7, 6,
                       {.least_operations = 2, .scan_percent = 20, .several_percent = 50});
}

TEST(ScheduleFuzz, LoopNestOfOrderedTermsComputesTheDefinition) {
  test::fuzz_schedules(test::schedule_checks(), 400, 0.6, 7,
                       {.scan_percent = 10, .odd_percent = 60});
}

// The shrinker finds the one step and the one operation that a fault needs.
TEST(ScheduleFuzz, ShrinksToWhatMatters) {
  const auto fails = [](const test::ScheduleCase& c) {
    for (const Step& step : c.trace.steps) {
      if (step.primitive == "unroll") return true;
    }
    return false;
  };
  int shrunk = 0;
  for (uint64_t seed = 0; seed < 300 && shrunk < 5; ++seed) {
    const test::ScheduleCase c = test::random_case(seed, {.least_operations = 3});
    if (!fails(c)) continue;
    const test::ScheduleCase small = test::shrink(c, fails);
    EXPECT_TRUE(fails(small));
    EXPECT_EQ(small.program.outputs.size(), 1u) << small.reproducer();
    EXPECT_LE(small.trace.steps.size(), 3u) << small.reproducer();
    ++shrunk;
  }
  EXPECT_GT(shrunk, 0);
}

}  // namespace
}  // namespace tw
