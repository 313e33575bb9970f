// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "schedule/topi/nn/softmax.h"
#include "tests/support/te_run.h"

namespace tw::topi {
namespace {

using test::Array;
using test::placeholder_like;
using test::run;
using test::sample;
using Values = std::vector<double>;

TEST(TopiReduction, OverOneAxis) {
  const Array x = sample({3, 4, 5});
  const Tensor t = placeholder_like(x);
  const Array s = run(sum(t, {1}), {x}), most = run(max(t, {1}), {x}),
              least = run(min(t, {-2}), {x}), p = run(prod(t, {1}), {x}),
              m = run(mean(t, {1}), {x});
  ASSERT_EQ(s.shape, (std::vector<int64_t>{3, 5}));
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t k = 0; k < 5; ++k) {
      double total = 0, product = 1, high = -1e9, low = 1e9;
      for (int64_t j = 0; j < 4; ++j) {
        const double v = x({i, j, k});
        total += v;
        product *= v;
        high = std::max(high, v);
        low = std::min(low, v);
      }
      EXPECT_EQ(s({i, k}), total);
      EXPECT_EQ(p({i, k}), product);
      EXPECT_EQ(most({i, k}), high);
      EXPECT_EQ(least({i, k}), low);
      EXPECT_EQ(m({i, k}), total / 4);
    }
  }
}

TEST(TopiReduction, OverSeveralAxesKeepingThem) {
  const Array x = sample({2, 3, 4});
  const Array s = run(sum(placeholder_like(x), {2, 0}, true), {x});
  ASSERT_EQ(s.shape, (std::vector<int64_t>{1, 3, 1}));
  for (int64_t j = 0; j < 3; ++j) {
    double total = 0;
    for (int64_t i = 0; i < 2; ++i) {
      for (int64_t k = 0; k < 4; ++k) total += x({i, j, k});
    }
    EXPECT_EQ(s({0, j, 0}), total);
  }
}

TEST(TopiReduction, OverEverything) {
  const Array x({2, 2}, {1, 2, 3, 4});
  const Tensor t = placeholder_like(x);
  EXPECT_EQ(run(sum(t), {x}).data, Values{10});
  EXPECT_EQ(run(mean(t), {x}).data, Values{2.5});
  EXPECT_EQ(run(argmax(t), {x}).data, Values{3});
  EXPECT_EQ(run(sum(t, {}, true), {x}).shape, (std::vector<int64_t>{1, 1}));
}

TEST(TopiReduction, Bools) {
  const Array x({2, 3}, {1, 1, 1, 0, 1, 0});
  const Tensor t = placeholder_like(x, bool_type());
  EXPECT_EQ(run(all(t, {1}), {x}).data, (Values{1, 0}));
  EXPECT_EQ(run(any(t, {0}), {x}).data, (Values{1, 1, 1}));
  EXPECT_EQ(run(all(t, {0}), {x}).data, (Values{0, 1, 0}));
}

TEST(TopiReduction, PositionsOfExtremes) {
  const Array x({3, 4}, {1, 9, 9, 0, -5, -5, -7, -6, 2, 2, 2, 2});
  const Tensor t = placeholder_like(x);
  EXPECT_EQ(run(argmax(t, {1}), {x}).data, (Values{1, 0, 0}));
  EXPECT_EQ(run(argmin(t, {1}), {x}).data, (Values{3, 2, 0}));
  EXPECT_EQ(run(argmax(t, {1}, false, true), {x}).data, (Values{2, 1, 3}));
  EXPECT_EQ(run(argmax(t, {0}, true), {x}).shape, (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(run(argmax(t, {0}, true), {x}).data, (Values{2, 0, 0, 2}));
}

// The identity of the reducer must lose against an element equal to it.
TEST(TopiReduction, PositionsOfExtremesAtTheEndOfTheType) {
  const Array zeros({3}, {0, 0, 0}), most({3}, {255, 255, 255});
  const auto of = [](auto f, const Array& x, bool last) {
    return run(f(placeholder_like(x, uint_type(8)), {}, false, last), {x}).data[0];
  };
  EXPECT_EQ(of(argmax, zeros, false), 0);
  EXPECT_EQ(of(argmax, zeros, true), 2);
  EXPECT_EQ(of(argmin, most, false), 0);
  EXPECT_EQ(of(argmin, most, true), 2);
}

// NumPy's rule: NaN is beyond every number, and of several the first counts.
TEST(TopiReduction, PositionsOfNaN) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Array x({4, 4}, {1, nan, 5, nan, nan, inf, nan, -inf, nan, nan, nan, nan, 3, 1, 4, 1});
  for (const DType type : {float_type(16), bfloat_type(16), float_type(32), float_type(64)}) {
    const Tensor t = placeholder_like(x, type);
    EXPECT_EQ(run(argmax(t, {1}), {x}).data, (Values{1, 0, 0, 2}));
    EXPECT_EQ(run(argmin(t, {1}), {x}).data, (Values{1, 0, 0, 1}));
    EXPECT_EQ(run(argmax(t, {1}, false, true), {x}).data, (Values{3, 2, 3, 2}));
    EXPECT_EQ(run(argmin(t, {1}, false, true), {x}).data, (Values{3, 2, 3, 3}));
  }
}

// A row that a mask leaves nothing of, as in attention.
TEST(TopiReduction, OverInfinities) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Array low({2, 2}, {-inf, -inf, -inf, 1}), high({2, 2}, {inf, inf, 3, inf});
  for (const DType type : {float_type(16), bfloat_type(16), float_type(32), float_type(64)}) {
    const Tensor x = placeholder_like(low, type), y = placeholder_like(high, type);
    EXPECT_EQ(run(max(x, {1}), {low}).data, (Values{-inf, 1}));
    EXPECT_EQ(run(min(y, {1}), {high}).data, (Values{inf, 3}));
    EXPECT_EQ(run(argmax(x, {1}), {low}).data, (Values{0, 1}));
    EXPECT_EQ(run(argmin(y, {1}, false, true), {high}).data, (Values{1, 0}));
  }
  const Array soft = run(nn::softmax(placeholder_like(low)), {low});
  EXPECT_TRUE(std::isnan(soft.data[0]) && std::isnan(soft.data[1]));
  EXPECT_EQ(soft.data[2], 0);
  EXPECT_EQ(soft.data[3], 1);
}

TEST(TopiSoftmax, AlongAnyAxis) {
  const Array x = sample({3, 4, 5});
  for (int axis : {0, 1, -1}) {
    const Tensor t = placeholder_like(x);
    const Array soft = run(nn::softmax(t, axis), {x}), log = run(nn::log_softmax(t, axis), {x});
    const auto along = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
    std::vector<int64_t> at(3);
    for (at[0] = 0; at[0] < 3; ++at[0]) {
      for (at[1] = 0; at[1] < 4; ++at[1]) {
        for (at[2] = 0; at[2] < 5; ++at[2]) {
          double total = 0;
          std::vector<int64_t> other = at;
          for (other[along] = 0; other[along] < x.shape[along]; ++other[along]) {
            total += std::exp(x(other) - x(at));
          }
          EXPECT_NEAR(soft(at), 1 / total, 1e-6);
          EXPECT_NEAR(log(at), -std::log(total), 1e-5);
        }
      }
    }
  }
}

TEST(TopiSoftmax, DoesNotOverflow) {
  const Array x({1, 3}, {1000, 1000, -1000});
  const Tensor t = placeholder_like(x);
  EXPECT_EQ(run(nn::softmax(t), {x}).data, (Values{0.5, 0.5, 0}));
  EXPECT_NEAR(run(nn::log_softmax(t), {x}).data[2], -2000 - std::log(2.0), 1e-3);
}

}  // namespace
}  // namespace tw::topi
