// SPDX-License-Identifier: Apache-2.0
#include "autotune/measure/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "autotune/task/task.h"
#include "autotune/task/workloads.h"
#include "ir/expr.h"
#include "lower/llvm/compile.h"
#include "runtime/error.h"
#include "runtime/module.h"
#include "schedule/topi/topi.h"

namespace tw::autotune {
namespace {

std::vector<NDArray> arrays_of(const te::Program& program, uint64_t seed) {
  std::vector<NDArray> arrays;
  for (size_t k = 0; k < program.arguments.size(); ++k) {
    const te::Tensor& t = program.arguments[k];
    arrays.push_back(NDArray::empty(constant_shape(t), t.dtype()));
    fill_input(arrays.back(), seed, k);
  }
  return arrays;
}

// Runs a program unscheduled; `given` are its placeholders by name.
std::vector<NDArray> run(const te::Program& program, const std::map<std::string, NDArray>& given) {
  const Kernel kernel = lower_unscheduled(program, Target::host(), "k");
  const Function f =
      compile({kernel}, Target::host(), {.fast_math_contract = false})->get_function("k");
  std::vector<NDArray> arrays, outputs;
  for (const te::Tensor& t : program.arguments) {
    if (t.op()->is_placeholder()) {
      arrays.push_back(given.at(t.name()));
    } else {
      arrays.push_back(NDArray::empty(constant_shape(t), t.dtype()));
      outputs.push_back(arrays.back());
    }
  }
  std::vector<CallArgument> arguments(arrays.begin(), arrays.end());
  f.call(arguments);
  return outputs;
}

std::map<std::string, NDArray> inputs_of(const te::Program& program, uint64_t seed = 1) {
  std::map<std::string, NDArray> inputs;
  const auto arrays = arrays_of(program, seed);
  for (size_t k = 0; k < arrays.size(); ++k) inputs[program.arguments[k].name()] = arrays[k];
  return inputs;
}

TEST(Reference, InputsAreTheSameEverywhereAndInRange) {
  const NDArray a = NDArray::empty({1000}, float_type(32)),
                b = NDArray::empty({1000}, float_type(32));
  fill_input(a, 7, 0);
  fill_input(b, 7, 0);
  EXPECT_EQ(checksum(a), checksum(b));
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_GE(a.data_as<float>()[i], -1);
    EXPECT_LT(a.data_as<float>()[i], 1);
    sum += a.data_as<float>()[i];
  }
  EXPECT_LT(std::abs(sum), 100);
  fill_input(b, 7, 1);
  EXPECT_NE(checksum(a), checksum(b));
  fill_input(b, 8, 0);
  EXPECT_NE(checksum(a), checksum(b));
  const NDArray n = NDArray::empty({1000}, int_type(8));
  fill_input(n, 7, 0);
  for (int i = 0; i < 1000; ++i) EXPECT_LE(std::abs(n.data_as<int8_t>()[i]), 4);
}

TEST(Reference, OneChangedByteChangesTheChecksum) {
  const NDArray a = NDArray::zeros({101}, uint_type(8));
  const uint64_t before = checksum(a);
  for (int i = 0; i < 101; ++i) {
    a.data_as<uint8_t>()[i] = 1;
    EXPECT_NE(checksum(a), before) << i;
    a.data_as<uint8_t>()[i] = 0;
  }
  EXPECT_EQ(checksum(a), before);
}

TEST(Reference, ComparisonKnowsNanInfinityAndTolerance) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              inf = std::numeric_limits<float>::infinity();
  const float expected[] = {1, nan, inf, -inf, 0};
  const float tolerance[] = {0.1f, 0.1f, 0.1f, 0.1f, inf};
  const auto wrong = [&](const std::vector<float>& got) -> int64_t {
    const auto m = compare(expected, got.data(), tolerance, 5, float_type(32));
    return m ? m->index : -1;
  };
  EXPECT_EQ(wrong({1.05f, nan, inf, -inf, 12}), -1);
  EXPECT_EQ(wrong({1.2f, nan, inf, -inf, 0}), 0);
  EXPECT_EQ(wrong({1, 0, inf, -inf, 0}), 1);
  EXPECT_EQ(wrong({1, nan, 3e38f, -inf, 0}), 2);
  EXPECT_EQ(wrong({1, nan, inf, inf, 0}), 3);
  EXPECT_EQ(wrong({1, nan, inf, -inf, nan}), 4);
  const int32_t a[] = {1, 2, 3}, b[] = {1, 5, 4};
  const auto m = compare(a, b, nullptr, 3, int_type(32));
  ASSERT_TRUE(m);
  EXPECT_EQ(m->index, 1);
  EXPECT_EQ(m->count, 2);
  EXPECT_EQ(m->expected, 2);
  EXPECT_EQ(m->got, 5);
}

TEST(Reference, GarbageIsNeverAResult) {
  for (DType type : {float_type(16), float_type(32), float_type(64), bfloat_type(16)}) {
    const NDArray a = NDArray::zeros({4}, type), b = NDArray::zeros({4}, type);
    fill_garbage(b);
    std::vector<float> everything(4, 1e30f);
    EXPECT_TRUE(compare(a.data(), b.data(), everything.data(), 4, type)) << to_string(type);
  }
}

TEST(ErrorBound, OfAProductIsTheSumOfAbsoluteProducts) {
  const te::Program program = parse_workload("gemm:m=5,n=7,k=30").program;
  const ErrorBound bound = error_bound(program);
  ASSERT_EQ(bound.outputs, std::vector<int>{0});
  EXPECT_DOUBLE_EQ(bound.factors[0], rounding_factor(30, 0x1p-23));
  const auto inputs = inputs_of(program);
  const NDArray got = run(bound.program, inputs).at(0);
  const auto* a = inputs.at("A").data_as<float>();
  const auto* b = inputs.at("B").data_as<float>();
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 7; ++j) {
      double sum = 0;
      for (int k = 0; k < 30; ++k) sum += std::abs(double{a[i * 30 + k]} * b[k * 7 + j]);
      EXPECT_NEAR(got.data_as<double>()[i * 7 + j], sum, 1e-12);
    }
  }
}

TEST(ErrorBound, IntegersAreExact) {
  const ErrorBound bound = error_bound(parse_workload("gemm:m=5,n=7,k=3,dtype=int32").program);
  EXPECT_EQ(bound.outputs, std::vector<int>{-1});
}

// The float32 result lies within its bound of the float64 result of the same inputs, for every
// kind.
TEST(ErrorBound, HoldsForEveryKindOfWorkload) {
  for (const char* sizes :
       {"gemm:m=9,n=8,k=257", "dense:m=3,n=4,k=5", "batch_gemm:b=2,m=3,n=4,k=65",
        "conv2d:ci=3,h=9,co=4,k=3,p=1", "conv2d_bias_relu:ci=4,h=7,co=4,k=3,s=2,p=1,g=2",
        "depthwise_conv2d:c=3,h=8", "softmax:m=4,n=33", "layer_norm:m=4,n=50",
        "elementwise:m=6,n=7"}) {
    const te::Program narrow = parse_workload(sizes).program;
    const te::Program wide = parse_workload(std::string(sizes) + ",dtype=float64").program;
    const ErrorBound bound = error_bound(narrow);
    const auto inputs = inputs_of(narrow);
    std::map<std::string, NDArray> wide_inputs;
    for (const auto& [name, array] : inputs) {
      const NDArray w = NDArray::empty(array.shape(), float_type(64));
      if (array.dtype() != float_type(32)) continue;
      for (int64_t i = 0; i < w.size(); ++i) w.data_as<double>()[i] = array.data_as<float>()[i];
      wide_inputs[name] = w;
    }
    const NDArray n = run(narrow, inputs).at(0), w = run(wide, wide_inputs).at(0);
    const NDArray b = run(bound.program, inputs).at(0);
    double greatest = 0;
    for (int64_t i = 0; i < n.size(); ++i) {
      const double error = std::abs(n.data_as<float>()[i] - w.data_as<double>()[i]);
      const double allowed = b.data_as<double>()[i] * bound.factors[0];
      EXPECT_LE(error, allowed) << sizes << " at " << i;
      greatest = std::max(greatest, allowed);
    }
    // A bound that allows anything would be of no use.
    EXPECT_LT(greatest, 0.01) << sizes;
  }
}

// Errors pass from step to step, and from one state into the other.
TEST(ErrorBound, HoldsForScans) {
  const auto program = [](const std::string& type) {
    const std::string zero = type == "float32" ? "0.000000f" : "0.000000";
    return te::parse_program(
        "te 1\nX = placeholder(" + type +
        ", [6, 9])\n"
        "a = placeholder(" +
        type + ", [6, 9])\nb = placeholder(" + type +
        ", [6, 9])\n"
        "ai = compute([t: 1, i: 9], X(0, i))\n"
        "bi = compute([t: 1, i: 9], " +
        zero +
        ")\n"
        "m = compute([t: 6, i: 9], reduce [k: 9], sum((a((t - 1), k)*X(t, k))))\n"
        "au = compute([t: 6, i: 9], tanh((m(t, i) + X(t, i))))\n"
        "bu = compute([t: 6, i: 9], (b((t - 1), i) + (a((t - 1), i)*m(t, i))))\n"
        "R = scan(init=[ai, bi], update=[au, bu], state=[a, b])\n"
        "D = compute([t: 6, i: 9], (R.v0(t, i) - R.v1(t, i)))\n"
        "arguments X D\noutputs D\n");
  };
  const te::Program narrow = program("float32"), wide = program("float64");
  const ErrorBound bound = error_bound(narrow);
  ASSERT_EQ(bound.outputs, std::vector<int>{0});
  EXPECT_DOUBLE_EQ(bound.factors[0], rounding_factor(9 * 5, 0x1p-23));
  const auto inputs = inputs_of(narrow);
  const NDArray x = NDArray::empty({6, 9}, float_type(64));
  for (int64_t i = 0; i < x.size(); ++i)
    x.data_as<double>()[i] = inputs.at("X").data_as<float>()[i];
  const NDArray n = run(narrow, inputs).at(0), w = run(wide, {{"X", x}}).at(0);
  const NDArray b = run(bound.program, inputs).at(0);
  bool differs = false;
  for (int64_t i = 0; i < n.size(); ++i) {
    const double error = std::abs(n.data_as<float>()[i] - w.data_as<double>()[i]);
    const double allowed = b.data_as<double>()[i] * bound.factors[0];
    EXPECT_LE(error, allowed) << i;
    if (i < 18) EXPECT_LT(allowed, 0.001) << i;
    differs |= error > 0;
  }
  EXPECT_TRUE(differs);
}

TEST(ErrorBound, ChoicesAreAsExactAsWhatTheyChooseFrom) {
  const te::Tensor x = te::placeholder({1, 2, 6, 6}, float_type(32), "x");
  const te::Program pooled =
      te::make_program({topi::nn::pool2d(x, {3}, {1}, {1}, {1}, topi::nn::PoolType::Max)});
  const ErrorBound bound = error_bound(pooled);
  const NDArray got = run(bound.program, inputs_of(pooled)).at(0);
  for (int64_t i = 0; i < got.size(); ++i) {
    EXPECT_LE(got.data_as<double>()[i], 1) << i;  // the ends of the type are no magnitudes
    EXPECT_GT(got.data_as<double>()[i], 0) << i;
  }
  // A position among floats is an integer.
  EXPECT_EQ(error_bound(te::make_program({topi::argmax(x, {3})})).outputs, std::vector<int>{-1});
}

TEST(ErrorBound, AStepMayFallEitherWay) {
  const te::Tensor x = te::placeholder({8}, float_type(32), "x");
  const te::Program program = te::make_program({topi::floor(topi::add(x, x))});
  const ErrorBound bound = error_bound(program);
  const NDArray got = run(bound.program, inputs_of(program)).at(0);
  EXPECT_GE(got.data_as<double>()[0] * bound.factors[0], 1);
}

// One operation over x, for each rule of the table.
TEST(ErrorBound, EveryFunctionHasABoundThatHolds) {
  const te::Tensor x = te::placeholder({64}, float_type(32), "x");
  for (const char* name :
       {"exp", "exp2", "tanh", "sigmoid", "sin", "cos", "erf", "atan", "fabs", "sinh", "cosh",
        "tan", "sqrt", "rsqrt", "log", "log2", "log10", "asin", "acos"}) {
    // A sum before, so that there is an error to pass on; 1.5 keeps sqrt and log defined.
    const bool positive =
        std::string_view("sqrt rsqrt log log2 log10").find(name) != std::string_view::npos;
    const auto f = [&](DType type) {
      return te::compute(
          {64},
          [&](const std::vector<Var>& i) {
            const Expr sum = cast(type, x(i[0])) * make_const_float(type, 0.3) +
                             make_const_float(type, positive ? 1.5 : 0.2);
            return call(name, {sum});
          },
          "y");
    };
    const te::Program narrow = te::make_program({f(float_type(32))});
    const te::Program wide = te::make_program({f(float_type(64))});
    const ErrorBound bound = error_bound(narrow);
    const auto inputs = inputs_of(narrow);
    const NDArray n = run(narrow, inputs).at(0), w = run(wide, inputs).at(0);
    const NDArray b = run(bound.program, inputs).at(0);
    for (int64_t i = 0; i < 64; ++i) {
      EXPECT_LE(std::abs(n.data_as<float>()[i] - w.data_as<double>()[i]),
                b.data_as<double>()[i] * bound.factors[0])
          << name << " at " << i;
      EXPECT_LT(b.data_as<double>()[i] * bound.factors[0], 1e-4) << name;
    }
  }
}

}  // namespace
}  // namespace tw::autotune
