// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "ir/expr.h"
#include "schedule/topi/scatter.h"
#include "schedule/topi/vision.h"
#include "tests/support/te_run.h"

namespace tw::topi {
namespace {

using test::Array;
using test::placeholder_like;
using test::run;
using Ints = std::vector<int64_t>;

// Positions of a row in order; NaN is beyond all numbers.
Ints order_of(const std::vector<double>& row, bool ascending) {
  Ints places(row.size());
  std::iota(places.begin(), places.end(), 0);
  const auto less = [&](double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); };
  std::ranges::stable_sort(places, [&](int64_t i, int64_t j) {
    const double a = row[static_cast<size_t>(i)], b = row[static_cast<size_t>(j)];
    return ascending ? less(a, b) : less(b, a);
  });
  return places;
}

// Repeats late, and has everything that floats have.
std::vector<double> row_of(size_t length) {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> row;
  for (size_t k = 0; k < length; ++k)
    row.push_back(static_cast<double>((k * 37 + k / 5) % 23) - 11);
  if (length > 8) {
    row[1] = std::nan("");
    row[6] = -std::nan("");
    row[2] = -0.0;
    row[5] = 0.0;
    row[4] = infinity;
    row[7] = -infinity;
  }
  return row;
}

TEST(TopiSort, PlacesAreStableAndNanIsBeyondAll) {
  for (size_t length :
       {size_t{1}, size_t{2}, size_t{9}, size_t{32}, size_t{33}, size_t{100}, size_t{257}}) {
    const Array x({static_cast<int64_t>(length)}, row_of(length));
    for (bool ascending : {true, false}) {
      const Array got = run(argsort(placeholder_like(x), {}, -1, ascending, int_type(32)), {x});
      const Ints expected = order_of(x.data, ascending);
      for (size_t k = 0; k < length; ++k) {
        ASSERT_EQ(got.data[k], static_cast<double>(expected[k])) << length << " at " << k;
      }
    }
  }
}

TEST(TopiSort, OnlyTheFirstOfEachRowWhereSomeCount) {
  const Array x({3, 40}, [](int64_t i) { return static_cast<double>((i * 29) % 41); });
  const Array counts({3}, {40, 7, 0});
  const Tensor data = placeholder_like(x), valid = placeholder_like(counts, int_type(32), "counts");
  const Array got = run(argsort(data, valid, 1, false, int_type(32)), {x, counts});
  for (int64_t row = 0; row < 3; ++row) {
    const auto first = x.data.begin() + row * 40;
    const auto count = static_cast<int64_t>(counts({row}));
    const Ints expected = order_of({first, first + count}, false);
    for (int64_t k = 0; k < 40; ++k) {
      const int64_t place = k < count ? expected[static_cast<size_t>(k)] : k;
      ASSERT_EQ(got({row, k}), static_cast<double>(place)) << row << " at " << k;
    }
  }
}

TEST(TopiSort, TheFirstOfManyAreThoseOfAll) {
  const Array x({2, 150, 3}, [](int64_t i) { return static_cast<double>((i * 71) % 97); });
  for (int64_t k : {1, 5, 31, 32, 64, 149, 150}) {
    const std::vector<Tensor> found = topk(placeholder_like(x), k, 1, "both", false, int_type(64));
    const Array values = run(found[0], {x}), places = run(found[1], {x});
    for (int64_t outer = 0; outer < 2; ++outer) {
      for (int64_t inner = 0; inner < 3; ++inner) {
        std::vector<double> row;
        for (int64_t j = 0; j < 150; ++j) row.push_back(x({outer, j, inner}));
        const Ints expected = order_of(row, false);
        for (int64_t t = 0; t < k; ++t) {
          const int64_t place = expected[static_cast<size_t>(t)];
          ASSERT_EQ(places({outer, t, inner}), static_cast<double>(place)) << k << " at " << t;
          ASSERT_EQ(values({outer, t, inner}), row[static_cast<size_t>(place)]);
        }
      }
    }
  }
}

// Rows that a sample describes well, badly, and not at all; the places of equal elements tell
// whether their order is kept.
TEST(TopiSort, TheFirstOfLongRowsAreThoseOfAllWhateverASampleOfThemSays) {
  const std::pair<const char*, std::function<double(int64_t)>> rows[] = {
      {"mixed", [](int64_t i) { return static_cast<double>((i * 7919) % 10007); }},
      {"ascending", [](int64_t i) { return static_cast<double>(i); }},
      {"descending", [](int64_t i) { return static_cast<double>(-i); }},
      {"equal", [](int64_t) { return 3.0; }},
      {"one of a few", [](int64_t i) { return static_cast<double>((i * 31) % 5); }},
      {"NaN", [](int64_t i) { return i % 3 == 0 ? std::nan("") : static_cast<double>(i % 11); }},
      // Each tenth, and thereby the sample, is of the largest.
      {"misleading", [](int64_t i) { return static_cast<double>(i % 10 == 0 ? 9 : i % 7); }},
  };
  for (const auto& [name, element] : rows) {
    for (const auto& [length, k] : {std::pair<int64_t, int64_t>{2600, 650},
                                    {2600, 65},
                                    {2047, 300},
                                    {300, 70},
                                    {2049, 66},
                                    {2600, 5},
                                    {299, 1},
                                    {300, 64}}) {
      const Array x({length}, element);
      for (bool ascending : {true, false}) {
        const Array places =
            run(topk(placeholder_like(x), k, 0, "indices", ascending, int_type(32))[0], {x});
        const Ints expected = order_of(x.data, ascending);
        for (int64_t t = 0; t < k; ++t) {
          ASSERT_EQ(places({t}), static_cast<double>(expected[static_cast<size_t>(t)]))
              << name << ", " << k << " of " << length << (ascending ? " up" : " down") << " at "
              << t;
        }
      }
    }
  }
}

TEST(TopiSort, WhatIsPlacedComesFromWhereItIsSelected) {
  const Array x({2, 5}, [](int64_t i) { return static_cast<double>(i + 1); });
  const Array places({2, 3}, {4, -1, 4, 0, 7, 2});
  const Tensor data = placeholder_like(x), at = placeholder_like(places, int_type(32), "places");
  EXPECT_EQ(run(gather(data, 1, at, IndexMode::Skip), {places, x}).data,
            (std::vector<double>{5, 0, 5, 6, 0, 8}));
  const Array values({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run(gather_grad(placeholder_like(values), data.shape(), 1, at, IndexMode::Skip),
                {places, values})
                .data,
            (std::vector<double>{0, 0, 0, 0, 4, 4, 0, 6, 0, 0}));
}

TEST(TopiVision, BoxesThatOverlapABetterOneGo) {
  // Class, score, left, top, right, bottom. The second overlaps the first by 0.6, the third is of
  // another class, the fourth is elsewhere.
  const Array x({1, 4, 6}, {0, 0.9, 0, 0, 1, 1, 0, 0.8,  0, 0, 1, 0.6,
                            1, 0.7, 0, 0, 1, 1, 0, 0.95, 2, 2, 3, 3});
  const Array counts({1}, {4});
  const Tensor data = placeholder_like(x), valid = placeholder_like(counts, int_type(32), "counts");
  const auto kept = [&](const vision::Suppression& s) {
    return run(vision::suppression_source(data, valid, s)[0], {x, counts}).data;
  };
  EXPECT_EQ(kept({.iou_threshold = 0.5}), (std::vector<double>{3, 0, -1, 2}));
  EXPECT_EQ(kept({.iou_threshold = 0.5, .invalid_to_bottom = true}),
            (std::vector<double>{3, 0, 2, -1}));
  EXPECT_EQ(kept({.iou_threshold = 0.7}), (std::vector<double>{3, 0, 1, 2}));
  EXPECT_EQ(kept({.iou_threshold = 0.5, .force_suppress = true}),
            (std::vector<double>{3, 0, -1, -1}));
  EXPECT_EQ(kept({.max_output_size = 1, .iou_threshold = 0.5}),
            (std::vector<double>{3, -1, -1, -1}));
  EXPECT_EQ(kept({.iou_threshold = 0.5, .top_k = 2}), (std::vector<double>{3, 0, -1, -1}));
}

}  // namespace
}  // namespace tw::topi
