// SPDX-License-Identifier: Apache-2.0
// Random points of the design space of small programs: legal, and right in every oracle.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "autotune/cost/features.h"
#include "autotune/log/replay.h"
#include "autotune/space/space.h"
#include "tests/support/fuzz.h"
#include "tests/support/jit_check.h"
#include "tests/support/lower_check.h"
#include "tests/support/tuning_programs.h"

namespace tw::autotune {
namespace {

class SpaceFuzz : public testing::TestWithParam<test::TuningProgram> {};

TEST_P(SpaceFuzz, PointsComputeTheDefinition) {
  const Task task = make_task(GetParam().text, Target::host(), 2);
  const Space space(task);
  std::mt19937_64 rng(test::fuzz_seed());
  const auto checks = test::jit_checks(task.target);
  test::FuzzCases cases(12, 1);
  while (cases.next()) {
    test::ScheduleCase c{.program = task.program, .data_seed = rng()};
    const Point point = space.random(rng);
    const Trace trace = space.trace(point);
    EXPECT_EQ(space.find(trace), point);
    c.trace = trace;
    const auto failure = test::failure_of(c, checks, cases);
    ASSERT_FALSE(failure.has_value()) << *failure << "\n" << c.reproducer();
  }
}

// On processors with few lanes and with many, those that mutation reaches among them.
TEST_P(SpaceFuzz, PointsAreLegal) {
  std::mt19937_64 rng(test::fuzz_seed());
  for (const char* processor : {"x86-64", "x86-64-v3", "sapphirerapids"}) {
    const Task task =
        make_task(GetParam().text, Target::parse(fmt::format("llvm -mcpu={}", processor)), 2);
    const Space space(task);
    Point point = space.random(rng);
    test::FuzzCases cases(30, 1);
    while (cases.next()) {
      point = cases.index() % 3 == 0 ? space.random(rng) : space.mutate(point, rng);
      const Trace trace = space.trace(point);
      ASSERT_NO_THROW(extract_features(task, trace)) << processor << "\n" << to_text(trace);
    }
  }
}

// Products in tile registers on machines without them: the interpreter runs the loops that the
// intrinsics stand for.
TEST(TileRegistersFuzz, SketchesComputeTheDefinition) {
  const std::vector<test::ScheduleCheck> checks = {test::lower_checks().front()};
  std::mt19937_64 rng(test::fuzz_seed());
  int sketches = 0;
  for (const test::TuningProgram& program : test::kTuningPrograms) {
    const Task task = make_task(program.text, Target::parse("llvm -mcpu=sapphirerapids"), 2);
    const Space space(task);
    for (size_t k = 0; k < space.sketches().size(); ++k) {
      const Sketch& sketch = space.sketches()[k];
      if (sketch.description.find("amx") == std::string::npos) continue;
      ++sketches;
      test::FuzzCases cases(2, 1);
      while (cases.next()) {
        Point point = space.random(rng);
        for (int draws = 0; point.sketch != k && draws < 100; ++draws) point = space.random(rng);
        if (point.sketch != k) {
          cases.refuse();
          continue;
        }
        test::ScheduleCase c{.program = task.program, .data_seed = rng()};
        c.trace = space.trace(point);
        EXPECT_EQ(space.find(c.trace), point);
        ASSERT_NO_THROW(extract_features(task, c.trace)) << c.reproducer();
        const auto failure = test::failure_of(c, checks, cases);
        ASSERT_FALSE(failure.has_value()) << *failure << "\n" << c.reproducer();
      }
    }
  }
  EXPECT_GE(sketches, 6);
}

INSTANTIATE_TEST_SUITE_P(Programs, SpaceFuzz, testing::ValuesIn(test::kTuningPrograms),
                         [](const auto& info) {
                           std::string name(info.param.name);
                           std::erase_if(name, [](char c) { return !std::isalnum(c); });
                           return name;
                         });

}  // namespace
}  // namespace tw::autotune
