// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/nn/conv.h"

#include <gtest/gtest.h>

#include "schedule/topi/nn/conv2d_blocked.h"
#include "tests/support/te_run.h"

namespace tw::topi::nn {
namespace {

using test::Array;
using test::placeholder_like;
using test::sample;

struct Case {
  std::vector<int64_t> data, weight;
  std::vector<int64_t> stride = {1, 1}, padding = {0, 0, 0, 0}, dilation = {1, 1};
  int64_t groups = 1;
};

// Straight from the definition of ONNX Conv.
Array reference(const Case& c, const Array& x, const Array& w) {
  const auto positions = [&](size_t d, int64_t total) {
    const int64_t span = (w.shape[d] - 1) * c.dilation[d - 2] + 1;
    return (x.shape[d] + total - span) / c.stride[d - 2] + 1;
  };
  const int64_t height = positions(2, c.padding[0] + c.padding[2]),
                width = positions(3, c.padding[1] + c.padding[3]);
  Array out({x.shape[0], w.shape[0], height, width}, [](int64_t) { return 0.0; });
  size_t next = 0;
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    for (int64_t f = 0; f < w.shape[0]; ++f) {
      const int64_t first = f / (w.shape[0] / c.groups) * w.shape[1];
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t xx = 0; xx < width; ++xx) {
          double total = 0;
          for (int64_t r = 0; r < w.shape[1]; ++r) {
            for (int64_t ky = 0; ky < w.shape[2]; ++ky) {
              for (int64_t kx = 0; kx < w.shape[3]; ++kx) {
                const int64_t iy = y * c.stride[0] + ky * c.dilation[0] - c.padding[0];
                const int64_t ix = xx * c.stride[1] + kx * c.dilation[1] - c.padding[1];
                if (iy < 0 || iy >= x.shape[2] || ix < 0 || ix >= x.shape[3]) continue;
                total += x({n, first + r, iy, ix}) * w({f, r, ky, kx});
              }
            }
          }
          out.data[next++] = total;
        }
      }
    }
  }
  return out;
}

TEST(TopiConv2d, FollowsTheDefinition) {
  const Case cases[] = {
      {.data = {2, 3, 7, 9}, .weight = {4, 3, 3, 5}},
      {.data = {1, 3, 7, 9}, .weight = {3, 3, 5, 5}, .padding = {2, 2, 2, 2}},
      {.data = {1, 2, 9, 8}, .weight = {3, 2, 3, 2}, .stride = {2, 3}},
      {.data = {1, 2, 9, 8}, .weight = {3, 2, 3, 3}, .padding = {0, 1, 2, 3}, .dilation = {2, 3}},
      {.data = {1, 6, 5, 5}, .weight = {4, 3, 3, 3}, .padding = {1, 1, 1, 1}, .groups = 2},
      {.data = {2, 4, 6, 6},
       .weight = {8, 1, 3, 3},
       .stride = {2, 2},
       .padding = {1, 1, 1, 1},
       .groups = 4},  // depthwise, two filters a channel
      {.data = {1, 8, 4, 4}, .weight = {5, 8, 1, 1}, .stride = {2, 1}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(&c - cases);
    const Array x = sample(c.data), w = sample(c.weight, 1);
    const Tensor conv = conv2d_nchw(placeholder_like(x), placeholder_like(w, float_type(32), "W"),
                                    c.stride, c.padding, c.dilation, c.groups);
    const Array got = test::run(conv, {x, w}), want = reference(c, x, w);
    EXPECT_EQ(got.shape, want.shape);
    EXPECT_EQ(got.data, want.data);
  }
}

// [A, B, …] as [A, B / block, …, block].
Array in_blocks(const Array& a, size_t dimension, int64_t block) {
  std::vector<int64_t> shape = a.shape;
  shape[dimension] /= block;
  shape.push_back(block);
  Array result(shape, [](int64_t) { return 0.0; });
  std::vector<int64_t> at(shape.size());
  for (double& element : result.data) {
    std::vector<int64_t> from(at.begin(), at.end() - 1);
    from[dimension] = from[dimension] * block + at.back();
    element = a(from);
    for (size_t d = at.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
  }
  return result;
}

TEST(TopiConv2d, ChannelsInBlocksGiveTheSame) {
  struct BlockedCase {
    Case plain;
    int64_t c, f;
  };
  const BlockedCase cases[] = {
      {{.data = {2, 8, 7, 9}, .weight = {12, 8, 3, 5}}, 4, 4},
      {{.data = {1, 3, 9, 8}, .weight = {8, 3, 3, 3}, .stride = {2, 1}, .padding = {1, 0, 1, 2}},
       3,
       8},
      {{.data = {1, 4, 9, 8}, .weight = {6, 4, 3, 2}, .dilation = {2, 3}}, 2, 6},
      {{.data = {1, 8, 5, 5}, .weight = {4, 8, 1, 1}}, 8, 1},
  };
  for (const auto& [plain, c, f] : cases) {
    SCOPED_TRACE(shape_text(placeholder_like(Array(plain.data, std::vector<double>())).shape()));
    const Array x = sample(plain.data), w = sample(plain.weight, 1);
    const Array bx = in_blocks(x, 1, c), bw = in_blocks(in_blocks(w, 1, c), 0, f);
    const Tensor conv =
        conv2d_nchwc(placeholder_like(bx), placeholder_like(bw, float_type(32), "W"), plain.stride,
                     plain.padding, plain.dilation);
    const Array got = test::run(conv, {bx, bw}), want = in_blocks(reference(plain, x, w), 1, f);
    EXPECT_EQ(got.shape, want.shape);
    EXPECT_EQ(got.data, want.data);
  }
}

TEST(TopiConv2d, PlainDataGiveBlocks) {
  const Case plain{
      .data = {2, 3, 9, 8}, .weight = {8, 3, 3, 2}, .stride = {2, 1}, .padding = {1, 1, 1, 1}};
  const Array x = sample(plain.data), w = sample(plain.weight, 1);
  const Array bw = in_blocks(w, 0, 4);
  const Tensor conv = conv2d_nchwc(placeholder_like(x), placeholder_like(bw, float_type(32), "W"),
                                   plain.stride, plain.padding, plain.dilation);
  const Array got = test::run(conv, {x, bw}), want = in_blocks(reference(plain, x, w), 1, 4);
  EXPECT_EQ(got.shape, want.shape);
  EXPECT_EQ(got.data, want.data);
}

TEST(TopiConv2d, DepthwiseInBlocksGivesTheSame) {
  struct BlockedCase {
    Case plain;
    int64_t c, f;
  };
  const BlockedCase cases[] = {
      {{.data = {2, 8, 7, 9}, .weight = {8, 1, 3, 5}, .groups = 8}, 4, 4},
      {{.data = {1, 6, 9, 8},
        .weight = {6, 1, 3, 3},
        .stride = {2, 1},
        .padding = {1, 1, 1, 1},
        .groups = 6},
       3,
       2},
      {{.data = {1, 4, 9, 8}, .weight = {12, 1, 3, 2}, .dilation = {2, 3}, .groups = 4}, 2, 4},
  };
  for (const auto& [plain, c, f] : cases) {
    SCOPED_TRACE(shape_text(placeholder_like(Array(plain.weight, std::vector<double>())).shape()));
    const Array x = sample(plain.data), w = sample(plain.weight, 1);
    const Array bx = in_blocks(x, 1, c), bw = in_blocks(in_blocks(w, 1, 1), 0, f);
    const Tensor conv =
        depthwise_conv2d_nchwc(placeholder_like(bx), placeholder_like(bw, float_type(32), "W"),
                               plain.stride, plain.padding, plain.dilation);
    const Array got = test::run(conv, {bx, bw}), want = in_blocks(reference(plain, x, w), 1, f);
    EXPECT_EQ(got.shape, want.shape);
    EXPECT_EQ(got.data, want.data);
  }
}

TEST(TopiConv2d, LowPrecisionSumsInTheTypeAskedFor) {
  const Case c{.data = {1, 8, 4, 4}, .weight = {2, 8, 3, 3}};
  const Array x(c.data, [](int64_t) { return 100.0; }), w(c.weight, [](int64_t) { return 100.0; });
  const Tensor tx = placeholder_like(x, int_type(8)), tw = placeholder_like(w, int_type(8), "W");
  const Array got = test::run(conv2d_nchw(tx, tw, {1}, {0}, {1}, 1, int_type(32)), {x, w});
  EXPECT_EQ(got.data, std::vector<double>(8, 72 * 100.0 * 100.0));
}

}  // namespace
}  // namespace tw::topi::nn
