// SPDX-License-Identifier: Apache-2.0
// Expressions whose parts stand in several places, deep enough that a walk that meets each part in
// each place would not end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "autotune/cost/features.h"
#include "autotune/measure/reference.h"
#include "autotune/search/prior_schedule.h"
#include "ir/arithmetic/analyzer.h"
#include "ir/arithmetic/interval.h"
#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/share.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "schedule/te/text.h"
#include "tests/support/fuzz.h"
#include "tests/support/jit_check.h"
#include "tests/support/lower_check.h"
#include "tests/support/te_run.h"

namespace tw {
namespace {

using test::Random;

constexpr int kDeep = 60, kLength = 8;
constexpr int kMostParts = 65536;

using Read = std::function<Expr(const Expr& index)>;

// Each level uses parts of the two before it; reads beyond the elements stand behind conditions.
class Graph {
 public:
  Graph(Random& random, Var i, Read read)
      : random_(random), i_(std::move(i)), read_(std::move(read)) {}

  Expr make(int levels) {
    std::vector<Expr> floats = {read_(i_), read_(7 - i_)}, integers = {i_, i_ + 1};
    for (int k = 0; k < levels; ++k) {
      const Expr x = floats.back(), y = floats[floats.size() - 2];
      const Expr n = integers.back(), m = integers[integers.size() - 2];
      floats.push_back(next_float(x, y, n));
      integers.push_back(next_integer(n, m));
    }
    return floats.back();
  }

 private:
  static Expr half(const Expr& x) { return x * make_const_float(float_type(32), 0.5); }
  Expr next_float(const Expr& x, const Expr& y, const Expr& n) {
    switch (random_.between(0, 6)) {
      case 0:
        return half(x) + half(y);
      case 1:
        return half(call("tanh", {x})) + half(x);
      case 2:
        return max(x, half(x + y));
      case 3:
        return select(x < y, half(x), y);
      case 4:
        return if_then_else(condition(n), half(x), x - y);
      case 5: {
        const Expr at = floor_mod(n, Expr(12)) - 2;
        return if_then_else(at >= 0 && at < kLength, half(read_(at)) + x, x);
      }
      default:
        return half(read_(floor_mod(n, Expr(kLength)))) + half(x);
    }
  }
  Expr next_integer(const Expr& n, const Expr& m) {
    switch (random_.between(0, 3)) {
      case 0:
        return floor_mod(n + m, Expr(11));
      case 1:
        return max(n, m) - min(n, i_);
      case 2:
        return select(n < m, n, floor_div(m, Expr(3)));
      default:
        return floor_mod(n * 3 + n, Expr(13));
    }
  }
  Expr condition(const Expr& n) {
    return random_.chance(50) ? n > 3 || n < i_ : n >= 1 && floor_mod(n, Expr(5)) < i_;
  }

  Random& random_;
  Var i_;
  Read read_;
};

// The interpreter refuses reads outside the buffer, so that it sees what moved out of a condition.
TEST(SharedPartsFuzz, ValuesStay) {
  const Var i("i"), a = buffer_var("A", float_type(32));
  InterpreterBuffer values(float_type(32), kLength);
  for (int k = 0; k < kLength; ++k) values.set(k, {.type = float_type(32), .f = 0.1 * k - 0.3});
  InterpreterScope scope;
  scope.buffers[a] = &values;
  int bound = 0;
  test::FuzzCases cases(150, 0.9);
  while (cases.next()) {
    Random random(cases.seed());
    const Read read = [&](const Expr& at) {
      return make(Load{.type = float_type(32), .buffer = a, .index = at});
    };
    const Expr e = Graph(random, i, read).make(9);
    if (has_more_parts_than(e, 200'000)) {
      cases.refuse();
      continue;
    }
    const Expr once = bind_shared_parts(e, kMostParts);
    ASSERT_TRUE(once.defined());
    bound += is<Let>(once);
    // With Lets of its own, and again.
    const Expr twice = bind_shared_parts(once + once * once, kMostParts);
    CompiledExpr x(e, {i}, scope), y(once, {i}, scope), z(twice, {i}, scope);
    for (int64_t k = 0; k < kLength; ++k) {
      x.set(0, k);
      y.set(0, k);
      z.set(0, k);
      const auto value = static_cast<float>(x().f);
      ASSERT_EQ(static_cast<float>(y().f), value) << to_string(e) << "\n" << to_string(once);
      ASSERT_EQ(static_cast<float>(z().f), value + value * value) << to_string(twice);
    }
  }
  EXPECT_GT(bound, cases.cases() / 2);
}

te::Program deep_program(Random& random) {
  const te::Tensor a = te::placeholder({kLength}, float_type(32), "A");
  const te::Tensor b = te::compute(
      {kLength},
      [&](const std::vector<Var>& i) {
        return Graph(random, i[0], [&](const Expr& at) { return a(at); }).make(kDeep);
      },
      "B");
  return te::make_program({b});
}

// Machine code contracts products with sums, so it is compared with a tolerance.
void expect_machine_code(const test::ScheduleCase& c, const Target& target) {
  const te::Tensor& output = c.program.outputs[0];
  test::Array input({kLength}, std::vector<double>(kLength));
  const NDArray a = NDArray::empty({kLength}, float_type(32)),
                b = NDArray::empty({kLength}, float_type(32));
  for (size_t k = 0; k < kLength; ++k) {
    input.data[k] = 0.125 * static_cast<double>(k) - 0.25;
    static_cast<float*>(a.data())[k] = static_cast<float>(input.data[k]);
  }
  const std::vector<double> expected = test::run(output, {input}).data;
  const Kernel kernel = lower(c.schedule(), test::lower_arguments(c), target, {.name = "f"});
  compile({kernel}, target)->get_function("f").call({a, b});
  for (size_t k = 0; k < kLength; ++k) {
    EXPECT_NEAR(static_cast<const float*>(b.data())[k], expected[k],
                1e-4 * (1 + std::abs(expected[k])));
  }
}

// Every pass, the machine code and the definition agree on bodies of 2^60 paths; the text comes
// back, and the tuner has an opinion of them.
TEST(SharedPartsFuzz, DeepBodiesCompile) {
  const std::vector<test::ScheduleCheck> checks = test::lower_checks();
  const Target target = Target::host();
  test::FuzzCases cases(8, 0.7);
  while (cases.next()) {
    Random random(cases.seed());
    te::Program program;
    try {
      program = deep_program(random);
    } catch (const UserError&) {  // what is needed behind different conditions is not shared
      cases.refuse();
      continue;
    }
    const std::string text = te::to_text(program);
    EXPECT_EQ(te::to_text(te::parse_program(text)), text);
    EXPECT_GT(te::count_operations(program), kLength * kDeep / 4.0);
    test::ScheduleCase c{.program = program, .data_seed = cases.seed()};
    auto failure = test::failure_of(c, checks, cases);
    ASSERT_FALSE(failure.has_value()) << *failure << "\n" << text;
    expect_machine_code(c, target);
    const autotune::Task task = autotune::make_task(text, target, 2);
    c.trace = autotune::prior_schedule(task);
    EXPECT_NO_THROW(autotune::extract_features(task, c.trace));
    failure = test::failure_of(c, checks, cases);
    ASSERT_FALSE(failure.has_value()) << *failure << "\n" << text;
    expect_machine_code(c, target);
    EXPECT_FALSE(autotune::error_bound(program).program.outputs.empty());
  }
}

Expr deep(const Expr& leaf, const std::function<Expr(const Expr&)>& level) {
  Expr e = leaf;
  for (int k = 0; k < kDeep; ++k) e = level(e);
  return e;
}

// Library functions that take any expression.
TEST(SharedPartsFuzz, WalksOfDeepExpressions) {
  const Var x("x", float_type(32)), y("y", float_type(32));
  const auto level = [](const Expr& e) { return call("exp", {e}) + call("tanh", {e}); };
  const Expr a = deep(x, level), b = deep(x, level), c = deep(y, level);
  EXPECT_TRUE(equal(a, b));
  EXPECT_FALSE(equal(a, c));
  EXPECT_TRUE(equal(a, c, {.map_free_vars = true}));
  EXPECT_EQ(compare(a, b), 0);
  EXPECT_NE(compare(a, c), 0);
  EXPECT_TRUE(equal(substitute(a, VarMap{{x, y}}), c));
  EXPECT_TRUE(uses(a, x));
  EXPECT_FALSE(uses(a, y));
  EXPECT_EQ(free_vars(a).size(), 1);
  EXPECT_TRUE(is_pure(a));
  EXPECT_FALSE(loads_memory(a));
  EXPECT_TRUE(rewrite(a, [](const Expr&) { return Expr(); }).same_as(a));
  EXPECT_LT(to_string(a).size(), 10'000);
  EXPECT_TRUE(equal(parse_expr(to_string(a, {.declarations = true})),
                    bind_shared_parts(a, kMostParts), {.map_free_vars = true}));
}

TEST(SharedPartsFuzz, ArithmeticOfDeepExpressions) {
  const Var i("i"), j("j");
  const std::vector<std::function<Expr(const Expr&)>> levels = {
      [&](const Expr& e) { return floor_mod(e + e, Expr(7)); },
      [&](const Expr& e) { return floor_mod(e * 3 + floor_div(e, Expr(2)), Expr(11)); },
      [&](const Expr& e) { return max(e, e + j) - min(e, j); },
  };
  for (const auto& level : levels) {
    const Expr e = deep(i, level);
    SCOPED_TRACE(to_string(level(i)));
    Analyzer analyzer;
    analyzer.bind(i, Range{0, 8});
    analyzer.bind(j, Range{0, 5});
    EXPECT_TRUE(analyzer.simplify(e).defined());
    EXPECT_TRUE(analyzer.canonical_simplify(e).defined());
    analyzer.const_bound(e);
    analyzer.modular(e);
    analyzer.interval(e, {{i, Interval::of(Range{0, 8})}});
    linear_form(e, {i});
    deduce_bound(i, e < j, {{j, Interval::of(Range{0, 5})}});
  }
}

}  // namespace
}  // namespace tw
