// SPDX-License-Identifier: Apache-2.0
// Random schedules through the passes, with all of them and with some disabled.
#include <gtest/gtest.h>

#include "tests/support/lower_check.h"

namespace tw::test {
namespace {

TEST(LowerFuzz, EveryPassKeepsTheMeaning) { fuzz_schedules(lower_checks(), 150, 0.85); }

TEST(LowerFuzz, EveryPassKeepsTheMeaningOfExtentsOfZero) {
  fuzz_schedules(lower_checks(), 100, 0.8, 1, {.empty_percent = 15});
}

TEST(LowerFuzz, EveryPassKeepsTheMeaningOfScans) {
  fuzz_schedules(lower_checks(), 60, 0.7, 2, {.scan_percent = 40});
}

TEST(LowerFuzz, EveryPassKeepsTheMeaningOfVectorElements) {
  fuzz_schedules(lower_checks(), 80, 0.7, 5, {.scan_percent = 15, .vectors = true});
}

TEST(LowerFuzz, EveryPassKeepsTheMeaningOfOutputsThatNobodyUses) {
  fuzz_schedules(lower_checks(), 80, 0.7, 6,
                 {.least_operations = 2, .scan_percent = 20, .several_percent = 50});
}

TEST(LowerFuzz, EveryPassKeepsTheMeaningOfOrderedTerms) {
  fuzz_schedules(lower_checks(), 80, 0.6, 7, {.scan_percent = 10, .odd_percent = 60});
}

}  // namespace
}  // namespace tw::test
