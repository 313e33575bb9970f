// SPDX-License-Identifier: Apache-2.0
// Each row of the elementwise and broadcast tables against the C++ library.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "schedule/topi/broadcast.h"
#include "schedule/topi/elementwise.h"
#include "schedule/topi/nn/activation.h"
#include "schedule/topi/nn/nonlinearity.h"
#include "tests/support/te_run.h"

namespace tw::topi {
namespace {

using test::Array;
using test::placeholder_like;
using test::run;
using test::sample;

using Unary = double (*)(double);
using Binary = double (*)(double, double);

// Results of float32 kernels are within a few units in the last place of double's.
void expect_close(double got, double want) {
  EXPECT_NEAR(got, want, 1e-6 * std::max(1.0, std::fabs(want)));
}

TEST(TopiElementwise, EveryFloatRowFollowsItsDefinition) {
  const std::map<std::string_view, Unary> references = {
      {"identity", [](double x) { return x; }},
      {"exp", std::exp},
      {"log", std::log},
      {"exp2", std::exp2},
      {"expm1", std::expm1},
      {"log1p", std::log1p},
      {"log2", std::log2},
      {"log10", std::log10},
      {"sin", std::sin},
      {"cos", std::cos},
      {"tan", std::tan},
      {"asin", std::asin},
      {"acos", std::acos},
      {"atan", std::atan},
      {"sinh", std::sinh},
      {"cosh", std::cosh},
      {"asinh", std::asinh},
      {"acosh", std::acosh},
      {"atanh", std::atanh},
      {"tanh", std::tanh},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"sqrt", std::sqrt},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"square", [](double x) { return x * x; }},
      {"reciprocal", [](double x) { return 1 / x; }},
      {"erf", std::erf},
      {"abs", std::fabs},
      {"floor", std::floor},
      {"ceil", std::ceil},
      {"trunc", std::trunc},
      {"round", std::round},
      {"rint", [](double x) { return std::nearbyint(x); }},
      {"negative", [](double x) { return -x; }},
      {"sign", [](double x) { return double((x > 0) - (x < 0)); }},
      {"isnan", [](double) { return 0.0; }},
      {"isinf", [](double) { return 0.0; }},
      {"isfinite", [](double) { return 1.0; }}};
  for (const UnaryOperator& row : unary_operators()) {
    if (row.elements == "Bool" || row.elements == "Integer") continue;
    SCOPED_TRACE(row.name);
    const auto reference = references.find(row.name);
    ASSERT_NE(reference, references.end()) << "no reference";
    const bool positive = row.name.starts_with("log") || row.name.ends_with("sqrt") ||
                          row.name == "acosh" || row.name == "reciprocal";
    const Array x({4, 5}, [&](int64_t i) {
      const double v = (static_cast<double>(i) - 10) * 0.5;  // halves: exact, and hard to round
      if (row.name == "asin" || row.name == "acos" || row.name == "atanh") return v / 8;
      return positive ? v + 6 : v;
    });
    const Tensor result = row.apply(placeholder_like(x), std::string(row.name), kElementwise);
    const Array got = run(result, {x});
    for (size_t i = 0; i < x.data.size(); ++i) {
      expect_close(got.data[i], reference->second(x.data[i]));
    }
  }
}

TEST(TopiElementwise, NoDigitsAreLostNearZeroOrFarFromIt) {
  const Array small({4}, {1e-7, -1e-7, 3e-4, -0.25}), large({4}, {1e30, -1e30, 5000, -5000});
  const auto compare = [](const char* name, Unary reference, const Array& x) {
    SCOPED_TRACE(name);
    const Array got = run(find_unary(name)->apply(placeholder_like(x), name, ""), {x});
    for (size_t i = 0; i < x.data.size(); ++i) {
      const double want = reference(x.data[i]);
      EXPECT_NEAR(got.data[i], want, 1e-6 * std::fabs(want));
    }
  };
  compare("expm1", std::expm1, small);
  compare("log1p", std::log1p, small);
  compare("asinh", std::asinh, small);
  compare("atanh", std::atanh, small);
  compare("asinh", std::asinh, large);
  compare("acosh", std::acosh, Array({3}, {1, 1.0009765625, 1e30}));
  const Array ends({2}, {INFINITY, -INFINITY});
  EXPECT_EQ(run(expm1(placeholder_like(ends)), {ends}).data, (std::vector<double>{INFINITY, -1}));
  EXPECT_EQ(run(asinh(placeholder_like(ends)), {ends}).data,
            (std::vector<double>{INFINITY, -INFINITY}));
}

TEST(TopiElementwise, IntegersAndBools) {
  const Array x({5}, {-3, -1, 0, 2, 7});
  const auto of = [&](const char* name, DType type) {
    return run(find_unary(name)->apply(placeholder_like(x, type), name, ""), {x}).data;
  };
  const DType i8 = int_type(8);
  EXPECT_EQ(of("abs", i8), (std::vector<double>{3, 1, 0, 2, 7}));
  EXPECT_EQ(of("sign", i8), (std::vector<double>{-1, -1, 0, 1, 1}));
  EXPECT_EQ(of("negative", i8), (std::vector<double>{3, 1, 0, -2, -7}));
  EXPECT_EQ(of("floor", i8), x.data);
  EXPECT_EQ(of("negative", uint_type(8)), (std::vector<double>{3, 1, 0, 254, 249}));
  EXPECT_EQ(of("bitwise_not", i8), (std::vector<double>{2, 0, -1, -3, -8}));
  EXPECT_EQ(of("square", i8), (std::vector<double>{9, 1, 0, 4, 49}));
  EXPECT_EQ(of("logical_not", bool_type()), (std::vector<double>{0, 0, 1, 0, 0}));
}

TEST(TopiElementwise, SpecialValues) {
  const Array x({3}, {std::nan(""), INFINITY, 1});
  EXPECT_EQ(run(isnan(placeholder_like(x)), {x}).data, (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(run(isinf(placeholder_like(x)), {x}).data, (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(run(isfinite(placeholder_like(x)), {x}).data, (std::vector<double>{0, 0, 1}));
}

TEST(TopiElementwise, CastClipFull) {
  const Array x({6}, {-300.75, -1.5, -0.25, 0.25, 1.5, 300.75});
  const Tensor t = placeholder_like(x);
  EXPECT_EQ(run(cast(t, int_type(8)), {x}).data, (std::vector<double>{-44, -1, 0, 0, 1, 44}));
  EXPECT_EQ(run(cast(t, bool_type()), {x}).data, (std::vector<double>{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(run(clip(t, -1, 6), {x}).data, (std::vector<double>{-1, -1, -0.25, 0.25, 1.5, 6}));
  // Bounds beyond what the type holds cut off nothing; between integers those inside count.
  const Array bytes({5}, {-128, -3, 0, 2, 127});
  const Tensor b = placeholder_like(bytes, int_type(8));
  EXPECT_EQ(run(clip(b, -1e10, 300), {bytes}).data, bytes.data);
  EXPECT_EQ(run(clip(b, -2.5, 1.5), {bytes}).data, (std::vector<double>{-2, -2, 0, 1, 1}));
  EXPECT_EQ(run(full({2, 2}, int_type(8), 3), {}).data, (std::vector<double>{3, 3, 3, 3}));
  EXPECT_EQ(run(full_like(t, 2), {}).data, std::vector<double>(6, 2));
}

TEST(TopiElementwise, Activations) {
  const Array x({2, 4}, {-2, -0.5, 0, 3, 1, -1, 2, -4}), slope({4}, {0.5, 0.25, 1, 2});
  const Tensor t = placeholder_like(x);
  EXPECT_EQ(run(nn::relu(t), {x}).data, (std::vector<double>{0, 0, 0, 3, 1, 0, 2, 0}));
  EXPECT_EQ(run(nn::leaky_relu(t, 0.125), {x}).data,
            (std::vector<double>{-0.25, -0.0625, 0, 3, 1, -0.125, 2, -0.5}));
  EXPECT_EQ(run(nn::prelu(t, placeholder_like(slope)), {x, slope}).data,
            (std::vector<double>{-1, -0.125, 0, 3, 1, -0.25, 2, -8}));
  const Array g = run(nn::gelu(t), {x});
  for (size_t i = 0; i < x.data.size(); ++i) {
    expect_close(g.data[i], x.data[i] / 2 * (1 + std::erf(x.data[i] / std::sqrt(2.0))));
  }
}

TEST(TopiBroadcast, EveryRowFollowsItsDefinition) {
  const std::map<std::string_view, Binary> floats = {
      {"add", [](double a, double b) { return a + b; }},
      {"subtract", [](double a, double b) { return a - b; }},
      {"multiply", [](double a, double b) { return a * b; }},
      {"divide", [](double a, double b) { return a / b; }},
      {"floor_divide", [](double a, double b) { return std::floor(a / b); }},
      {"fmod", [](double a, double b) { return std::fmod(a, b); }},
      {"floor_mod", [](double a, double b) { return a - std::floor(a / b) * b; }},
      {"maximum", [](double a, double b) { return std::max(a, b); }},
      {"minimum", [](double a, double b) { return std::min(a, b); }},
      {"power", [](double a, double b) { return std::pow(a, b); }},
      {"equal", [](double a, double b) { return double(a == b); }},
      {"not_equal", [](double a, double b) { return double(a != b); }},
      {"less", [](double a, double b) { return double(a < b); }},
      {"less_equal", [](double a, double b) { return double(a <= b); }},
      {"greater", [](double a, double b) { return double(a > b); }},
      {"greater_equal", [](double a, double b) { return double(a >= b); }},
      {"logical_and", [](double a, double b) { return double(a != 0 && b != 0); }},
      {"logical_or", [](double a, double b) { return double(a != 0 || b != 0); }},
      {"logical_xor", [](double a, double b) { return double((a != 0) != (b != 0)); }}};
  const std::map<std::string_view, Binary> integers = {
      {"mod", [](double a, double b) { return std::fmod(a, b); }},
      {"divide", [](double a, double b) { return std::trunc(a / b); }},
      {"bitwise_and", [](double a, double b) { return double(int(a) & int(b)); }},
      {"bitwise_or", [](double a, double b) { return double(int(a) | int(b)); }},
      {"bitwise_xor", [](double a, double b) { return double(int(a) ^ int(b)); }},
      {"left_shift", [](double a, double b) { return double(int(a) * (1 << int(b))); }},
      {"right_shift", [](double a, double b) { return double(int(a) >> int(b)); }}};
  const Array a({3, 4}, [](int64_t i) { return static_cast<double>(i); });
  const Array b({3, 4}, [](int64_t i) { return static_cast<double>(1 + (i * 5) % 4); });
  const auto check = [&](const auto& references, DType type) {
    for (const auto& [name, reference] : references) {
      SCOPED_TRACE(name);
      const BinaryOperator* row = find_binary(name);
      ASSERT_NE(row, nullptr);
      const Tensor ta = placeholder_like(a, type, "a"), tb = placeholder_like(b, type, "b");
      const Array got = run(std::get<Tensor>(row->apply(ta, tb)), {a, b});
      for (size_t i = 0; i < a.data.size(); ++i) {
        expect_close(got.data[i], reference(a.data[i], b.data[i]));
      }
    }
  };
  check(floats, float_type(32));
  check(integers, int_type(32));
  for (const BinaryOperator& row : binary_operators()) {
    EXPECT_TRUE(floats.count(row.name) || integers.count(row.name)) << row.name;
  }
}

TEST(TopiBroadcast, SignsOfRemainders) {
  const Array a({4}, {-7, 7, -7, 7}), b({4}, {3, 3, -3, -3});
  const Tensor ta = placeholder_like(a, int_type(32), "a"),
               tb = placeholder_like(b, int_type(32), "b");
  EXPECT_EQ(run(mod(ta, tb), {a, b}).data, (std::vector<double>{-1, 1, -1, 1}));
  EXPECT_EQ(run(floor_mod(ta, tb), {a, b}).data, (std::vector<double>{2, 1, -1, -2}));
  EXPECT_EQ(run(divide(ta, tb), {a, b}).data, (std::vector<double>{-2, 2, 2, -2}));
  EXPECT_EQ(run(floor_divide(ta, tb), {a, b}).data, (std::vector<double>{-3, 2, 2, -3}));
}

TEST(TopiBroadcast, RepeatsExtentsOfOne) {
  const Array a = sample({2, 1, 4}), b = sample({3, 1}, 1);
  const Array got =
      run(subtract(placeholder_like(a), placeholder_like(b, float_type(32), "B")), {a, b});
  ASSERT_EQ(got.shape, (std::vector<int64_t>{2, 3, 4}));
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      for (int64_t k = 0; k < 4; ++k) {
        EXPECT_EQ(got({i, j, k}), a({i, 0, k}) - b({j, 0}));
      }
    }
  }
}

TEST(TopiBroadcast, ScalarsAndRankZero) {
  const Array a = sample({2, 3}), s({}, {5});
  const Tensor t = placeholder_like(a);
  const Array doubled = run(multiply(t, Expr(2)), {a}), from = run(subtract(Expr(1), t), {a});
  const Array shifted = run(add(t, placeholder_like(s, float_type(32), "s")), {a, s});
  for (size_t i = 0; i < a.data.size(); ++i) {
    EXPECT_EQ(doubled.data[i], a.data[i] * 2);
    EXPECT_EQ(from.data[i], 1 - a.data[i]);
    EXPECT_EQ(shifted.data[i], a.data[i] + 5);
  }
}

TEST(TopiBroadcast, SymbolicExtents) {
  const Var n = te::var("n");
  const Tensor a = te::placeholder({n, 2}, float_type(32), "a");
  const Tensor b = te::placeholder({1, 2}, float_type(32), "b");
  InterpreterScope scope;
  scope.values[n] = {.type = int_type(32), .i = 2};
  EXPECT_EQ(run(add(a, b), {Array({2, 2}, {1, 2, 3, 4}), Array({1, 2}, {10, 20})}, scope).data,
            (std::vector<double>{11, 22, 13, 24}));
}

TEST(TopiBroadcast, BroadcastTo) {
  const Array a({2, 1}, {1, 2});
  EXPECT_EQ(run(broadcast_to(placeholder_like(a), {2, 2, 2}), {a}).data,
            (std::vector<double>{1, 1, 2, 2, 1, 1, 2, 2}));
}

}  // namespace
}  // namespace tw::topi
