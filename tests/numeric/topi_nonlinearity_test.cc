// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/nonlinearity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "schedule/topi/einsum.h"
#include "schedule/topi/nn/root_normalization.h"
#include "tests/support/te_run.h"

namespace tw::topi::nn {
namespace {

using test::Array;
using test::placeholder_like;
using test::run;
using test::sample;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(TopiNonlinearity, FollowDefinitionsFarFromZeroToo) {
  struct Row {
    const char* name;
    Tensor (*compute)(const Tensor&);
    double (*reference)(double);
  };
  const Row rows[] = {
      {"elu", [](const Tensor& t) { return elu(t, 0.5); },
       [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); }},
      {"selu", [](const Tensor& t) { return selu(t, 1.5, 2); },
       [](double x) { return 2 * (x > 0 ? x : 1.5 * std::expm1(x)); }},
      {"celu", [](const Tensor& t) { return celu(t, 2); },
       [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); }},
      {"gelu", [](const Tensor& t) { return gelu(t); },
       [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"gelu tanh", [](const Tensor& t) { return gelu(t, "tanh"); },
       [](double x) {
         return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       }},
      {"silu", silu, [](double x) { return x * sigmoid(x); }},
      {"mish", mish,
       [](double x) { return x * std::tanh(std::log1p(std::exp(std::min(x, 50.0)))); }},
      {"softplus", [](const Tensor& t) { return softplus(t); },
       [](double x) { return x > 50 ? x : std::log1p(std::exp(x)); }},
      {"softplus 2", [](const Tensor& t) { return softplus(t, 2); },
       [](double x) { return x > 50 ? x : std::log1p(std::exp(2 * x)) / 2; }},
      {"softsign", softsign, [](double x) { return x / (1 + std::abs(x)); }},
      {"relu6", relu6, [](double x) { return std::max(0.0, std::min(x, 6.0)); }},
      {"hard_sigmoid", [](const Tensor& t) { return hard_sigmoid(t, 0.25, 0.5); },
       [](double x) { return std::max(0.0, std::min(x / 4 + 0.5, 1.0)); }},
      {"hard_swish", hard_swish,
       [](double x) { return x * std::max(0.0, std::min(x + 3, 6.0)) / 6; }},
      {"thresholded_relu", [](const Tensor& t) { return thresholded_relu(t, 1); },
       [](double x) { return x > 1 ? x : 0; }},
      {"shrink", [](const Tensor& t) { return shrink(t, 0.25, 1); },
       [](double x) { return x < -1  ? x + 0.25
                             : x > 1 ? x - 0.25
                                     : 0; }},
  };
  const Array x({13}, {-100, -30, -12, -3, -1, -0.25, 0, 0.25, 1, 3, 12, 30, 100});
  for (const Row& row : rows) {
    const Array got = run(row.compute(placeholder_like(x)), {x});
    for (size_t k = 0; k < x.data.size(); ++k) {
      const double expected = row.reference(x.data[k]);
      // Small results keep their digits, which a logarithm of 1 + x would lose; what exp(x) - 1
      // and 1 + erf round is that much of 1.
      const double least = std::string_view(row.name).starts_with("softplus") ? 1e-37 : 2e-7;
      EXPECT_NEAR(got.data[k], expected, std::max(least, std::abs(expected) * 2e-6))
          << row.name << " of " << x.data[k];
    }
  }
}

TEST(TopiNonlinearity, HardmaxTakesTheFirstOfEquals) {
  const Array x({2, 3}, {1, 4, 4, 5, 2, 5});
  EXPECT_EQ(run(hardmax(placeholder_like(x)), {x}).data, (std::vector<double>{0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(run(hardmax(placeholder_like(x), 0), {x}).data,
            (std::vector<double>{0, 1, 0, 1, 0, 1}));
}

TEST(TopiNonlinearity, RootsOfSquares) {
  const Array x = sample({3, 4}), gamma = sample({4}, 1);
  const Array scaled =
      run(rms_norm(placeholder_like(x), placeholder_like(gamma, float_type(32), "g"), {1}, 0.5),
          {x, gamma});
  const Array unit = run(l2_normalize(placeholder_like(x), 1e-3, {1}), {x});
  for (int64_t i = 0; i < 3; ++i) {
    double total = 0;
    for (int64_t k = 0; k < 4; ++k) total += x({i, k}) * x({i, k});
    for (int64_t k = 0; k < 4; ++k) {
      EXPECT_NEAR(scaled({i, k}), x({i, k}) / std::sqrt(total / 4 + 0.5) * gamma({k}), 1e-5);
      EXPECT_NEAR(unit({i, k}), x({i, k}) / std::sqrt(total), 1e-5);
    }
  }
}

TEST(TopiEinsum, SumsOverWhatTheResultLacks) {
  const Array a = sample({2, 3}), b = sample({3, 4}, 1);
  const Tensor ta = placeholder_like(a), tb = placeholder_like(b, float_type(32), "B");
  const Array c = run(einsum("ij,jk->ki", {ta, tb}), {a, b});
  ASSERT_EQ(c.shape, (std::vector<int64_t>{4, 2}));
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t k = 0; k < 4; ++k) {
      double total = 0;
      for (int64_t j = 0; j < 3; ++j) total += a({i, j}) * b({j, k});
      EXPECT_EQ(c({k, i}), total);
    }
  }
}

TEST(TopiEinsum, Equations) {
  const auto parse = [](const char* text, std::vector<std::optional<size_t>> ranks) {
    const EinsumEquation e = [&]() -> EinsumEquation {
      try {
        return parse_einsum(text, ranks, [](const std::string& what, const std::string&) {
          throw std::runtime_error(what);
        });
      } catch (const std::runtime_error& error) {
        return {{}, error.what()};
      }
    }();
    return e;
  };
  EXPECT_EQ(parse("ba,bc", {2, 2}), (EinsumEquation{{"ba", "bc"}, "ac"}));
  EXPECT_EQ(parse("...i, i -> ...", {3, 1}), (EinsumEquation{{"\2\1i", "i"}, "\2\1"}));
  EXPECT_EQ(parse("i...,i...", {2, 3}), (EinsumEquation{{"i\1", "i\2\1"}, "\2\1"}));
  EXPECT_EQ(parse("ij->k", {2}).output, "'k' in the result of 'ij->k'");
  EXPECT_EQ(parse("ij->ii", {2}).output, "'i' in the result of 'ij->ii'");
  EXPECT_EQ(parse("ij", {3}).output, "term 'ij' of 'ij' for an operand of rank 3");
  EXPECT_EQ(parse("ij,jk", {2}).output, "'ij,jk' has 2 operands and 1 are given");
  EXPECT_EQ(parse("i1", {2}).output, "'1' in 'i1'");
}

}  // namespace
}  // namespace tw::topi::nn
