// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/dense.h"

#include <gtest/gtest.h>

#include "tests/support/te_run.h"

namespace tw::topi {
namespace {

using test::Array;
using test::placeholder_like;
using test::run;
using test::sample;

Array transposed(const Array& x) {
  Array t({x.shape[1], x.shape[0]}, [](int64_t) { return 0.0; });
  for (int64_t i = 0; i < x.shape[0]; ++i) {
    for (int64_t j = 0; j < x.shape[1]; ++j) {
      t.data[static_cast<size_t>(j * x.shape[0] + i)] = x({i, j});
    }
  }
  return t;
}

double dot(const Array& a, const Array& b, int64_t i, int64_t j) {
  double total = 0;
  for (int64_t k = 0; k < a.shape[1]; ++k) total += a({i, k}) * b({k, j});
  return total;
}

TEST(TopiDense, MultipliesByTheTransposedWeightAndAddsTheBias) {
  const Array x = sample({3, 5}), w = sample({4, 5}, 1), b = sample({4}, 2), wt = transposed(w);
  const Tensor tx = placeholder_like(x), tw = placeholder_like(w, float_type(32), "W"),
               tb = placeholder_like(b, float_type(32), "b");
  const Array plain = run(nn::dense(tx, tw), {x, w}),
              biased = run(nn::dense(tx, tw, tb), {x, w, b});
  ASSERT_EQ(plain.shape, (std::vector<int64_t>{3, 4}));
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 4; ++j) {
      EXPECT_EQ(plain({i, j}), dot(x, wt, i, j));
      EXPECT_EQ(biased({i, j}), dot(x, wt, i, j) + b({j}));
    }
  }
}

TEST(TopiDense, MatmulTakesEitherOperandTransposed) {
  const Array a = sample({3, 5}), b = sample({5, 4}, 1);
  for (bool ta : {false, true}) {
    for (bool tb : {false, true}) {
      const Array sa = ta ? transposed(a) : a, sb = tb ? transposed(b) : b;
      const Tensor c =
          matmul(placeholder_like(sa), placeholder_like(sb, float_type(32), "B"), ta, tb);
      const Array got = run(c, {sa, sb});
      for (int64_t i = 0; i < 3; ++i) {
        for (int64_t j = 0; j < 4; ++j) EXPECT_EQ(got({i, j}), dot(a, b, i, j)) << ta << tb;
      }
    }
  }
}

TEST(TopiDense, MatmulInAWiderType) {
  const Array a({1, 2}, {100, 100}), b({2, 1}, {100, 100});
  const Tensor ta = placeholder_like(a, int_type(8)), tb = placeholder_like(b, int_type(8), "B");
  EXPECT_EQ(run(nn::matmul(ta, tb, {}, int_type(32)), {a, b}).data, std::vector<double>{20000});
}

TEST(TopiDense, BatchMatmul) {
  const Array a = sample({2, 3, 5}), b = sample({2, 4, 5}, 1), one = sample({1, 4, 5}, 2);
  const Tensor ta = placeholder_like(a), tb = placeholder_like(b, float_type(32), "B"),
               t1 = placeholder_like(one, float_type(32), "B");
  const Array got = run(nn::batch_matmul(ta, tb), {a, b}),
              repeated = run(nn::batch_matmul(ta, t1), {a, one});
  ASSERT_EQ(got.shape, (std::vector<int64_t>{2, 3, 4}));
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 4; ++j) {
        double each = 0, shared = 0;
        for (int64_t k = 0; k < 5; ++k) {
          each += a({n, i, k}) * b({n, j, k});
          shared += a({n, i, k}) * one({0, j, k});
        }
        EXPECT_EQ(got({n, i, j}), each);
        EXPECT_EQ(repeated({n, i, j}), shared);
      }
    }
  }
  // [B, K, M] · [B, K, N]
  const Array at = sample({2, 5, 3}), bn = sample({2, 5, 4}, 1);
  const Array other =
      run(nn::batch_matmul(placeholder_like(at), placeholder_like(bn, float_type(32), "B"), {},
                           true, false),
          {at, bn});
  double first = 0;
  for (int64_t k = 0; k < 5; ++k) first += at({1, k, 2}) * bn({1, k, 3});
  EXPECT_EQ(other({1, 2, 3}), first);
}

TEST(TopiDense, BiasAlongAnAxis) {
  const Array x = sample({2, 3, 2}), b({3}, {10, 20, 30});
  const Array got =
      run(nn::bias_add(placeholder_like(x), placeholder_like(b, float_type(32), "b")), {x, b});
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      for (int64_t k = 0; k < 2; ++k) EXPECT_EQ(got({i, j, k}), x({i, j, k}) + b({j}));
    }
  }
}

}  // namespace
}  // namespace tw::topi
