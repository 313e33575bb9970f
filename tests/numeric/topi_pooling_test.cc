// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/pooling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ir/arithmetic/analyzer.h"
#include "ir/substitute.h"
#include "tests/support/te_run.h"

namespace tw::topi::nn {
namespace {

using test::Array;
using test::placeholder_like;
using test::sample;

struct Case {
  std::vector<int64_t> data, kernel, stride = {1, 1}, padding = {0, 0, 0, 0}, dilation = {1, 1};
  Rounding rounding = Rounding::Down;
  bool include_pad = true;
};

// Number of windows along dimension d of four.
int64_t windows(const Case& c, size_t d) {
  const int64_t before = c.padding[d - 2], after = c.padding[d];
  const int64_t room = c.data[d] + before + after - (c.kernel[d - 2] - 1) * c.dilation[d - 2] - 1;
  const int64_t step = c.stride[d - 2];
  int64_t count = (c.rounding == Rounding::Down ? room / step : (room + step - 1) / step) + 1;
  if (c.rounding == Rounding::UpInside && (count - 1) * step >= c.data[d] + before) --count;
  return count;
}

Array reference(const Case& c, const Array& x, PoolType type) {
  const int64_t height = windows(c, 2), width = windows(c, 3);
  Array out({c.data[0], c.data[1], height, width}, [](int64_t) { return 0.0; });
  size_t next = 0;
  for (int64_t n = 0; n < c.data[0]; ++n) {
    for (int64_t ch = 0; ch < c.data[1]; ++ch) {
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t xx = 0; xx < width; ++xx) {
          double total = 0, most = -INFINITY;
          int64_t inside = 0, padded = 0;
          for (int64_t ky = 0; ky < c.kernel[0]; ++ky) {
            for (int64_t kx = 0; kx < c.kernel[1]; ++kx) {
              const int64_t iy = y * c.stride[0] + ky * c.dilation[0] - c.padding[0];
              const int64_t ix = xx * c.stride[1] + kx * c.dilation[1] - c.padding[1];
              padded += iy < c.data[2] + c.padding[2] && ix < c.data[3] + c.padding[3];
              if (iy < 0 || iy >= c.data[2] || ix < 0 || ix >= c.data[3]) continue;
              ++inside;
              total += x({n, ch, iy, ix});
              most = std::max(most, x({n, ch, iy, ix}));
            }
          }
          const int64_t count = std::max<int64_t>(1, c.include_pad ? padded : inside);
          out.data[next++] = type == PoolType::Max ? most : total / static_cast<double>(count);
        }
      }
    }
  }
  return out;
}

TEST(TopiPooling, FollowsTheDefinition) {
  const std::vector<int64_t> shape = {2, 3, 9, 8};
  std::vector<Case> cases = {
      {.data = shape, .kernel = {2, 2}, .stride = {2, 2}},
      {.data = shape, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1, 1, 1}},
      {.data = shape, .kernel = {3, 2}, .stride = {1, 3}, .padding = {1, 0, 0, 1}},
      {.data = shape, .kernel = {2, 3}, .padding = {1, 2, 1, 2}, .dilation = {3, 2}},
      {.data = shape,
       .kernel = {3, 3},
       .stride = {2, 3},
       .padding = {1, 1, 1, 1},
       .rounding = Rounding::Up},
      {.data = shape, .kernel = {2, 2}, .stride = {3, 3}, .rounding = Rounding::Up},
      {.data = shape,
       .kernel = {2, 3},
       .stride = {4, 3},
       .padding = {1, 1, 0, 1},
       .dilation = {2, 2},
       .rounding = Rounding::Up},
      // The last windows begin in the padding behind the data, and even behind that.
      {.data = {1, 1, 10, 7},
       .kernel = {2, 1},
       .stride = {2, 3},
       .padding = {1, 1, 1, 1},
       .rounding = Rounding::Up},
  };
  for (size_t k = cases.size(); k-- > 0;) {
    if (cases[k].rounding == Rounding::Down) continue;
    cases.push_back(cases[k]);
    cases.back().rounding = Rounding::UpInside;
  }
  for (size_t k = cases.size(); k-- > 0;) {
    cases.push_back(cases[k]);
    cases.back().include_pad = false;
  }
  for (const Case& c : cases) {
    for (PoolType type : {PoolType::Max, PoolType::Average}) {
      SCOPED_TRACE(testing::Message()
                   << (&c - cases.data()) << (type == PoolType::Max ? " max" : " mean"));
      const Array x = sample(c.data);
      const Tensor pooled = pool2d(placeholder_like(x), c.kernel, c.stride, c.dilation, c.padding,
                                   type, c.rounding, c.include_pad);
      const Array got = test::run(pooled, {x}), want = reference(c, x, type);
      ASSERT_EQ(got.shape, want.shape);
      for (size_t i = 0; i < want.data.size(); ++i) {
        EXPECT_FLOAT_EQ(static_cast<float>(got.data[i]), static_cast<float>(want.data[i])) << i;
      }
    }
  }
}

TEST(TopiPooling, WindowsThatBeginInThePadding) {
  // 21 rows, padding of 1: TVM counts (21 - 2 + 2 + 1) / 2 + 1 = 12, PyTorch 11.
  const auto shape = [](Rounding rounding, const Expr& height) {
    const Tensor x = te::placeholder({1, 1, height, 8}, float_type(32), "x");
    return pool2d(x, {2}, {2}, {1}, {1}, PoolType::Max, rounding).shape()[2];
  };
  EXPECT_EQ(as_const_int(shape(Rounding::Down, 21)), 11);
  EXPECT_EQ(as_const_int(shape(Rounding::Up, 21)), 12);
  EXPECT_EQ(as_const_int(shape(Rounding::UpInside, 21)), 11);
  // Of an extent that is not known the rule is an expression.
  const Var n = te::var("n");
  for (int height = 1; height < 12; ++height) {
    for (const Rounding rounding : {Rounding::Up, Rounding::UpInside}) {
      const Expr rows = simplify(substitute(shape(rounding, n), {{n, Expr(height)}}));
      EXPECT_EQ(as_const_int(rows), as_const_int(shape(rounding, height))) << height;
    }
  }
}

TEST(TopiPooling, GlobalPoolingIsOneWindow) {
  const Array x = sample({2, 2, 3, 4});
  const Array mean = test::run(global_pool(placeholder_like(x), PoolType::Average), {x});
  const Array most = test::run(global_pool(placeholder_like(x), PoolType::Max), {x});
  ASSERT_EQ(mean.shape, (std::vector<int64_t>{2, 2, 1, 1}));
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t c = 0; c < 2; ++c) {
      double total = 0, high = -1e9;
      for (int64_t i = 0; i < 12; ++i) {
        total += x({n, c, i / 4, i % 4});
        high = std::max(high, x({n, c, i / 4, i % 4}));
      }
      EXPECT_FLOAT_EQ(static_cast<float>(mean({n, c, 0, 0})), static_cast<float>(total / 12));
      EXPECT_EQ(most({n, c, 0, 0}), high);
    }
  }
}

}  // namespace
}  // namespace tw::topi::nn
