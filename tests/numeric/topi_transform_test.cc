// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/transform.h"

#include <gtest/gtest.h>

#include "ir/expr.h"
#include "schedule/topi/nn/pad.h"
#include "tests/support/te_run.h"

namespace tw::topi {
namespace {

using test::Array;
using test::placeholder_like;
using test::run;
using test::sample;

TEST(TopiTransform, Transpose) {
  const Array x = sample({2, 3, 4});
  const Tensor t = placeholder_like(x);
  const Array reversed = run(transpose(t), {x}), moved = run(transpose(t, {1, -1, 0}), {x});
  ASSERT_EQ(reversed.shape, (std::vector<int64_t>{4, 3, 2}));
  ASSERT_EQ(moved.shape, (std::vector<int64_t>{3, 4, 2}));
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      for (int64_t k = 0; k < 4; ++k) {
        EXPECT_EQ(reversed({k, j, i}), x({i, j, k}));
        EXPECT_EQ(moved({j, k, i}), x({i, j, k}));
      }
    }
  }
}

TEST(TopiTransform, RowMajorOrderStays) {
  const Array x = sample({2, 3, 4});
  const Tensor t = placeholder_like(x);
  for (const Tensor& r : {reshape(t, {4, 6}), reshape(t, {-1}), reshape(t, {1, 2, 1, 12, 1}),
                          nn::flatten(t), expand_dims(t, 1, 2), reshape(t, {24, -1})}) {
    EXPECT_EQ(run(r, {x}).data, x.data) << shape_text(r.shape());
  }
  const Array ones = sample({1, 3, 1, 2});
  EXPECT_EQ(run(squeeze(placeholder_like(ones)), {ones}).data, ones.data);
  EXPECT_EQ(run(squeeze(placeholder_like(ones), {-2}), {ones}).shape,
            (std::vector<int64_t>{1, 3, 2}));
  const Array one({}, {3});
  EXPECT_EQ(run(reshape(placeholder_like(one), {1, 1}), {one}).data, one.data);
  EXPECT_EQ(run(reshape(reshape(placeholder_like(one), {1}), {}), {one}).data, one.data);
}

TEST(TopiTransform, ReshapeOfASymbolicExtent) {
  const Var n = te::var("n");
  InterpreterScope scope;
  scope.values[n] = {.type = int_type(32), .i = 2};
  const Array x = sample({2, 6});
  const Array r =
      run(reshape(te::placeholder({n, 6}, float_type(32), "A"), {n * 2, 3}), {x}, scope);
  EXPECT_EQ(r.shape, (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(r.data, x.data);
}

TEST(TopiTransform, Concatenate) {
  const Array a = sample({2, 1, 2}), b = sample({2, 3, 2}, 1), c = sample({2, 2, 2}, 2);
  const Tensor ta = placeholder_like(a, float_type(32), "a"),
               tb = placeholder_like(b, float_type(32), "b"),
               tc = placeholder_like(c, float_type(32), "c");
  // Inputs in the order in which the program reads them.
  const Tensor joined = concatenate({ta, tb, tc}, 1);
  std::vector<Array> inputs;
  for (const Tensor& t : te::placeholders({joined})) {
    inputs.push_back(t == ta ? a : (t == tb ? b : c));
  }
  const Array got = run(joined, inputs);
  ASSERT_EQ(got.shape, (std::vector<int64_t>{2, 6, 2}));
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t k = 0; k < 2; ++k) {
      EXPECT_EQ(got({i, 0, k}), a({i, 0, k}));
      for (int64_t j = 0; j < 3; ++j) EXPECT_EQ(got({i, 1 + j, k}), b({i, j, k}));
      for (int64_t j = 0; j < 2; ++j) EXPECT_EQ(got({i, 4 + j, k}), c({i, j, k}));
    }
  }
}

TEST(TopiTransform, Pad) {
  const Array x = sample({2, 3});
  const Array got =
      run(nn::pad(placeholder_like(x), {1, 0}, {0, 2}, make_const_float(float_type(32), 7)), {x});
  ASSERT_EQ(got.shape, (std::vector<int64_t>{3, 5}));
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      EXPECT_EQ(got({i, j}), i >= 1 && j < 3 ? x({i - 1, j}) : 7);
    }
  }
}

}  // namespace
}  // namespace tw::topi
