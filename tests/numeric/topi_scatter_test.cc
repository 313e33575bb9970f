// SPDX-License-Identifier: Apache-2.0
// Scatters and walks that are large enough to be divided among threads, against plain loops.
#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/topi/cumulative.h"
#include "schedule/topi/scatter.h"
#include "tests/support/te_run.h"

namespace tw::topi {
namespace {

using test::Array;
using test::placeholder_like;
using test::run;
using test::sample;

int64_t place(double index, int64_t extent) {
  const auto i = static_cast<int64_t>(index);
  return std::clamp<int64_t>(i < 0 ? i + extent : i, 0, extent - 1);
}

Array indices_like(const std::vector<int64_t>& shape, int64_t least, int64_t count) {
  return Array(shape, [=](int64_t i) { return static_cast<double>(least + i * 7 % count); });
}

// Rows of 300 columns are tasks of 150; rows of one are ranges of several, a task each.
TEST(TopiScatter, RowsAreAddedWhereTheyWereTaken) {
  for (const int64_t columns : {300, 17, 1}) {
    const int64_t rows = 40, updates = columns == 1 ? 9000 : 90;
    const Array grad = sample({updates, columns}), at = indices_like({updates}, -45, 91);
    const Tensor result =
        take_grad(placeholder_like(grad), {static_cast<int>(rows), static_cast<int>(columns)},
                  placeholder_like(at, int_type(32), "at"), 0, 0, "fast");
    std::vector<double> expected(static_cast<size_t>(rows * columns));
    for (int64_t k = 0; k < updates; ++k) {
      const int64_t row = place(at({k}), rows);
      for (int64_t j = 0; j < columns; ++j) {
        expected[static_cast<size_t>(row * columns + j)] += grad({k, j});
      }
    }
    EXPECT_EQ(run(result, {at, grad}).data, expected) << columns;
  }
}

TEST(TopiScatter, ElementsOfSmallerDimensionsStayAtTheirPositions) {
  const Array data = sample({5, 6, 7}), updates = sample({4, 9, 3}, 2),
              at = indices_like({4, 9, 3}, -8, 17);
  const Tensor result =
      scatter_elements(placeholder_like(data), placeholder_like(at, int_type(64), "at"),
                       placeholder_like(updates, float_type(32), "B"), 1, "add");
  Array expected = data;
  for (int64_t a = 0; a < 4; ++a) {
    for (int64_t k = 0; k < 9; ++k) {
      for (int64_t b = 0; b < 3; ++b) {
        const int64_t row = place(at({a, k, b}), 6);
        expected.data[static_cast<size_t>((a * 6 + row) * 7 + b)] += updates({a, k, b});
      }
    }
  }
  EXPECT_EQ(run(result, {data, at, updates}).data, expected.data);
}

TEST(TopiCumulative, LinesSideBySideAndAlone) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{3, 50, 96}, {3, 50, 5}, {700, 20, 1}, {2, 3, 257}}) {
    const Array x = sample(shape);
    const Array sums = run(cumsum(placeholder_like(x), 1), {x});
    const Array after = run(cumsum(placeholder_like(x), 1, std::nullopt, true, true), {x});
    for (int64_t a = 0; a < shape[0]; ++a) {
      for (int64_t b = 0; b < shape[2]; ++b) {
        double sum = 0, behind = 0;
        for (int64_t k = 0; k < shape[1]; ++k) {
          sum += x({a, k, b});
          ASSERT_EQ(sums({a, k, b}), sum);
          const int64_t back = shape[1] - 1 - k;
          ASSERT_EQ(after({a, back, b}), behind);
          behind += x({a, back, b});
        }
      }
    }
  }
}

}  // namespace
}  // namespace tw::topi
