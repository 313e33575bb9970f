// SPDX-License-Identifier: Apache-2.0
// Random points of the design space of random programs of several operations: never refused, and
// right in machine code or in the interpreter.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "autotune/cost/features.h"
#include "autotune/search/prior_schedule.h"
#include "autotune/space/analysis.h"
#include "autotune/space/space.h"
#include "tests/support/fuzz.h"
#include "tests/support/jit_check.h"
#include "tests/support/lower_check.h"
#include "tests/support/random_dag.h"
#include "tests/support/workload_case.h"

namespace tw::autotune {
namespace {

constexpr std::string_view kTargets[] = {"llvm", "llvm -mcpu=x86-64", "llvm -mcpu=x86-64-v3",
                                         "llvm -mcpu=sapphirerapids"};

class DagFuzz : public testing::TestWithParam<test::RandomDag::Family> {};

TEST_P(DagFuzz, PointsComputeTheDefinition) {
  test::FuzzCases cases(8, 1);
  while (cases.next()) {
    const uint64_t seed = cases.seed();
    SCOPED_TRACE(fmt::format("case seed {}", seed));
    test::Random random(seed);
    const te::Program program = test::RandomDag(random).make(GetParam());
    const auto at = static_cast<size_t>(random.between(0, std::size(kTargets) - 1));
    const Target target = Target::parse(kTargets[at]);
    const bool runs = target.features_missing_on_host().empty() && !random.chance(10);
    auto checks = runs ? test::jit_checks(target) : test::lower_checks();
    checks.resize(2);
    const Task task = make_task(program, target, random.chance(50) ? 1 : 2);
    const Space space(task);
    std::mt19937_64 rng(seed);
    const int points = random.chance(10) ? 3 : 2;
    for (int point = 0; point < points; ++point) {
      test::ScheduleCase c{.program = task.program, .data_seed = rng()};
      c.trace = point == 2 ? prior_schedule(task) : space.trace(space.random(rng));
      const std::string what = fmt::format("{}\n{}\n", kTargets[at], c.reproducer());
      ASSERT_NO_THROW(extract_features(task, c.trace)) << what;
      const auto failure = test::failure_of(c, checks, cases, test::make_workload_data);
      ASSERT_FALSE(failure.has_value()) << *failure << "\n" << what;
    }
  }
}

// Cheap, on many more programs: every sketch is made, and what is drawn, mutated and crossed is
// legal.
TEST_P(DagFuzz, PointsAreLegal) {
  test::FuzzCases cases(25, 1);
  // What the generator is for must come up, or this tests little.
  int company = 0, outputs = 0, shared = 0;
  while (cases.next()) {
    const uint64_t seed = cases.seed();
    SCOPED_TRACE(fmt::format("case seed {}", seed));
    test::Random random(seed);
    const te::Program program = test::RandomDag(random).make(GetParam());
    for (const OperationFacts& f : analyze(program)) {
      company += f.company.empty() ? 0 : 1;
      shared += f.compute != nullptr && f.consumers.size() > 1 ? 1 : 0;
    }
    outputs += program.outputs.size() > 1 ? 1 : 0;
    const auto at = static_cast<size_t>(random.between(0, std::size(kTargets) - 1));
    const Task task = make_task(program, Target::parse(kTargets[at]), 2);
    const Space space(task);
    std::mt19937_64 rng(seed);
    for (size_t sketch = 0; sketch < space.sketches().size(); ++sketch) {
      const Point a = space.random(sketch, rng), b = space.random(sketch, rng);
      for (const Point& p : {a, space.mutate(a, rng), space.crossover(a, b, rng)}) {
        const Trace trace = space.trace(p);
        ASSERT_NO_THROW(extract_features(task, trace))
            << kTargets[at] << "\n"
            << space.sketches()[sketch].description << "\n"
            << te::to_text(program) << to_text(trace);
        ASSERT_TRUE(space.within_limits(p));
      }
    }
  }
  EXPECT_GE(company, cases.cases() / 10);
  EXPECT_GE(outputs, cases.cases() / 10);
  EXPECT_GE(shared, cases.cases() / 5);
}

INSTANTIATE_TEST_SUITE_P(Families, DagFuzz,
                         testing::Values(test::RandomDag::Family::Matrices,
                                         test::RandomDag::Family::Images),
                         [](const auto& info) {
                           return info.param == test::RandomDag::Family::Matrices ? "matrices"
                                                                                  : "images";
                         });

}  // namespace
}  // namespace tw::autotune
