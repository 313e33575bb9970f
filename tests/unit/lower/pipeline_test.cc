// SPDX-License-Identifier: Apache-2.0
#include "lower/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ir/expr.h"
#include "ir/print.h"
#include "runtime/error.h"

namespace tw {
namespace {

// parallel (y, 0, 4) { vectorized (x, 0, 8) { A[y*8 + x] = 1 } }
Kernel example() {
  const Var a = buffer_var("A", float_type(32)), y("y"), x("x");
  const Stmt store =
      make(Store{.buffer = a, .value = make_const_float(float_type(32), 1), .index = y * 8 + x});
  const Stmt inner =
      make(For{.var = x, .min = 0, .extent = 8, .for_kind = ForKind::Vectorized, .body = store});
  return {.arguments =
              {{.name = "A", .dtype = float_type(32), .shape = {32}, .var = a, .is_output = true}},
          .body = make(
              For{.var = y, .min = 0, .extent = 4, .for_kind = ForKind::Parallel, .body = inner})};
}

std::vector<std::string> passes_run(const LowerOptions& options) {
  std::vector<std::string> names;
  run_passes(example(), Target{}, options, nullptr,
             [&](std::string_view name, const KernelModule&) { names.emplace_back(name); });
  return names;
}

Error error_of(const LowerOptions& options) {
  try {
    run_passes(example(), Target{}, options);
  } catch (const Error& e) {
    return e;
  }
  return Error({.what = "no error"});
}

TEST(Pipeline, NamesAreUniqueAndDocumented) {
  std::set<std::string_view> names;
  for (const Pass& p : passes()) {
    EXPECT_TRUE(names.insert(p.name).second) << p.name;
    EXPECT_FALSE(p.doc.empty()) << p.name;
  }
}

TEST(Pipeline, RunsEveryPassAndTimesIt) {
  LowerReport report;
  run_passes(example(), Target{}, {.verify = true}, &report);
  ASSERT_EQ(report.timings.size(), passes().size());
  for (size_t i = 0; i < passes().size(); ++i) EXPECT_EQ(report.timings[i].name, passes()[i].name);
}

TEST(Pipeline, SimpleModeStopsBeforeMakeApi) {
  const auto names = passes_run({.simple_mode = true});
  EXPECT_THAT(names, testing::Not(testing::Contains("loop_partition")));
  EXPECT_EQ(names.back(), "share_arguments");
}

TEST(Pipeline, StopsAfterAPass) {
  EXPECT_EQ(passes_run({.stop_after = "vectorize_loop"}).back(), "vectorize_loop");
  EXPECT_EQ(error_of({.stop_after = "vectorise_loop"}).code(), ErrorCode::UnknownPass);
}

TEST(Pipeline, DisablesOptionalPasses) {
  const auto names = passes_run({.disabled = {"storage_rewrite", "simplify"}, .verify = true});
  EXPECT_THAT(names, testing::Not(testing::Contains("storage_rewrite")));
  EXPECT_THAT(names, testing::Not(testing::Contains("simplify")));
  EXPECT_EQ(names.back(), passes().back().name);
}

TEST(Pipeline, UnknownNamesAnswerWithTheNearest) {
  const Error e = error_of({.disabled = {"unrol_loop"}});
  EXPECT_EQ(e.code(), ErrorCode::UnknownPass);
  EXPECT_THAT(e.info().what, testing::HasSubstr("the nearest is 'unroll_loop'"));
}

TEST(Pipeline, NeededPassesCannotBeDisabled) {
  const Error e = error_of({.disabled = {"make_api"}});
  EXPECT_EQ(e.code(), ErrorCode::PassRequirement);
  EXPECT_THAT(e.info().legal, testing::HasSubstr("storage_rewrite"));
}

TEST(Pipeline, EnvironmentSelectsDumps) {
  setenv("TILEWRIGHT_DUMP", "vectorize_loop,simplify", 1);
  testing::internal::CaptureStderr();
  run_passes(example(), Target{}, {});
  const std::string text = testing::internal::GetCapturedStderr();
  setenv("TILEWRIGHT_DUMP", "no_such_pass", 1);
  EXPECT_EQ(error_of({}).code(), ErrorCode::UnknownPass);
  unsetenv("TILEWRIGHT_DUMP");
  EXPECT_THAT(text, testing::HasSubstr("// after vectorize_loop: default_function\n"));
  EXPECT_THAT(text, testing::HasSubstr("// after simplify: default_function\n"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("// after make_api")));
}

KernelModule two_kernels() {
  KernelModule module = {example(), example()};
  module.kernels[1].name = "second";
  return module;
}

bool is_lowered(const Kernel& kernel) {
  return to_string(kernel.body).find("parallel_launch") != std::string::npos;
}

TEST(Pipeline, PassesReachEveryKernelOfAModule) {
  LowerReport report;
  std::vector<size_t> seen;
  const KernelModule module = run_passes(
      two_kernels(), Target{}, {.verify = true}, &report,
      [&](std::string_view, const KernelModule& m) { seen.push_back(m.kernels.size()); });
  ASSERT_EQ(module.kernels.size(), 2u);
  EXPECT_TRUE(is_lowered(module.kernels[0]));
  EXPECT_TRUE(is_lowered(module.kernels[1]));
  EXPECT_EQ(module.kernels[1].name, "second");
  // One row of timings and one call of the observer a pass, however many kernels there are.
  EXPECT_EQ(report.timings.size(), passes().size());
  EXPECT_THAT(seen, testing::AllOf(testing::SizeIs(passes().size()), testing::Each(2u)));
}

TEST(Pipeline, EachKernelIsVerifiedAndDumped) {
  KernelModule module = two_kernels();
  setenv("TILEWRIGHT_DUMP", "simplify", 1);
  testing::internal::CaptureStderr();
  run_passes(module, Target{}, {});
  const std::string text = testing::internal::GetCapturedStderr();
  unsetenv("TILEWRIGHT_DUMP");
  EXPECT_THAT(text, testing::HasSubstr("// after simplify: default_function\n"));
  EXPECT_THAT(text, testing::HasSubstr("// after simplify: second\n"));
  module.kernels[1].arguments.clear();
  EXPECT_THROW(run_passes(module, Target{}, {.verify = true}), InternalError);
}

// What split_host_device will be like: a kernel more than before.
KernelModule add_a_copy(KernelModule module, const PassContext&) {
  Kernel copy = module.entry();
  copy.name += "_copy";
  module.kernels.push_back(std::move(copy));
  return module;
}

TEST(Pipeline, ARowMayBeAFunctionOfTheModule) {
  const Pass row{.name = "add_a_copy", .function = add_a_copy, .optional = true, .doc = "copies"};
  const PassOptions options;
  const Target target;
  const KernelModule module = apply(row, example(), {options, target});
  ASSERT_EQ(module.kernels.size(), 2u);
  EXPECT_EQ(module.kernels[1].name, "default_function_copy");
  EXPECT_THROW(module.entry(), InternalError);
}

TEST(Pipeline, WhatEntersIsVerified) {
  Kernel kernel = example();
  kernel.arguments.clear();  // A is bound by nothing now
  EXPECT_THROW(run_passes(kernel, Target{}, {.verify = true}), InternalError);
}

}  // namespace
}  // namespace tw
