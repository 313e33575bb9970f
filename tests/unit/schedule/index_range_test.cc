// SPDX-License-Identifier: Apache-2.0
#include "schedule/index_range.h"

#include <gtest/gtest.h>

#include "ir/expr.h"
#include "ir/interpret.h"
#include "ir/print.h"
#include "tests/support/fuzz.h"
#include "tests/support/random_ir.h"

namespace tw {
namespace {

Expr constant(int64_t v) { return make_const(int_type(32), v); }

std::string text(const Range& r) {
  return is_known(r) ? to_string(simplify(r.min)) + " + " + to_string(r.extent) : "unknown";
}

TEST(IndexRange, ExtentsAreConstants) {
  const Var x("x"), y("y"), t("t");
  const DomainMap ranges = {{x, {Expr(t) * 4, 4}}, {y, {0, 3}}};
  Analyzer analyzer;
  analyzer.bind(t, {0, 10});
  const IndexRange f(ranges, analyzer);
  EXPECT_EQ(text(f(Expr(x) + y)), "(t*4) + 6");
  EXPECT_EQ(text(f(Expr(x) * 2 + y)), "(t*8) + 9");
  EXPECT_EQ(text(f(Expr(y) - x)), "(-3 - (t*4)) + 6");
  EXPECT_EQ(text(f(floor_div(x, Expr(4)))), "t + 1");
  EXPECT_EQ(text(f(floor_div(Expr(x) + 1, Expr(4)))), "t + 2");
  EXPECT_EQ(text(f(floor_mod(x, Expr(8)))), "(floormod(t, 2)*4) + 4");
  EXPECT_EQ(text(f(floor_mod(x, Expr(3)))), "0 + 3");
  EXPECT_EQ(text(f(max(Expr(x), Expr(5)))), "max((t*4), 5) + 4");
  EXPECT_EQ(text(f(t)), "t + 1");
  EXPECT_EQ(text(f(Expr(x) * y)), "unknown");
  EXPECT_EQ(text(f(if_then_else(Expr(y) > 0, Expr(y) + 1, Expr(y)))), "0 + 4");
}

// Every value lies in the range.
TEST(IndexRange, CoversEveryValue) {
  test::Random random(test::fuzz_seed());
  const std::vector<Var> vars = {Var("x"), Var("y"), Var("t")};
  const auto grow = [&](auto& self, int depth) -> Expr {
    if (depth == 0)
      return random.chance(80) ? Expr(random.pick(vars)) : constant(random.between(-4, 9));
    const Expr a = self(self, depth - 1);
    switch (random.between(0, 7)) {
      case 0:
      case 1:
        return a + self(self, depth - 1);
      case 2:
        return a - self(self, depth - 1);
      case 3:
        return a * constant(random.between(-3, 4));
      case 4:
        return floor_div(a, constant(random.between(1, 7)));
      case 5:
        return floor_mod(a, constant(random.between(1, 7)));
      case 6:
        return min(a, self(self, depth - 1));
      default:
        return max(a, constant(random.between(-3, 8)));
    }
  };
  test::FuzzCases cases(500, 0.8);
  while (cases.next()) {
    const int64_t stride = random.between(1, 5), nx = random.between(1, 6),
                  ny = random.between(1, 4);
    const DomainMap ranges = {{vars[0], {Expr(vars[2]) * constant(stride), constant(nx)}},
                              {vars[1], {constant(random.between(-2, 2)), constant(ny)}}};
    Analyzer analyzer;
    analyzer.bind(vars[2], {0, 5});
    const Expr e = grow(grow, 3);
    const Range r = IndexRange(ranges, analyzer)(e);
    if (!is_known(r)) {
      cases.refuse();
      continue;
    }
    for (int64_t t = 0; t < 5; ++t) {
      InterpreterScope scope;
      const auto set = [&](const Var& v, int64_t i) {
        scope.values[v] = {.type = int_type(32), .i = i};
      };
      set(vars[2], t);
      const int64_t least = evaluate(r.min, scope).i, end = least + evaluate(r.extent, scope).i;
      const int64_t y0 = evaluate(ranges.at(vars[1]).min).i;
      for (int64_t x = 0; x < nx; ++x) {
        for (int64_t y = 0; y < ny; ++y) {
          set(vars[0], t * stride + x);
          set(vars[1], y0 + y);
          const int64_t v = evaluate(e, scope).i;
          ASSERT_TRUE(least <= v && v < end)
              << to_string(e) << " gives " << v << ", not in " << text(r);
        }
      }
    }
  }
}

TEST(IndexRange, Unite) {
  Analyzer analyzer;
  const Var t("t");
  analyzer.bind(t, {0, 4});
  EXPECT_EQ(text(unite({t, 3}, {Expr(t) + 2, 3}, analyzer)), "t + 5");
  EXPECT_EQ(text(unite({Expr(t) + 2, 3}, {t, 9}, analyzer)), "t + 9");
  EXPECT_EQ(text(unite({t, 3}, {Expr(t) * 2, 3}, analyzer)), "min(t, (t*2)) + 6");
  EXPECT_EQ(text(unite({t, 3}, {}, analyzer)), "unknown");
  EXPECT_EQ(text(clip({t, 9}, {0, 8})), "0 + 8");
  EXPECT_EQ(text(clip({t, 7}, {0, 8})), "t + 7");
  EXPECT_EQ(text(clip({}, {0, 8})), "0 + 8");
}

}  // namespace
}  // namespace tw
