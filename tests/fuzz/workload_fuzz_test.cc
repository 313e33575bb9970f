// SPDX-License-Identifier: Apache-2.0
// Random points of the design space of random operators of all element types, on the processors of
// the last fifteen years: legal, and right in every oracle.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "autotune/cost/features.h"
#include "autotune/search/prior_schedule.h"
#include "autotune/space/space.h"
#include "tests/support/fuzz.h"
#include "tests/support/jit_check.h"
#include "tests/support/lower_check.h"
#include "tests/support/random_workload.h"
#include "tests/support/workload_case.h"

namespace tw::autotune {
namespace {

constexpr std::string_view kTargets[] = {"llvm",
                                         "llvm -mcpu=x86-64",
                                         "llvm -mcpu=x86-64-v3",
                                         "llvm -mcpu=skylake-avx512",
                                         "llvm -mcpu=cascadelake",
                                         "llvm -mcpu=cooperlake",
                                         "llvm -mcpu=alderlake",
                                         "llvm -mcpu=sapphirerapids"};

class WorkloadFuzz : public testing::TestWithParam<test::RandomWorkload::Kind> {};

TEST_P(WorkloadFuzz, PointsComputeTheDefinition) {
  test::FuzzCases cases(3, 1);
  while (cases.next()) {
    const uint64_t seed = cases.seed();
    SCOPED_TRACE(fmt::format("case seed {}", seed));
    test::Random random(seed);
    const te::Program program = test::RandomWorkload(random).make(GetParam());
    const auto at = static_cast<size_t>(random.between(0, std::size(kTargets) - 1));
    const Target target = Target::parse(kTargets[at]);
    // Interpreted where the machine is too old, after each pass.
    const bool runs = target.features_missing_on_host().empty() && !random.chance(10);
    const Task task = make_task(program, target, random.chance(50) ? 1 : 2);
    const Space space(task);
    std::mt19937_64 rng(seed);
    for (int point = 0; point < 3; ++point) {
      test::ScheduleCase c{.program = task.program, .data_seed = rng()};
      if (point == 0) {
        if (random.chance(25)) c.trace = prior_schedule(task);
      } else {
        c.trace = space.trace(space.random(rng));
      }
      const std::string what = fmt::format("{}\n{}\n", kTargets[at], c.reproducer());
      ASSERT_NO_THROW(extract_features(task, c.trace)) << what;
      const auto checks = runs ? test::jit_checks(target) : test::lower_checks();
      const auto failure = test::failure_of(c, checks, cases, test::make_workload_data);
      EXPECT_FALSE(failure.has_value()) << *failure << "\n" << what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, WorkloadFuzz, testing::ValuesIn(test::RandomWorkload::kinds()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tw::autotune
