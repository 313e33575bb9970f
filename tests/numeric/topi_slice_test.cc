// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/slice.h"

#include <gtest/gtest.h>

#include "ir/expr.h"
#include "schedule/topi/nn/upsampling.h"
#include "tests/support/te_run.h"

namespace tw::topi {
namespace {

using test::Array;
using test::placeholder_like;
using test::run;
using test::sample;
using Ints = std::vector<int64_t>;

TEST(TopiSlice, StridedSliceTakesWhatNumPyTakes) {
  struct Case {
    int64_t begin, end, stride;
    Ints taken;  // of 5 elements
  };
  const Array x = sample({2, 5, 3});
  for (const Case& c : {Case{1, 4, 1, {1, 2, 3}}, Case{0, 9, 2, {0, 2, 4}}, Case{-2, 5, 1, {3, 4}},
                        Case{-9, -3, 1, {0, 1}}, Case{4, -9, -1, {4, 3, 2, 1, 0}},
                        Case{9, 0, -2, {4, 2}}, Case{-1, -4, -2, {4, 2}}}) {
    const Array got =
        run(strided_slice(placeholder_like(x), {1, c.begin}, {2, c.end}, {1, c.stride}), {x});
    ASSERT_EQ(got.shape, (Ints{1, int64_t(c.taken.size()), 3})) << c.begin << ":" << c.end;
    for (size_t j = 0; j < c.taken.size(); ++j) {
      for (int64_t k = 0; k < 3; ++k) EXPECT_EQ(got({0, int64_t(j), k}), x({1, c.taken[j], k}));
    }
  }
}

TEST(TopiSlice, SplitGivesEqualPartsOrThoseBetweenPositions) {
  const Array x = sample({2, 6});
  const auto check = [&](const Sections& sections, const Ints& begins) {
    const std::vector<Tensor> parts = split(placeholder_like(x), sections, -1);
    ASSERT_EQ(parts.size() + 1, begins.size());
    for (size_t p = 0; p < parts.size(); ++p) {
      const Array got = run(parts[p], {x});
      ASSERT_EQ(got.shape, (Ints{2, begins[p + 1] - begins[p]}));
      for (int64_t i = 0; i < 2; ++i) {
        for (int64_t j = begins[p]; j < begins[p + 1]; ++j) {
          EXPECT_EQ(got({i, j - begins[p]}), x({i, j}));
        }
      }
    }
  };
  check(int64_t{3}, {0, 2, 4, 6});
  check(int64_t{1}, {0, 6});
  check(Ints{1, 5}, {0, 1, 5, 6});
  check(Ints{}, {0, 6});
}

TEST(TopiSlice, Flip) {
  const Array x = sample({2, 3});
  const Array rows = run(flip(placeholder_like(x)), {x});
  const Array columns = run(flip(placeholder_like(x), -1), {x});
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      EXPECT_EQ(rows({i, j}), x({1 - i, j}));
      EXPECT_EQ(columns({i, j}), x({i, 2 - j}));
    }
  }
}

TEST(TopiSlice, UpsamplingRepeatsPixels) {
  const Array x = sample({2, 1, 2, 3});
  const Array got = run(nn::upsampling(placeholder_like(x), {2, 3}), {x});
  ASSERT_EQ(got.shape, (Ints{2, 1, 4, 9}));
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t i = 0; i < 4; ++i) {
      for (int64_t j = 0; j < 9; ++j) EXPECT_EQ(got({n, 0, i, j}), x({n, 0, i / 2, j / 3}));
    }
  }
}

}  // namespace
}  // namespace tw::topi
