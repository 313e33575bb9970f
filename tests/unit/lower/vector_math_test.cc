// SPDX-License-Identifier: Apache-2.0
// Mathematics of vectors: how many lanes there are changes nothing but the last places.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "lower/llvm/vector_math.h"
#include "lower/pipeline.h"
#include "tests/support/assembly.h"
#include "tests/unit/lower/llvm_support.h"

namespace tw::test {
namespace {

const std::map<std::string, std::function<double(double)>> kFunctions = {
    {"exp", [](double x) { return std::exp(x); }},
    {"exp2", [](double x) { return std::exp2(x); }},
    {"log", [](double x) { return std::log(x); }},
    {"log2", [](double x) { return std::log2(x); }},
    {"log10", [](double x) { return std::log10(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"tan", [](double x) { return std::tan(x); }},
    {"sinh", [](double x) { return std::sinh(x); }},
    {"cosh", [](double x) { return std::cosh(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"asin", [](double x) { return std::asin(x); }},
    {"acos", [](double x) { return std::acos(x); }},
    {"atan", [](double x) { return std::atan(x); }},
    {"erf", [](double x) { return std::erf(x); }},
};

// Ordinary values, and in front of them those that functions treat in ways of their own.
template <class T>
std::vector<T> inputs(int count) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {0,
                           T(-0.0),
                           1,
                           -1,
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           Limits::max(),
                           Limits::lowest(),
                           Limits::min(),
                           Limits::denorm_min(),
                           T(1e-20),
                           T(88.7),
                           T(-103.9)};
  std::mt19937 random(7);
  std::normal_distribution<T> normal(0, 3);
  while (static_cast<int>(values.size()) < count) values.push_back(normal(random));
  values.resize(static_cast<size_t>(count));
  return values;
}

template <class T>
void expect_close(T got, double exact, const std::string& where) {
  if (std::isnan(exact)) {
    EXPECT_TRUE(std::isnan(got)) << where;
    return;
  }
  const T nearest = static_cast<T>(exact);
  if (std::isinf(nearest)) {
    EXPECT_EQ(got, nearest) << where;
    return;
  }
  const double unit = std::max(std::fabs(exact) * std::numeric_limits<T>::epsilon(),
                               double(std::numeric_limits<T>::denorm_min()));
  // The double functions are compared with the C library's, which rounds too.
  EXPECT_NEAR(got, exact, 4.5 * unit) << where;
}

template <class T>
void check(const std::string& name, int lanes, const Target& target) {
  const auto& exact = kFunctions.at(name);
  const DType type = float_type(sizeof(T) * 8);
  const int count = lanes * ((31 + lanes) / lanes);
  const std::string text =
      fmt::format("for (i, 0, {0}) {{ y[ramp(i*{1}, 1, {1})] = {2}(x[ramp(i*{1}, 1, {1})]) }}",
                  count / lanes, lanes, name);
  const Kernel kernel =
      make_kernel(text, {{"x", type, {count}}, {"y", type, {count}, true}}, "map");
  const NDArray x = NDArray::empty({count}, type), y = NDArray::zeros({count}, type);
  const std::vector<T> values = inputs<T>(count);
  x.copy_from_bytes(values.data());
  call(compile_function(kernel, target), {x, y});
  for (int i = 0; i < count; ++i) {
    expect_close(y.data_as<T>()[i], exact(values[static_cast<size_t>(i)]),
                 fmt::format("{}({:a}), {} lanes of {}, {}", name, values[static_cast<size_t>(i)],
                             lanes, to_string(type), target.text()));
  }
}

class VectorMath : public ::testing::TestWithParam<std::string> {};

TEST_P(VectorMath, IsWithinFourUnitsForAnyNumberOfLanes) {
  for (const char* text : {"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64"}) {
    const Target target = Target::parse(text);
    if (!target.features_missing_on_host().empty()) continue;
    for (const int lanes : {2, 4, 5, 8, 16, 37}) check<float>(GetParam(), lanes, target);
    for (const int lanes : {2, 3, 8, 17}) check<double>(GetParam(), lanes, target);
  }
}

// Exact: every remainder is a number of the type.
template <class T>
void check_fmod(int lanes, const Target& target) {
  const DType type = float_type(sizeof(T) * 8);
  std::vector<T> numbers = inputs<T>(18), x, y;
  numbers.insert(numbers.end(), {T(1e30), T(-1e30), T(0.1), T(16777219), T(3)});
  for (T a : numbers) {
    for (T b : numbers) x.push_back(a), y.push_back(b);
  }
  const int count = static_cast<int>(x.size()) / lanes * lanes;
  const std::string at = fmt::format("[ramp(i*{0}, 1, {0})]", lanes);
  const Kernel kernel = make_kernel(
      fmt::format("for (i, 0, {}) {{ z{} = fmod(x{}, y{}) }}", count / lanes, at, at, at),
      {{"x", type, {count}}, {"y", type, {count}}, {"z", type, {count}, true}}, "map");
  std::vector<NDArray> arrays(3);
  for (NDArray& a : arrays) a = NDArray::zeros({count}, type);
  arrays[0].copy_from_bytes(x.data());
  arrays[1].copy_from_bytes(y.data());
  const NDArray interpreted = interpret_on(kernel, arrays)[2];
  call(compile_function(kernel, target), arrays);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const T exact = std::fmod(x[i], y[i]);
    for (const NDArray& z : {arrays[2], interpreted}) {
      const T got = z.data_as<T>()[i];
      const bool same = std::isnan(exact)
                            ? std::isnan(got)
                            : got == exact && std::signbit(got) == std::signbit(exact);
      EXPECT_TRUE(same) << fmt::format("fmod({:a}, {:a}) is {:a}, not {:a}, {} lanes of {}", x[i],
                                       y[i], got, exact, lanes, to_string(type));
    }
  }
}

TEST(VectorFunctions, RemaindersAreExact) {
  for (const char* text : {"llvm", "llvm -mcpu=x86-64"}) {
    for (const int lanes : {2, 5, 16}) {
      check_fmod<float>(lanes, Target::parse(text));
      check_fmod<double>(lanes, Target::parse(text));
    }
  }
}

// x times 2 to the n, into and out of the subnormal numbers, rounded once.
template <class T>
void check_ldexp(int lanes, const Target& target) {
  const DType type = float_type(sizeof(T) * 8);
  std::vector<T> x, n;
  for (T a : inputs<T>(20)) {
    for (int e : {0, 1, -1, 24, -24, 127, -126, -149, -150, 250, -277, 1023, -1100, 3000, -3000})
      x.push_back(a), n.push_back(static_cast<T>(e));
  }
  const int count = static_cast<int>(x.size()) / lanes * lanes;
  const std::string at = lanes == 1 ? "[i]" : fmt::format("[ramp(i*{0}, 1, {0})]", lanes);
  const Kernel kernel = make_kernel(
      fmt::format("for (i, 0, {}) {{ z{} = ldexp(x{}, n{}) }}", count / lanes, at, at, at),
      {{"x", type, {count}}, {"n", type, {count}}, {"z", type, {count}, true}}, "map");
  std::vector<NDArray> arrays(3);
  for (NDArray& a : arrays) a = NDArray::zeros({count}, type);
  arrays[0].copy_from_bytes(x.data());
  arrays[1].copy_from_bytes(n.data());
  const NDArray interpreted = interpret_on(kernel, arrays)[2];
  call(compile_function(kernel, target), arrays);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const T exact = std::ldexp(x[i], static_cast<int>(n[i]));
    for (const NDArray& z : {arrays[2], interpreted}) {
      const T got = z.data_as<T>()[i];
      const bool same = std::isnan(exact)
                            ? std::isnan(got)
                            : got == exact && std::signbit(got) == std::signbit(exact);
      EXPECT_TRUE(same) << fmt::format("ldexp({:a}, {}) is {:a}, not {:a}, {} lanes of {}, {}",
                                       x[i], n[i], got, exact, lanes, to_string(type),
                                       target.text());
    }
  }
}

TEST(VectorFunctions, PowersOfTwoAreExact) {
  for (const char* text : {"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64"}) {
    const Target target = Target::parse(text);
    if (!target.features_missing_on_host().empty()) continue;
    for (const int lanes : {1, 2, 5, 8, 16, 37}) {
      check_ldexp<float>(lanes, target);
      check_ldexp<double>(lanes, target);
    }
  }
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto& [name, exact] : kFunctions) result.push_back(name);
  return result;
}
INSTANTIATE_TEST_SUITE_P(Functions, VectorMath, ::testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

// Spelled with others by lower_intrin.
TEST(VectorFunctions, SigmoidKeepsItsSmallResults) {
  constexpr int kCount = 32;
  const te::Tensor x = te::placeholder({kCount}, float_type(32), "x");
  const te::Tensor y = te::compute(
      {kCount},
      [&](const auto& i) {
        return tw::call(float_type(32), "sigmoid", {x(i[0])}, CallKind::PureIntrinsic);
      },
      "y");
  const Schedule s = Schedule::create({y});
  s[y].vectorize(s[y].split(s[y].axis(0), 16).inner);
  const Kernel kernel = lower(s, {x, y}, Target::host());
  const NDArray in = NDArray::empty({kCount}, float_type(32));
  const NDArray out = NDArray::zeros({kCount}, float_type(32));
  std::vector<float> values = inputs<float>(kCount);
  values[14] = -88.72425F;
  values[15] = -103.0F;
  in.copy_from_bytes(values.data());
  call(compile_function(kernel), {in, out});
  for (int i = 0; i < kCount; ++i) {
    const double v = values[static_cast<size_t>(i)];
    expect_close(out.data_as<float>()[i], 1 / (1 + std::exp(-v)), fmt::format("sigmoid({})", v));
  }
}

// A vector that is wanted after the call waits for it within one cache line.
TEST(VectorFunctions, VectorsWaitAligned) {
  if (codegen::vector_symbol("_ZGVeN16v_expf") == nullptr) GTEST_SKIP() << "no libmvec";
  const auto assembly = [](int lanes, const char* target) {
    const Kernel kernel = make_kernel(
        fmt::format("O[ramp(0, 1, {0})] = (A[ramp(0, 1, {0})]*exp(A[ramp(0, 1, {0})]))\n"
                    "O[ramp(0, 1, 4)] = exp(O[ramp(0, 1, 4)])\n",
                    lanes),
        {{"A", float_type(32), {16}}, {"O", float_type(32), {16}, true}});
    return assembly_for(target, kernel);
  };
  EXPECT_NE(assembly(16, "llvm -mcpu=skylake-avx512").find("andq\t$-64, %rsp"), std::string::npos);
  EXPECT_NE(assembly(8, "llvm -mcpu=x86-64-v3").find("andq\t$-32, %rsp"), std::string::npos);
  EXPECT_EQ(assembly(4, "llvm -mcpu=x86-64").find("andq"), std::string::npos);
}

TEST(VectorFunctions, AreAsWideAsTheVectorAndTheTarget) {
  const Target wide = Target::parse("llvm -mcpu=skylake-avx512"),
               narrow = Target::parse("llvm -mcpu=x86-64-v3");
  if (codegen::vector_symbol("_ZGVeN16v_expf") == nullptr) GTEST_SKIP() << "no libmvec";
  EXPECT_EQ(codegen::find_vector_function("exp", 32, 40, wide).symbol, "_ZGVeN16v_expf");
  EXPECT_EQ(codegen::find_vector_function("exp", 32, 5, wide).symbol, "_ZGVdN8v_expf");
  EXPECT_EQ(codegen::find_vector_function("exp", 32, 3, wide).symbol, "_ZGVbN4v_expf");
  EXPECT_EQ(codegen::find_vector_function("pow", 64, 16, narrow).symbol, "_ZGVdN4vv_pow");
  EXPECT_EQ(codegen::find_vector_function("gamma", 32, 16, wide).symbol, "");
  EXPECT_EQ(codegen::vector_symbol("exp"), nullptr);
}

}  // namespace
}  // namespace tw::test
