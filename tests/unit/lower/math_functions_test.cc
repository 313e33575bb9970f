// SPDX-License-Identifier: Apache-2.0
// Functions as arithmetic: how far from the exact result, and that there is one result.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "lower/pipeline.h"
#include "runtime/element.h"
#include "tests/unit/lower/llvm_support.h"
#include "tests/unit/lower/pass_text.h"

namespace tw::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kLeast = std::numeric_limits<float>::denorm_min();

struct Function {
  const char* name;
  double (*exact)(double);
  double ulps;  // that a result may be wrong
};
// The bounds are those over all inputs, rounded up: `./tw bench math --full`.
const Function kFunctions[] = {
    {"exp", [](double x) { return std::exp(x); }, 0.9},
    {"log", [](double x) { return std::log(x); }, 0.95},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, 2.41},
    {"tanh", [](double x) { return std::tanh(x); }, 1.96},
    {"erf", [](double x) { return std::erf(x); }, 1.9},
};

std::vector<Target> targets() {
  std::vector<Target> result;
  for (const char* text : {"llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v4",
                           "llvm -mcpu=x86-64-v3 -mattr=+avx512f,+avx512vl"}) {
    const Target target = Target::parse(text);
    if (target.has_fma && target.features_missing_on_host().empty()) result.push_back(target);
  }
  return result;
}

std::string replaced(std::string text, char what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, 1, by);
  return text;
}

// Y = body in vectors of `lanes`, as the pass leaves it; in it @ is X, and $(number) a constant.
Kernel map(const std::string& body, int lanes, int count, const Target& target,
           DType type = float_type(32)) {
  const std::string index = lanes == 1 ? "i" : fmt::format("ramp(i*{0}, 1, {0})", lanes),
                    wide = lanes == 1 ? "" : fmt::format("x{}", lanes);
  const std::string value = replaced(replaced(body, '$', wide), '@', fmt::format("X[{}]", index));
  const Kernel kernel =
      make_kernel(fmt::format("for (i, 0, {}) {{ Y[{}] = {} }}", count / lanes, index, value),
                  {{"X", type, {count}}, {"Y", type, {count}, true}}, "map");
  return run_pass(pass::expand_math, kernel, {}, target);
}

std::vector<float> run(const Kernel& kernel, const std::vector<float>& values,
                       const Target& target) {
  const auto count = static_cast<int64_t>(values.size());
  const NDArray x = NDArray::empty({count}, float_type(32)),
                y = NDArray::zeros({count}, float_type(32));
  x.copy_from_bytes(values.data());
  call(compile_function(kernel, target), {x, y});
  return {y.data_as<float>(), y.data_as<float>() + count};
}

std::vector<float> interpreted(const Kernel& kernel, const std::vector<float>& values) {
  const auto count = static_cast<int64_t>(values.size());
  const NDArray x = NDArray::empty({count}, float_type(32)),
                y = NDArray::zeros({count}, float_type(32));
  x.copy_from_bytes(values.data());
  const NDArray result = interpret_on(kernel, {x, y})[1];
  return {result.data_as<float>(), result.data_as<float>() + count};
}

// All NaNs are one.
bool same_bits(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}

// Bits of all kinds, evenly over the exponents, `count` of them.
std::vector<float> all_kinds(size_t count) {
  std::vector<float> values;
  const uint64_t step = (uint64_t{1} << 32) / count;
  for (uint64_t k = 0; k < count; ++k) {
    const uint64_t bits = k * step + (k * 2654435761U) % step;
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  return values;
}

// Where functions turn: powers of two of exp, the middle of a unit, the ends.
std::vector<float> corners() {
  std::vector<float> values = {0.0F,
                               -0.0F,
                               1,
                               -1,
                               kInfinity,
                               -kInfinity,
                               kNaN,
                               -kNaN,
                               kLeast,
                               -kLeast,
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::lowest(),
                               std::numeric_limits<float>::min(),
                               0x1.fffffep-127F};
  for (float at : {88.722839F, -87.336544F, -103.27893F, -103.97208F, -104.0F, 89.0F, 88.0F, 9.01F,
                   10.0F, 3.92F, 3.95F, 0.70710677F, 1.41421354F, 0.3465736F, 1e-38F, 5e6F, 3e9F}) {
    for (int k = -3; k <= 3; ++k) {
      const float v = std::bit_cast<float>(std::bit_cast<uint32_t>(at) + static_cast<uint32_t>(k));
      values.push_back(v);
      values.push_back(-v);
    }
  }
  return values;
}

double ulps(float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e9;
  const auto nearest = static_cast<float>(exact);
  if (std::isinf(nearest) && got == nearest) return 0;
  if (std::isnan(got) || std::isinf(got) || std::isinf(nearest)) return 1e9;
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::fabs(got - exact) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

class MathFunctions : public ::testing::TestWithParam<Function> {};

TEST_P(MathFunctions, AreWithinTheirBounds) {
  const Function& f = GetParam();
  constexpr int kCount = 1 << 20;
  std::vector<float> values = all_kinds(kCount);
  // Half of them where results are neither 0 nor 1.
  for (size_t k = 1; k < values.size(); k += 2) {
    values[k] = -20 + 40 * static_cast<float>(k) / kCount;
  }
  for (const Target& target : targets()) {
    const std::vector<float> got =
        run(map(fmt::format("{}(@)", f.name), 16, kCount, target), values, target);
    double worst = 0;
    float at = 0;
    for (size_t k = 0; k < values.size(); ++k) {
      const double error = ulps(got[k], f.exact(values[k]));
      if (error > worst) worst = error, at = values[k];
    }
    EXPECT_LE(worst, f.ulps) << fmt::format("{}({:a}), {}", f.name, at, target.text());
  }
}

TEST_P(MathFunctions, InterpreterAndAnyNumberOfLanesGiveTheSameBits) {
  const std::string body = fmt::format("{}(@)", GetParam().name);
  std::vector<float> values = corners();
  const std::vector<float> more = all_kinds(1024);
  values.insert(values.end(), more.begin(), more.end());
  for (const Target& target : targets()) {
    for (const int lanes : {1, 2, 3, 4, 5, 8, 16, 32, 37}) {
      values.resize((values.size() + lanes - 1) / lanes * lanes, 0.5F);
      const auto count = static_cast<int>(values.size());
      const std::vector<float> scalar = interpreted(map(body, 1, count, target), values);
      const Kernel kernel = map(body, lanes, count, target);
      const std::vector<float> vectors = interpreted(kernel, values),
                               machine = run(kernel, values, target);
      for (size_t k = 0; k < values.size(); ++k) {
        ASSERT_TRUE(same_bits(vectors[k], scalar[k]) && same_bits(machine[k], scalar[k]))
            << fmt::format(
                   "{}({:a}): {:a} interpreted, {:a} in vectors, {:a} compiled, {} lanes, {}",
                   GetParam().name, values[k], scalar[k], vectors[k], machine[k], lanes,
                   target.text());
      }
    }
  }
}

// With an instruction for powers of two and without it.
TEST_P(MathFunctions, ProcessorsGiveTheSameBits) {
  const std::string body = fmt::format("{}(@)", GetParam().name);
  std::vector<float> values = corners();
  const std::vector<float> more = all_kinds(4096);
  values.insert(values.end(), more.begin(), more.end());
  const auto count = static_cast<int>(values.size());
  const auto on = [&](const char* target) {
    return interpreted(map(body, 1, count, Target::parse(target)), values);
  };
  const std::vector<float> with = on("llvm -mcpu=x86-64-v4"), without = on("llvm -mcpu=x86-64-v3");
  for (size_t k = 0; k < values.size(); ++k)
    ASSERT_TRUE(same_bits(with[k], without[k]))
        << fmt::format("{:a}: {:a} and {:a}", values[k], with[k], without[k]);
}

// Contraction finds nothing in them, nor between them and the program around.
TEST_P(MathFunctions, ResultsMayBeSummed) {
  const std::string name = GetParam().name;
  const std::vector<float> values = all_kinds(4096);
  for (const std::string& body :
       {fmt::format("({}(@) + $(1.000000f))", name), fmt::format("(@ - {}(@))", name),
        fmt::format("({}((@*$(0.250000f))) - $(1.000000f))", name)}) {
    for (const int lanes : {1, 16}) {
      for (const Target& target : targets()) {
        const Kernel kernel = map(body, lanes, 4096, target);
        const std::vector<float> want = interpreted(kernel, values),
                                 got = run(kernel, values, target);
        for (size_t k = 0; k < values.size(); ++k)
          ASSERT_TRUE(same_bits(got[k], want[k])) << fmt::format(
              "{} at {:a}: {:a}, not {:a}, {} lanes", body, values[k], got[k], want[k], lanes);
      }
    }
  }
}

TEST_P(MathFunctions, HalvesRoundOnce) {
  const Function& f = GetParam();
  constexpr int kCount = 1 << 16;
  for (const DType type : {float_type(16), bfloat_type(16)}) {
    const NDArray x = NDArray::empty({kCount}, type), y = NDArray::zeros({kCount}, type);
    std::vector<uint16_t> bits(kCount);
    for (int k = 0; k < kCount; ++k) bits[static_cast<size_t>(k)] = static_cast<uint16_t>(k);
    x.copy_from_bytes(bits.data());
    const Target target = Target::host();
    if (!target.has_fma) GTEST_SKIP() << "no multiply-adds";
    call(compile_function(map(fmt::format("{}(@)", f.name), 16, kCount, target, type), target),
         {x, y});
    int differ = 0;
    for (int k = 0; k < kCount; ++k) {
      const auto* xs = static_cast<const unsigned char*>(x.data()) + 2 * k;
      const auto* ys = static_cast<const unsigned char*>(y.data()) + 2 * k;
      const double exact = f.exact(load_as_double(xs, type)), got = load_as_double(ys, type);
      const double nearest = round_to(type, exact);
      if (std::isnan(nearest) && std::isnan(got)) continue;
      differ += got != nearest ? 1 : 0;
      // A result beside the middle of two numbers may go to either.
      if (got != nearest) {
        EXPECT_NEAR(got, exact, std::fabs(exact) * 0x1p-7) << f.name << " " << k;
      }
    }
    EXPECT_LE(differ, kCount / 1000) << f.name << " of " << to_string(type);
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, MathFunctions, ::testing::ValuesIn(kFunctions),
                         [](const auto& info) { return info.param.name; });

// What each gives where it is exact, or has no number to give.
TEST(MathFunctionsAt, Corners) {
  const std::vector<std::tuple<const char*, float, float>> rows = {
      {"exp", 0.0F, 1},
      {"exp", -0.0F, 1},
      {"exp", kInfinity, kInfinity},
      {"exp", -kInfinity, 0},
      {"exp", kNaN, kNaN},
      {"exp", 0x1.62e42ep6F, 0x1.ffff08p127F},
      {"exp", 0x1.62e430p6F, kInfinity},
      {"exp", 3e38F, kInfinity},
      {"exp", -103.97208F, kLeast},
      {"exp", -103.97209F, 0},
      {"exp", -3e38F, 0},
      {"log", 1, 0},
      {"log", 0.0F, -kInfinity},
      {"log", -0.0F, -kInfinity},
      {"log", kInfinity, kInfinity},
      {"log", -1, kNaN},
      {"log", -kInfinity, kNaN},
      {"log", kNaN, kNaN},
      {"log", kLeast, -103.278929903431851103F},
      {"sigmoid", 0.0F, 0.5F},
      {"sigmoid", kInfinity, 1},
      {"sigmoid", -kInfinity, 0},
      {"sigmoid", kNaN, kNaN},
      {"sigmoid", 88.5F, 1},
      {"sigmoid", 3e38F, 1},
      {"sigmoid", -3e38F, 0},
      {"sigmoid", -103.5F, kLeast},
      {"tanh", 0.0F, 0.0F},
      {"tanh", -0.0F, -0.0F},
      {"tanh", kInfinity, 1},
      {"tanh", -kInfinity, -1},
      {"tanh", kNaN, kNaN},
      {"tanh", kLeast, kLeast},
      {"tanh", -kLeast, -kLeast},
      {"tanh", 3e38F, 1},
      {"erf", 0.0F, 0.0F},
      {"erf", -0.0F, -0.0F},
      {"erf", kInfinity, 1},
      {"erf", -kInfinity, -1},
      {"erf", kNaN, kNaN},
      {"erf", kLeast, kLeast},
      {"erf", 3e38F, 1},
  };
  for (const Target& target : targets()) {
    for (const auto& [name, x, want] : rows) {
      for (const int lanes : {1, 16}) {
        const std::vector<float> values(16, x);
        const Kernel kernel = map(fmt::format("{}(@)", name), lanes, 16, target);
        const float got = run(kernel, values, target)[15];
        EXPECT_TRUE(same_bits(got, want))
            << fmt::format("{}({:a}) is {:a}, not {:a}", name, x, want, got);
      }
    }
  }
}

// A row that ends inside of a vector, in a loop that is vectorized and in one that is not.
TEST(MathFunctionsAt, SchedulesGiveTheSameBits) {
  for (const Function& f : kFunctions) {
    constexpr int kRows = 9, kColumns = 53;
    const te::Tensor x = te::placeholder({kRows, kColumns}, float_type(32), "x");
    const te::Tensor y = te::compute(
        {kRows, kColumns},
        [&](const auto& i) {
          return tw::call(float_type(32), f.name, {x(i[0], i[1])}, CallKind::PureIntrinsic) *
                     make_const(float_type(32), 3) +
                 x(i[0], i[1]);
        },
        "y");
    const NDArray in = NDArray::empty({kRows, kColumns}, float_type(32));
    for (int i = 0; i < kRows * kColumns; ++i)
      in.data_as<float>()[i] = 0.02F * static_cast<float>(i - 200);
    for (const Target& target : targets()) {
      std::vector<float> first;
      for (const int lanes : {1, 4, 8, 16}) {
        const Schedule s = Schedule::create({y});
        if (lanes > 1) s[y].vectorize(s[y].split(s[y].axis(1), lanes).inner);
        const NDArray out = NDArray::zeros({kRows, kColumns}, float_type(32));
        call(compile_function(lower(s, {x, y}, target), target), {in, out});
        const std::vector<float> got(out.data_as<float>(), out.data_as<float>() + kRows * kColumns);
        if (first.empty()) first = got;
        for (size_t k = 0; k < got.size(); ++k)
          ASSERT_TRUE(same_bits(got[k], first[k])) << f.name << " " << lanes << " lanes, " << k;
      }
    }
  }
}

}  // namespace
}  // namespace tw::test
