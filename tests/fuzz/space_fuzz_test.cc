// SPDX-License-Identifier: Apache-2.0
// Random points of the design space of small programs: legal, and right in every oracle.
#include <gtest/gtest.h>

#include "autotune/features.h"
#include "autotune/replay.h"
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
  const int cases = test::fuzz_cases(12);
  int legal = 0;
  for (int i = 0; i < cases; ++i) {
    test::ScheduleCase c{.program = task.program, .data_seed = rng()};
    const Point point = space.random(rng);
    const Trace trace = space.trace(point);
    EXPECT_EQ(space.find(trace), point);
    try {
      extract_features(task, trace);
    } catch (const UserError&) {
      continue;  // the search drops it
    }
    ++legal;
    c.trace = trace;
    const auto failure = test::failure_of(c, checks);
    ASSERT_FALSE(failure.has_value()) << *failure << "\n" << c.reproducer();
  }
  EXPECT_GE(2 * legal, cases) << "most points of a space should be legal";
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
      for (int i = 0; i < test::fuzz_cases(2); ++i) {
        Point point = space.random(rng);
        for (int draws = 0; point.sketch != k && draws < 100; ++draws) point = space.random(rng);
        if (point.sketch != k) continue;
        test::ScheduleCase c{.program = task.program, .data_seed = rng()};
        c.trace = space.trace(point);
        EXPECT_EQ(space.find(c.trace), point);
        ASSERT_NO_THROW(extract_features(task, c.trace)) << c.reproducer();
        const auto failure = test::failure_of(c, checks);
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
