// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "schedule/topi/image/grid_sample.h"
#include "schedule/topi/nn/pool_grad.h"
#include "schedule/topi/vision.h"
#include "tests/support/te_run.h"

namespace tw::topi {
namespace {

using test::Array;
using test::placeholder_like;
using test::run;
using test::sample;

Array affine(const Array& matrices, const std::vector<int64_t>& shape, bool corners) {
  return run(image::affine_grid(placeholder_like(matrices), shape, corners), {matrices});
}

Array sampled(const Array& data, const Array& grid, const image::GridSample& how) {
  const Tensor x = placeholder_like(data), at = placeholder_like(grid, float_type(32), "grid");
  return run(image::grid_sample(x, at, how), {grid, data});  // as the stages read them
}

// At the centers of its pixels an image is itself, whatever the filter and what lies outside.
TEST(TopiSampling, AnImageAtItsOwnPixelsIsItself) {
  const Array identity({1, 2, 3}, {1, 0, 0, 0, 1, 0});
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{1, 2, 5, 3}, {1, 1, 3, 1}, {1, 3, 2, 7}}) {
    const Array x = sample(shape);
    for (bool corners : {true, false}) {
      const Array grid = affine(identity, {shape[2], shape[3]}, corners);
      for (const char* method : {"bilinear", "nearest", "bicubic"}) {
        for (const char* padding : {"zeros", "border", "reflection"}) {
          const Array got = sampled(x, grid, {method, padding, corners});
          ASSERT_EQ(got.shape, x.shape);
          for (size_t i = 0; i < x.data.size(); ++i) {
            ASSERT_NEAR(got.data[i], x.data[i], 1e-4) << method << " " << padding << " " << i;
          }
        }
      }
    }
  }
}

// Between pixels, and beyond the image.
TEST(TopiSampling, WhatLiesOutsideIsWhatThePaddingSays) {
  const Array x({1, 1, 1, 4}, {1, 2, 4, 8});
  // Pixels -1, 0.5, 3.5 and 5 of a row.
  const auto place = [](double pixel) { return (2 * pixel + 1) / 4 - 1; };
  const Array grid({1, 2, 1, 4}, {place(-1), place(0.5), place(3.5), place(5), 0, 0, 0, 0});
  const auto row = [&](const char* padding) {
    return sampled(x, grid, {"bilinear", padding, false}).data;
  };
  EXPECT_EQ(row("zeros"), (std::vector<double>{0, 1.5, 4, 0}));
  EXPECT_EQ(row("border"), (std::vector<double>{1, 1.5, 8, 8}));
  EXPECT_EQ(row("reflection"), (std::vector<double>{1, 1.5, 8, 4}));
}

// What no number says is no place to read at.
TEST(TopiSampling, PositionsThatAreNoNumbersReadNothing) {
  const double infinity = INFINITY;
  const Array x = sample({1, 1, 2, 3}), grid({1, 2, 1, 4}, {NAN, infinity, -infinity, 1e30,  //
                                                            0, 0, 0, 0});
  for (const char* method : {"bilinear", "nearest", "bicubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      EXPECT_EQ(sampled(x, grid, {method, padding, true}).data.size(), 4U);
    }
  }
}

TEST(TopiSampling, PlacesOfMaximaCountPixels) {
  const Array x({1, 2, 2, 3}, {1, 5, 2, 5, 0, 3,  //
                               -1, -2, -3, -4, -5, -6});
  const nn::Pooling windows{.kernel = {2, 2}, .stride = {1, 1}};
  EXPECT_EQ(run(nn::pool_places(placeholder_like(x), 2, windows), {x}).data,
            (std::vector<double>{1, 1, 0, 1}));
  // The last window lies in the padding alone.
  const nn::Pooling beyond{.kernel = {1, 1}, .stride = {2, 3}, .padding = {0, 0, 0, 1}};
  EXPECT_EQ(run(nn::pool_places(placeholder_like(x), 2, beyond), {x}).data,
            (std::vector<double>{0, -1, 0, -1}));
}

TEST(TopiSampling, EachClassKeepsItsBoxes) {
  // The second overlaps the first by half, the third none.
  const Array boxes({1, 3, 4}, {0, 0, 4, 4, 4, 4, 0, 2, 9, 9, 8, 8});
  const Array scores({1, 2, 3}, {1, 2, 3, 3, 2, 1});
  const Tensor b = placeholder_like(boxes), s = placeholder_like(scores, float_type(32), "scores");
  const auto kept = [&](const vision::ClassSuppression& how) {
    const std::vector<Tensor> all = vision::all_class_non_max_suppression(b, s, how);
    const Array rows = run(all[0], {boxes, scores}), count = run(all[1], {boxes, scores});
    EXPECT_EQ(std::ranges::count(rows.data, -1), 18 - 3 * static_cast<int64_t>(count.data[0]));
    return std::vector<double>(rows.data.begin(),
                               rows.data.begin() + 3 * static_cast<int64_t>(count.data[0]));
  };
  using Rows = std::vector<double>;
  EXPECT_EQ(kept({-1, 0.4, 0}), (Rows{0, 0, 2, 0, 0, 1, 0, 1, 0, 0, 1, 2}));
  // A share that is the threshold is not beyond it.
  EXPECT_EQ(kept({-1, 0.5, 0}).size(), 18U);
  EXPECT_EQ(kept({1, 0.4, 2}), (Rows{0, 0, 2, 0, 1, 0}));
  EXPECT_EQ(kept({0, 0.4, 0}), Rows());
}

}  // namespace
}  // namespace tw::topi
