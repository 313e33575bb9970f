// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lower/pipeline.h"
#include "tests/support/assembly.h"
#include "tests/unit/lower/llvm_support.h"
#include "tests/unit/lower/pass_text.h"

namespace tw::test {
namespace {

const Target& with_fma() {
  static const Target target = Target::parse("llvm -mcpu=x86-64-v3");
  return target;
}

std::string expanded(const std::string& text, const Target& target = with_fma()) {
  return to_string(run_pass(pass::expand_math, Kernel{.body = parse_stmt(text)}, {}, target).body);
}

// y[i] = name(x[i]) of float32 in vectors of 8 lanes.
Kernel lower_map(const std::string& name, const Target& target, const LowerOptions& options = {}) {
  const te::Tensor x = te::placeholder({64}, float_type(32), "x");
  const te::Tensor y = te::compute(
      {64},
      [&](const auto& i) {
        return tw::call(float_type(32), name, {x(i[0])}, CallKind::PureIntrinsic);
      },
      "y");
  const Schedule s = Schedule::create({y});
  s[y].vectorize(s[y].split(s[y].axis(0), 8).inner);
  return lower(s, {x, y}, target, options);
}

TEST(ExpandMath, CallsBecomeArithmetic) {
  for (const char* name : {"exp", "log", "sigmoid", "tanh", "erf"}) {
    for (const char* type : {"float32", "float16", "bfloat16", "float32x8"}) {
      const std::string index = std::string_view(type) == "float32x8" ? "ramp(0, 1, 8)" : "0",
                        element = std::string(type).substr(0, std::string(type).find('x'));
      const std::string text = fmt::format("A[{0}] = {1}(A[{0}])\n", index, name),
                        after = expanded(fmt::format("declare A: {}*\n", element) + text);
      EXPECT_THAT(after, testing::HasSubstr("fma(")) << name << " of " << type;
      EXPECT_THAT(after, testing::Not(testing::HasSubstr(fmt::format("{}(", name))))
          << name << " of " << type;
    }
  }
}

TEST(ExpandMath, CallsInsideOfCalls) {
  EXPECT_THAT(expanded("declare A: float32*\nA[0] = sin(tanh(exp(A[1])))\n"),
              testing::AllOf(testing::HasSubstr("sin("), testing::Not(testing::HasSubstr("exp(")),
                             testing::Not(testing::HasSubstr("tanh("))));
}

TEST(ExpandMath, LeavesOtherCallsAlone) {
  for (const char* text :
       {"declare A: float64*\nA[0] = exp(A[1])\n", "declare A: float32*\nA[0] = pow(A[1], A[2])\n",
        "declare A: float32*\nA[0] = sqrt(sin(A[1]))\n",
        "declare A: int32*\nA[0] = fabs(A[1])\n"}) {
    EXPECT_EQ(expanded(text), to_string(parse_stmt(text)));
  }
}

// Two roundings where there should be one would be wrong by many units.
TEST(ExpandMath, LeavesCallsAloneWithoutMultiplyAdds) {
  const std::string text = "declare A: float32*\nA[0] = exp(A[1])\n";
  EXPECT_EQ(expanded(text, Target::parse("llvm -mcpu=x86-64")), to_string(parse_stmt(text)));
  EXPECT_EQ(expanded(text, Target::parse("llvm -mcpu=x86-64-v3 -mattr=-fma")),
            to_string(parse_stmt(text)));
}

TEST(ExpandMath, NothingIsCalled) {
  for (const char* name : {"exp", "log", "sigmoid", "tanh", "erf"}) {
    const std::string assembly = assembly_for("llvm -mcpu=x86-64-v3", lower_map(name, with_fma()));
    EXPECT_THAT(assembly, testing::Not(testing::HasSubstr("_ZGV"))) << name;
    EXPECT_THAT(assembly, testing::HasSubstr("vfmadd")) << name;
  }
}

TEST(ExpandMath, WithoutItFunctionsAreCalled) {
  for (const char* name : {"exp", "log", "sigmoid", "tanh", "erf"}) {
    const Kernel kernel = lower_map(name, Target::host(), {.disabled = {"expand_math"}}),
                 arithmetic = lower_map(name, Target::host());
    const NDArray x = NDArray::empty({64}, float_type(32));
    std::vector<NDArray> y(2);
    for (NDArray& a : y) a = NDArray::zeros({64}, float_type(32));
    for (int i = 0; i < 64; ++i) x.data_as<float>()[i] = 0.1F * static_cast<float>(i + 1);
    call(compile_function(kernel), {x, y[0]});
    call(compile_function(arithmetic), {x, y[1]});
    for (int i = 0; i < 64; ++i) {
      const float a = y[0].data_as<float>()[i], b = y[1].data_as<float>()[i];
      EXPECT_NEAR(a, b, 1e-6F * std::max(std::fabs(a), 0.1F)) << name << " " << i;
    }
  }
}

}  // namespace
}  // namespace tw::test
