// SPDX-License-Identifier: Apache-2.0
// Random indices, guarded or not: what te/check_bounds says of them against all their points.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "ir/expr.h"
#include "ir/interpret.h"
#include "ir/print.h"
#include "schedule/te/check_bounds.h"
#include "tests/support/fuzz.h"
#include "tests/support/random_ir.h"

namespace tw {
namespace {

using test::Random;

struct Domain {
  int64_t low = INT64_MAX, high = INT64_MIN;
};

template <class F>
void for_each_point(const std::vector<int>& extents, F f) {
  for (int64_t i = 0; i < extents[0]; ++i) {
    for (int64_t j = 0; j < extents[1]; ++j) f(i, j);
  }
}

// The values of the index where the condition (undefined: everywhere) holds.
Domain values(const Expr& index, const Expr& condition, const std::vector<Var>& axes,
              const std::vector<int>& extents) {
  CompiledExpr value(index, axes);
  CompiledExpr test(condition.defined() ? condition : make_bool(true), axes);
  Domain result;
  for_each_point(extents, [&](int64_t i, int64_t j) {
    for (CompiledExpr* e : {&value, &test}) {
      e->set(0, i);
      e->set(1, j);
    }
    if (test().i == 0) return;
    const int64_t v = value().i;
    result.low = std::min(result.low, v);
    result.high = std::max(result.high, v);
  });
  return result;
}

TEST(IndexBoundsFuzz, AgainstEnumeration) {
  int refused = 0, guarded = 0;
  // Cases without a read, and with one far outside, are left out.
  test::FuzzCases cases(3000, 0.5);
  while (cases.next()) {
    Random random(cases.seed());
    const std::vector<int> extents = {static_cast<int>(random.between(1, 12)),
                                      static_cast<int>(random.between(1, 9))};
    const std::vector<Var> axes = {Var("i"), Var("j")};
    test::RandomIr ir(random.bits(), axes, {.constant_limit = 6, .raw = false});
    Expr index = ir.integer(int_type(32), 3);
    std::optional<Expr> condition;
    if (random.chance(50)) condition = ir.expr(bool_type(), 2);
    const Expr where = condition.value_or(Expr());
    const Domain reached = values(index, where, axes, extents);
    if (reached.low > reached.high || reached.high > 100000 || reached.low < -100000) {
      cases.refuse();
      continue;
    }
    // Moved to begin at zero, or right before it; the placeholder is as long as that needs it, or
    // an element shorter.
    const int64_t first = random.chance(70) ? 0 : -1;
    index = index + make_const(int_type(32), first - reached.low);
    const int size =
        static_cast<int>(reached.high - reached.low + 1 + first - (random.chance(30) ? 1 : 0));
    if (size < 1) {
      cases.refuse();
      continue;
    }
    const Domain taken = values(index, where, axes, extents);
    const bool inside = taken.low >= 0 && taken.high < size;

    const te::Tensor a = te::placeholder({size}, float_type(32), "A");
    const Expr read = a(index);
    const Expr zero = make_zero(float_type(32));
    const Expr body = !condition          ? read
                      : random.chance(50) ? if_then_else(*condition, read, zero)
                                          : select(*condition, read, zero);
    std::vector<IterVar> data;
    for (size_t k = 0; k < 2; ++k)
      data.emplace_back(Range{0, extents[k]}, axes[k], IterKind::DataParallel);
    const te::Operation op = te::compute_op("B", data, {body});
    const auto doubt = te::doubtful_read(op);
    const std::string text = fmt::format("{} of {} where {} < {}, {} < {}", to_string(body), size,
                                         "i", extents[0], "j", extents[1]);
    guarded += condition ? 1 : 0;
    refused += doubt ? 1 : 0;
    if (inside) {
      EXPECT_FALSE(doubt) << text << "\n" << doubt->error.what;
    } else {
      // A guard of other axes is no guard, but may be why the read is never reached.
      EXPECT_TRUE(doubt) << text;
      if (doubt && !condition) {
        EXPECT_EQ(doubt->reach, te::Reach::Outside) << text;
      }
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(refused, cases.ran() / 5);
  EXPECT_GT(guarded, cases.ran() / 5);
}

}  // namespace
}  // namespace tw
