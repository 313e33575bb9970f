// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/print.h"
#include "lower/pipeline.h"
#include "runtime/error.h"

namespace tw {
namespace {

Kernel schedule_to_kernel(const Schedule& s, const std::vector<LowerArgument>& arguments,
                          const LowerOptions& options) {
  return schedule_to_module(s, arguments, {}, options).entry();
}

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

TEST(ScheduleToModule, ArgumentsInCallOrder) {
  const Example e;
  const Kernel kernel = schedule_to_kernel(e.s, {e.c, e.a}, {.name = "f"});
  EXPECT_EQ(kernel.name, "f");
  ASSERT_EQ(kernel.arguments.size(), 2u);
  EXPECT_EQ(kernel.arguments[0].name, "C");
  EXPECT_TRUE(kernel.arguments[0].is_output);
  EXPECT_EQ(kernel.arguments[1].name, "A");
  EXPECT_FALSE(kernel.arguments[1].is_output);
}

TEST(ScheduleToModule, AnIntermediateMayBeAnArgument) {
  const Example e;
  EXPECT_EQ(schedule_to_kernel(e.s, {e.a, e.b, e.c}, {}).arguments.size(), 3u);
}

TEST(ScheduleToModule, InputsAndOutputsMustBeGiven) {
  const Example e;
  const Error no_output = e.error_of({e.a});
  EXPECT_EQ(no_output.code(), ErrorCode::ArgumentNotInProgram);
  EXPECT_THAT(no_output.what(), testing::HasSubstr("output 'C'"));
  EXPECT_THAT(e.error_of({e.c}).what(), testing::HasSubstr("input 'A'"));
}

TEST(ScheduleToModule, StrangersAndRepetitions) {
  const Example e;
  const te::Tensor unread = te::placeholder({8}, float_type(32), "D");
  const te::Tensor other = te::compute({8}, [&](const auto& i) { return unread(i[0]); }, "E");
  EXPECT_EQ(e.error_of({e.a, e.c, other}).code(), ErrorCode::ArgumentNotInProgram);
  EXPECT_EQ(e.error_of({e.a, e.c, e.a}).code(), ErrorCode::BadArgument);
  EXPECT_EQ(e.error_of({unread, e.a, e.c, unread}).code(), ErrorCode::BadArgument);
}

TEST(ScheduleToKernel, PlaceholdersThatNothingReadsAreArguments) {
  const Example e;
  const te::Tensor unread = te::placeholder({te::var("n"), 3}, float_type(64), "D");
  const Kernel kernel = schedule_to_kernel(e.s, {e.a, unread, e.c}, {});
  ASSERT_EQ(kernel.arguments.size(), 3u);
  EXPECT_EQ(kernel.arguments[1].name, "D");
  EXPECT_EQ(kernel.arguments[1].dtype, float_type(64));
  EXPECT_FALSE(kernel.arguments[1].is_output);
  const te::Tensor namesake = te::placeholder({8}, float_type(32), "A");
  EXPECT_THAT(e.error_of({namesake, e.c}).what(),
              testing::HasSubstr("input 'A' is not among the arguments, but another tensor"));
}

TEST(ScheduleToModule, CachedOutputsKeepTheirArgument) {
  const Example e;
  e.s.cache_write(e.c, "local");
  EXPECT_EQ(schedule_to_kernel(e.s, {e.a, e.c}, {}).arguments[1].name, "C");
}

// C = A * P, P = W + 1, a bias added; W and the bias are constant.
struct ConstantExample {
  te::Tensor a = te::placeholder({8}, float_type(32), "A");
  te::Tensor w = te::placeholder({8}, float_type(32), "W", true);
  te::Tensor bias = te::placeholder({8}, float_type(32), "bias", true);
  te::Tensor p = te::compute({8}, [&](const auto& i) { return w(i[0]) + 1; }, "P");
  te::Tensor c =
      te::compute({8}, [&](const auto& i) { return a(i[0]) * p(i[0]) + bias(i[0]); }, "C");
  Schedule s = Schedule::create({c});
  ConstantExample() { s[p].precompute(); }
};

std::vector<std::string> names_of(const std::vector<KernelConstant>& constants) {
  std::vector<std::string> names;
  for (const KernelConstant& c : constants) names.push_back(c.name);
  return names;
}

TEST(ScheduleToModule, PrecomputedStagesAreAKernelOfTheirOwn) {
  const ConstantExample e;
  const KernelModule module = schedule_to_module(e.s, {e.a, e.c}, {e.w, e.bias}, {.name = "f"});
  ASSERT_NE(module.preparation(), nullptr);
  EXPECT_EQ(module.preparation()->name, "f_preparation");
  EXPECT_TRUE(module.preparation()->arguments.empty());
  EXPECT_THAT(names_of(module.preparation()->constants), testing::ElementsAre("W", "P"));
  EXPECT_THAT(names_of(module.entry().constants), testing::ElementsAre("bias", "P"));
  EXPECT_EQ(module.entry().arguments.size(), 2u);
  EXPECT_THAT(to_string(module.entry().body), testing::Not(testing::HasSubstr("produce P")));
  EXPECT_THAT(to_string(module.preparation()->body), testing::Not(testing::HasSubstr("produce C")));
}

std::vector<std::string> names_of(const std::vector<KernelArgument>& arguments) {
  std::vector<std::string> names;
  for (const KernelArgument& a : arguments) names.push_back((a.is_output ? "out " : "") + a.name);
  return names;
}

TEST(ScheduleToModule, ConstantsMayBeArgumentsOfBothKernels) {
  const ConstantExample e;
  const KernelModule module =
      constants_to_arguments(schedule_to_module(e.s, {e.a, e.c}, {e.w, e.bias}, {.name = "f"}));
  ASSERT_NE(module.preparation(), nullptr);
  EXPECT_THAT(names_of(module.preparation()->arguments), testing::ElementsAre("W", "out P"));
  EXPECT_THAT(names_of(module.entry().arguments), testing::ElementsAre("A", "bias", "P", "out C"));
  EXPECT_TRUE(module.entry().constants.empty());
  EXPECT_TRUE(module.preparation()->constants.empty());
}

TEST(ScheduleToModule, WithoutValuesPrecomputedStagesAreComputedInTheCall) {
  const ConstantExample e;
  const KernelModule module = schedule_to_module(e.s, {e.a, e.w, e.c}, {e.bias}, {});
  EXPECT_EQ(module.preparation(), nullptr);
  EXPECT_THAT(names_of(module.entry().constants), testing::ElementsAre("bias"));
  EXPECT_THAT(to_string(module.entry().body), testing::HasSubstr("produce P"));
  // The same for what the caller wants to have.
  const KernelModule asked = schedule_to_module(e.s, {e.a, e.p, e.c}, {e.w, e.bias}, {});
  EXPECT_EQ(asked.preparation(), nullptr);
  EXPECT_THAT(to_string(asked.entry().body), testing::HasSubstr("produce P"));
}

TEST(ScheduleToModule, ConstantsNeedValuesThatFit) {
  const ConstantExample e;
  const auto code = [&](const std::vector<ConstantValue>& values) {
    KernelModule module = lower_module(e.s, {e.a, e.c}, {e.w, e.bias}, Target{});
    try {
      bind_constants(module, values);
    } catch (const Error& error) {
      return error.code();
    }
    for (const KernelConstant& c : module.entry().constants) EXPECT_TRUE(c.value.defined());
    return ErrorCode::Internal;
  };
  const NDArray good = NDArray::zeros({8}, float_type(32));
  EXPECT_EQ(code({{e.w, good}, {e.bias, good}}), ErrorCode::Internal);
  EXPECT_EQ(code({{e.w, good}}), ErrorCode::ArgumentNotInProgram);
  EXPECT_EQ(code({{e.w, NDArray::zeros({9}, float_type(32))}, {e.bias, good}}),
            ErrorCode::ArgumentShape);
  EXPECT_EQ(code({{e.w, NDArray::zeros({8}, float_type(64))}, {e.bias, good}}),
            ErrorCode::ArgumentDType);
  EXPECT_EQ(code({{e.w, NDArray::zeros({16}, float_type(32))
                            .view(std::vector<int64_t>{8}, std::vector<int64_t>{2})},
                  {e.bias, good}}),
            ErrorCode::ArgumentStrides);
  try {
    schedule_to_module(e.s, {e.w, e.bias, e.c}, {e.a}, {});
    FAIL() << "a value for what is no constant";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotConstant);
  }
}

}  // namespace
}  // namespace tw
