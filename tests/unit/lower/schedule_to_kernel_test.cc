// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/pipeline.h"
#include "runtime/error.h"

namespace tw {
namespace {

struct Example {
  te::Tensor a = te::placeholder({8}, float_type(32), "A");
  te::Tensor b = te::compute({8}, [&](const auto& i) { return a(i[0]) + 1; }, "B");
  te::Tensor c = te::compute({8}, [&](const auto& i) { return b(i[0]) * 2; }, "C");
  Schedule s = Schedule::create({c});

  Error error_of(const std::vector<LowerArgument>& arguments) const {
    try {
      schedule_to_kernel(s, arguments, {});
    } catch (const Error& e) {
      return e;
    }
    return Error({.what = "no error"});
  }
};

TEST(ScheduleToKernel, ArgumentsInCallOrder) {
  const Example e;
  const Kernel kernel = schedule_to_kernel(e.s, {e.c, e.a}, {.name = "f"});
  EXPECT_EQ(kernel.name, "f");
  ASSERT_EQ(kernel.arguments.size(), 2u);
  EXPECT_EQ(kernel.arguments[0].name, "C");
  EXPECT_TRUE(kernel.arguments[0].is_output);
  EXPECT_EQ(kernel.arguments[1].name, "A");
  EXPECT_FALSE(kernel.arguments[1].is_output);
}

TEST(ScheduleToKernel, AnIntermediateMayBeAnArgument) {
  const Example e;
  EXPECT_EQ(schedule_to_kernel(e.s, {e.a, e.b, e.c}, {}).arguments.size(), 3u);
}

TEST(ScheduleToKernel, InputsAndOutputsMustBeGiven) {
  const Example e;
  const Error no_output = e.error_of({e.a});
  EXPECT_EQ(no_output.code(), ErrorCode::ArgumentNotInProgram);
  EXPECT_THAT(no_output.what(), testing::HasSubstr("output 'C'"));
  EXPECT_THAT(e.error_of({e.c}).what(), testing::HasSubstr("input 'A'"));
}

TEST(ScheduleToKernel, StrangersAndRepetitions) {
  const Example e;
  const te::Tensor other = te::placeholder({8}, float_type(32), "D");
  EXPECT_EQ(e.error_of({e.a, e.c, other}).code(), ErrorCode::ArgumentNotInProgram);
  EXPECT_EQ(e.error_of({e.a, e.c, e.a}).code(), ErrorCode::BadArgument);
}

TEST(ScheduleToKernel, CachedOutputsKeepTheirArgument) {
  const Example e;
  e.s.cache_write(e.c, "local");
  EXPECT_EQ(schedule_to_kernel(e.s, {e.a, e.c}, {}).arguments[1].name, "C");
}

}  // namespace
}  // namespace tw
