// SPDX-License-Identifier: Apache-2.0
// Mathematical functions of vectors: how far from the exact result, over all inputs, and how fast.
//
// The exact result is the C library's in double precision, correct to a thousandth of a float's ulp
// wherever that matters. The error is in units of the last place of the float nearest to it.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <random>

#include "bench/google_benchmark.h"
#include "bench/sections.h"
#include "ir/expr.h"
#include "lower/llvm/compile.h"
#include "lower/pipeline.h"
#include "runtime/error.h"
#include "runtime/thread_pool.h"

namespace tw::bench {
namespace {

constexpr int kBlock = 1 << 14;
constexpr uint64_t kAllInputs = uint64_t{1} << 32;

struct MathFunction {
  const char* name;
  double (*exact)(double);
};
const MathFunction kFunctions[] = {
    {"exp", [](double x) { return std::exp(x); }},
    {"exp2", [](double x) { return std::exp2(x); }},
    {"log", [](double x) { return std::log(x); }},
    {"log2", [](double x) { return std::log2(x); }},
    {"log10", [](double x) { return std::log10(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"tan", [](double x) { return std::tan(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"erf", [](double x) { return std::erf(x); }},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
};

Expr apply(const std::string& name, std::vector<Expr> arguments) {
  return call(float_type(32), name, std::move(arguments), CallKind::PureIntrinsic);
}

// y[i] = name(x[i]) over a block; two arguments for pow.
Function build(const std::string& name, int arguments, int lanes, const Target& target) {
  std::vector<te::Tensor> inputs;
  for (int k = 0; k < arguments; ++k)
    inputs.push_back(te::placeholder({kBlock}, float_type(32), fmt::format("x{}", k)));
  const te::Tensor y = te::compute(
      {kBlock},
      [&](const std::vector<Var>& i) {
        std::vector<Expr> values;
        for (const te::Tensor& x : inputs) values.push_back(x(i[0]));
        return apply(name, std::move(values));
      },
      "y");
  const Schedule s = Schedule::create({y});
  if (lanes > 1) s[y].vectorize(s[y].split(s[y].axis(0), lanes).inner);
  std::vector<LowerArgument> all(inputs.begin(), inputs.end());
  all.emplace_back(y);
  const Kernel kernel = lower(s, all, target, {.name = name});
  return compile({kernel}, target)->get_function(name);
}

// Distance of `got` from `exact` in units of the last place of floats there.
double ulps(float got, double exact) {
  constexpr double kFar = 1e9;
  if (std::isnan(exact)) return std::isnan(got) ? 0 : kFar;
  const auto nearest = static_cast<float>(exact);
  if (std::isnan(got)) return kFar;
  if (got == nearest && std::isinf(got)) return 0;
  constexpr double kGreatest = std::numeric_limits<float>::max();
  // Beside the greatest float stands infinity.
  const double reached = std::isinf(got) ? std::copysign(kGreatest * (1 + 0x1p-24), got) : got;
  const double wanted = std::clamp(exact, -kGreatest * (1 + 0x1p-24), kGreatest * (1 + 0x1p-24));
  int exponent = 0;
  std::frexp(wanted, &exponent);
  return std::fabs(reached - wanted) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

struct Worst {
  double ulp = 0;
  float input = 0;
};

Worst worst_error(const Function& f, const MathFunction& function, uint64_t step) {
  Worst worst;
  std::mutex mutex;
  const uint64_t inputs = kAllInputs / step, blocks = inputs / kBlock;
  const auto run = [&](int32_t task, int32_t tasks) {
    const NDArray x = NDArray::empty({kBlock}, float_type(32));
    const NDArray y = NDArray::empty({kBlock}, float_type(32));
    Worst mine;
    for (uint64_t block = task; block < blocks; block += tasks) {
      for (int i = 0; i < kBlock; ++i) {
        const uint64_t number = block * kBlock + i;
        // Steps are scattered over the values of the bits that they leave out.
        const uint64_t bits = number * step + (number * 2654435761U) % step;
        x.data_as<float>()[i] = std::bit_cast<float>(static_cast<uint32_t>(bits));
      }
      f(x, y);
      for (int i = 0; i < kBlock; ++i) {
        const float input = x.data_as<float>()[i];
        const double error = ulps(y.data_as<float>()[i], function.exact(input));
        if (error > mine.ulp) mine = {error, input};
      }
    }
    const std::lock_guard lock(mutex);
    if (mine.ulp > worst.ulp) worst = mine;
  };
  parallel_for({}, run);
  return worst;
}

// pow over random pairs: bits of any kind, and moderate bases with exponents that reach far.
Worst worst_power(const Function& f, uint64_t pairs) {
  const NDArray x = NDArray::empty({kBlock}, float_type(32));
  const NDArray y = NDArray::empty({kBlock}, float_type(32));
  const NDArray z = NDArray::empty({kBlock}, float_type(32));
  std::mt19937_64 random(1);
  std::uniform_real_distribution<float> base(0.01F, 100), exponent(-19, 19);
  Worst worst;
  for (uint64_t block = 0; block < pairs / kBlock; ++block) {
    for (int i = 0; i < kBlock; ++i) {
      const bool any = i % 2 == 0;
      x.data_as<float>()[i] =
          any ? std::bit_cast<float>(static_cast<uint32_t>(random())) : base(random);
      y.data_as<float>()[i] =
          any ? std::bit_cast<float>(static_cast<uint32_t>(random())) : exponent(random);
    }
    f(x, y, z);
    for (int i = 0; i < kBlock; ++i) {
      const float a = x.data_as<float>()[i], b = y.data_as<float>()[i];
      const double error = ulps(z.data_as<float>()[i], std::pow(double{a}, double{b}));
      if (error > worst.ulp) worst = {error, a};
    }
  }
  return worst;
}

}  // namespace

void measure_math(const Options& options, Results& results) {
  const Target target = options.target();
  const uint64_t step = options.flag("quick") ? 509 : 1;
  ThreadPool::global().set_num_threads(options.threads());
  const int lanes = target.vector_lanes(32);
  std::vector<Subject> subjects;
  const auto time = [&](const char* name, int arguments) {
    for (const int width : {1, lanes}) {
      const Function f = build(name, arguments, width, target);
      std::vector<NDArray> arrays;
      std::mt19937 random(2);
      std::uniform_real_distribution<float> values(0.1F, 4);
      for (int k = 0; k <= arguments; ++k) {
        arrays.push_back(NDArray::empty({kBlock}, float_type(32)));
        std::generate_n(arrays.back().data_as<float>(), kBlock, [&] { return values(random); });
      }
      subjects.push_back({.name = fmt::format("{}/{}", name, width == 1 ? "scalar" : "vector"),
                          .run =
                              [f, arrays] {
                                const std::vector<CallArgument> a(arrays.begin(), arrays.end());
                                f.call(a);
                              },
                          .threads = 1,
                          .labels = {{"function", name}, {"lanes", width}, {"elements", kBlock}}});
    }
  };
  nlohmann::json errors = nlohmann::json::array();
  const auto add = [&](const char* name, const Worst& worst, uint64_t inputs) {
    errors.push_back(
        {{"function", name}, {"ulp", worst.ulp}, {"at", worst.input}, {"inputs", inputs}});
  };
  for (const MathFunction& function : kFunctions) {
    add(function.name, worst_error(build(function.name, 1, lanes, target), function, step),
        kAllInputs / step);
    time(function.name, 1);
  }
  const uint64_t pairs = kAllInputs / (step == 1 ? 64 : 4096);
  add("pow", worst_power(build("pow", 2, lanes, target), pairs), pairs);
  time("pow", 2);
  results.fact("errors", std::move(errors));
  const bool quick = options.flag("quick");
  time_interleaved(subjects, {.count = quick ? 5 : 10, .seconds = quick ? 0.005 : 0.05}, results);
}

}  // namespace tw::bench
