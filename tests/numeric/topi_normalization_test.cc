// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/normalization.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/te_run.h"

namespace tw::topi::nn {
namespace {

using test::Array;
using test::placeholder_like;
using test::run;
using test::sample;

Tensor named(const Array& a, const char* name) { return placeholder_like(a, float_type(32), name); }

// Arrays in the order in which a program takes its placeholders, by name.
std::vector<Array> in_order(const Tensor& t,
                            const std::vector<std::pair<std::string, Array>>& arrays) {
  std::vector<Array> inputs;
  for (const Tensor& p : te::placeholders({t})) {
    for (const auto& [name, array] : arrays) {
      if (name == p.name()) inputs.push_back(array);
    }
  }
  return inputs;
}

TEST(TopiNormalization, LayerNorm) {
  const Array x = sample({4, 3, 5}), gamma = sample({5}, 1), beta = sample({5}, 2);
  const Tensor t =
      layer_norm(named(x, "x"), named(gamma, "gamma"), named(beta, "beta"), {-1}, 1e-3);
  const Array got = run(t, in_order(t, {{"x", x}, {"gamma", gamma}, {"beta", beta}}));
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      double mean = 0, variance = 0;
      for (int64_t k = 0; k < 5; ++k) mean += x({i, j, k}) / 5;
      for (int64_t k = 0; k < 5; ++k) variance += std::pow(x({i, j, k}) - mean, 2) / 5;
      for (int64_t k = 0; k < 5; ++k) {
        const double want =
            (x({i, j, k}) - mean) / std::sqrt(variance + 1e-3) * gamma({k}) + beta({k});
        EXPECT_NEAR(got({i, j, k}), want, 2e-5);
      }
    }
  }
}

TEST(TopiNormalization, LayerNormOverSeveralAxesWithoutScale) {
  const Array x = sample({2, 3, 4});
  const Tensor t = layer_norm(named(x, "x"), {}, {}, {0, 2});
  const Array got = run(t, {x});
  for (int64_t j = 0; j < 3; ++j) {
    double total = 0, squares = 0;
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t k = 0; k < 4; ++k) {
        total += got({i, j, k});
        squares += got({i, j, k}) * got({i, j, k});
      }
    }
    EXPECT_NEAR(total, 0, 1e-5);
    EXPECT_NEAR(squares / 8, 1, 1e-4);
  }
}

// A mean far from zero must not drown the variance.
TEST(TopiNormalization, LayerNormOfLargeNumbers) {
  const Array x({1, 4}, {100001, 100002, 100003, 100004});
  const Array got = run(layer_norm(named(x, "x"), {}, {}), {x});
  for (int64_t k = 0; k < 4; ++k) {
    EXPECT_NEAR(got({0, k}), (static_cast<double>(k) - 1.5) / std::sqrt(1.25), 1e-4);
  }
}

TEST(TopiNormalization, BatchNorm) {
  const Array x = sample({2, 3, 4}), gamma = sample({3}, 1), beta = sample({3}, 2),
              mean = sample({3}, 3);
  const Array variance({3}, {0.5, 2, 9});
  const Tensor t = batch_norm(named(x, "x"), named(gamma, "gamma"), named(beta, "beta"),
                              named(mean, "mean"), named(variance, "variance"), 1, 1e-3);
  const Array got = run(
      t,
      in_order(
          t, {{"x", x}, {"gamma", gamma}, {"beta", beta}, {"mean", mean}, {"variance", variance}}));
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t c = 0; c < 3; ++c) {
      for (int64_t k = 0; k < 4; ++k) {
        const double want =
            (x({i, c, k}) - mean({c})) / std::sqrt(variance({c}) + 1e-3) * gamma({c}) + beta({c});
        EXPECT_NEAR(got({i, c, k}), want, 5e-5);
      }
    }
  }
}

}  // namespace
}  // namespace tw::topi::nn
