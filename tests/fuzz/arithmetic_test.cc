// SPDX-License-Identifier: Apache-2.0
// The analyses of ir/arithmetic on random expressions and statements, against the interpreter.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <optional>
#include <vector>

#include "ir/arithmetic/analyzer.h"
#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/interpret.h"
#include "ir/print.h"
#include "runtime/error.h"
#include "tests/support/fuzz.h"
#include "tests/support/random_ir.h"

namespace tw {
namespace {

using test::fuzz_seed;
using test::FuzzCases;
using test::Random;
using test::RandomIr;
using test::RandomIrOptions;

// Some variables, each with a range that most questions need.
struct Domain {
  std::vector<Var> vars;
  std::vector<int64_t> least, greatest;

  Domain(Random& random, DType type, int count) {
    for (int k = 0; k < count; ++k) {
      vars.push_back(Var(std::string(1, "xyzwuv"[k]), type));
      const int64_t low = random.chance(60) ? 0 : random.between(-20, 20);
      least.push_back(low);
      greatest.push_back(low + random.between(0, random.chance(50) ? 4 : 40));
    }
  }
  Range range(size_t k) const {
    const DType t = vars[k].dtype();
    return {make_const(t, least[k]), make_const(t, greatest[k] - least[k] + 1)};
  }
  void bind(Analyzer& analyzer) const {
    for (size_t k = 0; k < vars.size(); ++k) analyzer.bind(vars[k], range(k));
  }
  InterpreterScope values(Random& random) const {
    InterpreterScope scope;
    for (size_t k = 0; k < vars.size(); ++k) {
      scope.values[vars[k]] = {.type = vars[k].dtype(), .i = random.between(least[k], greatest[k])};
    }
    return scope;
  }
};

std::optional<int64_t> value_of(const Expr& e, const InterpreterScope& scope) {
  return evaluate(e, scope).i;
}

// Sums, products, quotients and remainders as schedules make them: splits and fusions of axes.
class AffineIr {
 public:
  AffineIr(Random& random, const Domain& domain) : random_(random), domain_(domain) {}
  Expr expr(int depth) {
    const DType t = domain_.vars[0].dtype();
    const auto constant = [&](int64_t low, int64_t high) {
      return make_const(t, random_.between(low, high));
    };
    const auto raw = [&](auto node, const Expr& a, const Expr& b) {
      node.a = a;
      node.b = b;
      return make(std::move(node));
    };
    if (depth == 0) return random_.chance(85) ? Expr(random_.pick(domain_.vars)) : constant(-9, 9);
    if (depth >= 2 && random_.chance(8)) {
      // Products with, and division by, what is no constant.
      const Expr n = random_.pick(domain_.vars), a = expr(depth - 2);
      switch (random_.between(0, 3)) {
        case 0:
          return raw(Mul{}, a, n);
        case 1:
          return raw(FloorDiv{}, raw(Add{}, raw(Mul{}, a, n), expr(depth - 2)), n);
        case 2:
          return raw(FloorMod{}, raw(Add{}, expr(depth - 2), raw(Mul{}, n, a)), n);
        default:
          return raw(Add{}, raw(Mul{}, raw(FloorDiv{}, a, n), n), raw(FloorMod{}, a, n));
      }
    }
    switch (random_.between(0, 9)) {
      case 0:
      case 1:
      case 2:
        return raw(Add{}, expr(depth - 1), expr(depth - 1));
      case 3:
        return raw(Sub{}, expr(depth - 1), expr(depth - 1));
      case 4:
      case 5:
        return raw(Mul{}, expr(depth - 1), constant(random_.chance(80) ? 1 : -6, 12));
      case 6:
        return raw(FloorDiv{}, expr(depth - 1), constant(1, 12));
      case 7:
        return raw(FloorMod{}, expr(depth - 1), constant(1, 12));
      case 8: {
        // A split and its join.
        const Expr e = expr(depth - 1), c = constant(1, 9), k = constant(1, 5);
        const Expr quotient = raw(FloorDiv{}, e, c), rest = raw(FloorMod{}, e, c);
        return raw(Add{}, raw(Mul{}, quotient, floor_div(c * k, Expr(make_const(t, 1)))),
                   raw(Mul{}, rest, k));
      }
      default:
        return raw(Mul{}, raw(Add{}, expr(depth - 1), expr(depth - 1)), constant(1, 9));
    }
  }

 private:
  Random& random_;
  const Domain& domain_;
};

class ArithmeticFuzz : public ::testing::TestWithParam<int> {
 protected:
  Random random{fuzz_seed() * 1000 + static_cast<uint64_t>(GetParam())};

  Expr random_expr(const Domain& domain, bool boolean) {
    const DType type = domain.vars[0].dtype();
    if (!boolean && random.chance(50)) return AffineIr(random, domain).expr(4);
    RandomIr ir(random.bits(), domain.vars, {.casts = false});
    if (!boolean) return ir.expr(type, 4);
    const Expr a = random_expr(domain, false), b = random_expr(domain, false);
    switch (random.between(0, 4)) {
      case 0:
        return make(Less{.a = a, .b = b});
      case 1:
        return make(LessEqual{.a = a, .b = b});
      case 2:
        return make(Equal{.a = a, .b = b});
      case 3:
        return make(Less{.a = a, .b = make_const(type, random.between(-40, 200))});
      default: {
        RandomIr other(random.bits(), domain.vars, {.casts = false});
        return other.boolean(1, 4);
      }
    }
  }
  Domain domain() { return Domain(random, random.chance(80) ? int_type(32) : int_type(64), 4); }
};

TEST_P(ArithmeticFuzz, SimplifiedExpressionsKeepTheirValue) {
  FuzzCases cases(400, 1);
  while (cases.next()) {
    const Domain d = domain();
    Analyzer analyzer;
    d.bind(analyzer);
    const Expr e = random_expr(d, random.chance(40));
    const Expr simple = analyzer.simplify(e), canonical = analyzer.canonical_simplify(e);
    ASSERT_EQ(simple.dtype(), e.dtype());
    for (int k = 0; k < 20; ++k) {
      const InterpreterScope scope = d.values(random);
      const auto v = value_of(e, scope);
      if (!v) continue;
      ASSERT_EQ(v, value_of(simple, scope)) << to_string(e) << "\n" << to_string(simple);
      ASSERT_EQ(v, value_of(canonical, scope)) << to_string(e) << "\n" << to_string(canonical);
    }
  }
}

TEST_P(ArithmeticFuzz, VectorsKeepTheirValues) {
  FuzzCases cases(200, 1);
  while (cases.next()) {
    const Domain d = domain();
    Analyzer analyzer;
    d.bind(analyzer);
    RandomIr ir(random.bits(), d.vars, {.casts = false, .lanes = 4});
    const DType type = d.vars[0].dtype().with_lanes(4);
    const Expr e = random.chance(30) ? ir.boolean(3) : ir.expr(type, 3);
    const Expr simple = analyzer.simplify(e);
    const ConstBound bound = analyzer.const_bound(e);
    ASSERT_EQ(simple.dtype(), e.dtype());
    // One interval for every lane.
    const DType element = d.vars[0].dtype();
    const IntervalMap relaxed{
        {d.vars[0], {make_const(element, d.least[0]), make_const(element, d.greatest[0])}}};
    const Interval interval = analyzer.interval(e, relaxed);
    for (int k = 0; k < 10; ++k) {
      const InterpreterScope scope = d.values(random);
      if (interval.is_bounded()) {
        const int64_t low = evaluate(interval.least, scope).i,
                      high = evaluate(interval.greatest, scope).i;
        for (const Value& v : evaluate_lanes(e, scope)) {
          ASSERT_LE(low, v.i) << to_string(e);
          ASSERT_GE(high, v.i) << to_string(e);
        }
      }
      const auto a = evaluate_lanes(e, scope), b = evaluate_lanes(simple, scope);
      for (size_t lane = 0; lane < 4; ++lane) {
        ASSERT_EQ(a[lane].i, b[lane].i) << to_string(e) << "\n" << to_string(simple);
        ASSERT_LE(bound.least, a[lane].i) << to_string(e);
        ASSERT_GE(bound.greatest, a[lane].i) << to_string(e);
      }
    }
  }
}

// Ranges whose ends speak of other variables.
TEST_P(ArithmeticFuzz, SymbolicRangesKeepValues) {
  FuzzCases cases(200, 1);
  while (cases.next()) {
    Domain d(random, int_type(32), 3);
    d.least[0] = random.between(0, 3);
    d.greatest[0] = d.least[0] + random.between(0, 12);
    const Var &n = d.vars[0], &y = d.vars[1], &z = d.vars[2];
    const int64_t width = random.between(1, 6);
    Analyzer analyzer;
    analyzer.bind(n, d.range(0));
    analyzer.bind(y, Range{0, n + 1});
    analyzer.bind(z, Range{n * 2, make_const(int_type(32), width)});
    const int lanes = random.chance(50) ? 1 : 4;
    RandomIr ir(random.bits(), d.vars, {.casts = false, .lanes = lanes});
    Expr e = random.chance(60) ? ir.boolean(3) : ir.expr(int_type(32, lanes), 3);
    if (lanes == 1 && random.chance(50)) {
      const auto side = [&] { return AffineIr(random, d).expr(3); };
      e = random.chance(50) ? make(Less{.a = side(), .b = side()})
                            : make(Min{.a = side(), .b = side()});
    }
    const Expr simple = analyzer.simplify(e);
    const bool proven = e.dtype().is_bool() && analyzer.can_prove(e);
    for (int k = 0; k < 20; ++k) {
      InterpreterScope scope = d.values(random);
      const int64_t extent = scope.values[n].i;
      scope.values[y].i = random.between(0, extent);
      scope.values[z].i = extent * 2 + random.between(0, width - 1);
      const auto a = evaluate_lanes(e, scope), b = evaluate_lanes(simple, scope);
      for (size_t lane = 0; lane < a.size(); ++lane) {
        ASSERT_EQ(a[lane].i, b[lane].i) << to_string(e) << "\n" << to_string(simple);
        if (proven) ASSERT_EQ(1, a[lane].i) << to_string(e);
      }
    }
  }
}

// Casts wrap, and so does unsigned arithmetic; both meet signed arithmetic that does neither.
TEST_P(ArithmeticFuzz, WrappingKeepsItsValue) {
  const std::vector<DType> types{int_type(8),  int_type(16),  int_type(32), int_type(64),
                                 uint_type(8), uint_type(16), uint_type(32)};
  FuzzCases cases(400, 1);
  while (cases.next()) {
    const Domain d(random, int_type(64), 3);
    Analyzer analyzer;
    d.bind(analyzer);
    const auto cast_to = [](DType t, const Expr& e) { return make(Cast{.type = t, .value = e}); };
    const auto grow = [&](const auto& self, int depth) -> Expr {
      if (depth == 0) return random_expr(d, false);
      const DType t = random.pick(types);
      const Expr a = cast_to(t, self(self, depth - 1));
      if (t.is_int()) return cast_to(int_type(64), a);
      const Expr b = random.chance(50) ? cast_to(t, self(self, depth - 1))
                                       : make_const(t, random.between(1, 250));
      const NodeKind kind = random.pick<NodeKind>(
          {NodeKind::Add, NodeKind::Sub, NodeKind::Mul, NodeKind::Min, NodeKind::Max,
           NodeKind::FloorDiv, NodeKind::FloorMod, NodeKind::Div, NodeKind::Mod, NodeKind::Less,
           NodeKind::LessEqual, NodeKind::Equal});
      if (kind >= NodeKind::Div && kind <= NodeKind::FloorMod && !is_const(b))
        return cast_to(int_type(64), a);
      return cast_to(int_type(64), make_binary(kind, a, b));
    };
    Expr e = make(Add{.a = grow(grow, 2), .b = random_expr(d, false)});
    if (random.chance(30)) e = make(LessEqual{.a = e, .b = grow(grow, 1)});
    const Expr simple = analyzer.simplify(e);
    const ConstBound bound = analyzer.const_bound(e);
    for (int k = 0; k < 10; ++k) {
      const InterpreterScope scope = d.values(random);
      const auto v = value_of(e, scope);
      if (!v) continue;
      ASSERT_EQ(v, value_of(simple, scope)) << to_string(e) << "\n" << to_string(simple);
      ASSERT_LE(bound.least, *v) << to_string(e);
      ASSERT_GE(bound.greatest, *v) << to_string(e);
    }
  }
}

TEST_P(ArithmeticFuzz, FloatsKeepEveryBit) {
  FuzzCases cases(200, 1);
  while (cases.next()) {
    Domain d = domain();
    Analyzer analyzer;
    d.bind(analyzer);
    std::vector<Var> vars = d.vars;
    const DType type = float_type(random.chance(50) ? 32 : 64);
    const std::vector<Var> floats{Var("a", type), Var("b", type)};
    vars.insert(vars.end(), floats.begin(), floats.end());
    const Expr e = RandomIr(random.bits(), vars, {.casts = false}).floating(type, 5);
    const Expr simple = analyzer.simplify(e);
    for (int k = 0; k < 10; ++k) {
      InterpreterScope scope = d.values(random);
      for (const Var& v : floats) {
        const double special[] = {0.0, -0.0, INFINITY, NAN, 0x1p-149};
        scope.values[v] = {.type = type,
                           .f = random.chance(40)
                                    ? special[random.between(0, 4)]
                                    : static_cast<double>(random.between(-64, 64)) / 8.0};
      }
      const double v = evaluate(e, scope).f, w = evaluate(simple, scope).f;
      if (std::isnan(v)) {
        ASSERT_TRUE(std::isnan(w)) << to_string(e) << "\n" << to_string(simple);
      } else {
        ASSERT_EQ(std::bit_cast<uint64_t>(v), std::bit_cast<uint64_t>(w)) << to_string(e) << "\n"
                                                                          << to_string(simple);
      }
    }
  }
}

TEST_P(ArithmeticFuzz, SimplifyingTwiceIsSimplifyingOnce) {
  int different = 0;
  FuzzCases cases(300, 1);
  while (cases.next()) {
    const Domain d = domain();
    Analyzer analyzer;
    d.bind(analyzer);
    const Expr e = AffineIr(random, d).expr(4);
    const Expr once = analyzer.simplify(e), twice = analyzer.simplify(once);
    different += !equal(once, twice);
  }
  EXPECT_LE(different, cases.cases() / 50);
}

TEST_P(ArithmeticFuzz, BoundsAndModularFactsHold) {
  FuzzCases cases(400, 1);
  while (cases.next()) {
    const Domain d = domain();
    Analyzer analyzer;
    d.bind(analyzer);
    const Expr e = random_expr(d, false);
    const ConstBound bound = analyzer.const_bound(e);
    const ModularFact fact = analyzer.modular(e);
    for (int k = 0; k < 20; ++k) {
      const auto v = value_of(e, d.values(random));
      if (!v) continue;
      ASSERT_LE(bound.least, *v) << to_string(e);
      ASSERT_GE(bound.greatest, *v) << to_string(e);
      if (fact.modulus == 0) {
        ASSERT_EQ(fact.residue, *v) << to_string(e);
      } else {
        ASSERT_EQ(0, (*v - fact.residue) % fact.modulus) << to_string(e);
      }
    }
  }
}

TEST_P(ArithmeticFuzz, IntervalsHoldEveryValue) {
  FuzzCases cases(400, 1);
  while (cases.next()) {
    const Domain d = domain();
    // Some variables run over intervals whose ends speak of the others.
    const size_t free = static_cast<size_t>(random.between(1, 2));
    IntervalMap relaxed;
    std::vector<Expr> lows(d.vars.size()), highs(d.vars.size());
    const Domain outer = [&] {
      Domain o = d;
      o.vars.resize(free);
      return o;
    }();
    for (size_t k = free; k < d.vars.size(); ++k) {
      const Expr low = random.chance(50) ? AffineIr(random, outer).expr(1)
                                         : make_const(d.vars[k].dtype(), d.least[k]);
      const Expr high = low + make_const(d.vars[k].dtype(), random.between(0, 7));
      lows[k] = low;
      highs[k] = high;
      relaxed[d.vars[k]] = {low, high};
    }
    const Expr e = random_expr(d, random.chance(20));
    const Interval interval = evaluate_interval(e, relaxed);
    for (int t = 0; t < 20; ++t) {
      InterpreterScope scope = d.values(random);
      for (size_t k = free; k < d.vars.size(); ++k) {
        const int64_t low = *value_of(lows[k], scope), high = *value_of(highs[k], scope);
        scope.values[d.vars[k]].i = random.between(low, high);
      }
      const auto v = value_of(e, scope);
      if (!v) continue;
      if (interval.least.defined()) {
        const auto low = value_of(interval.least, scope);
        if (low) ASSERT_LE(*low, *v) << to_string(e) << "\n" << to_string(interval.least);
      }
      if (interval.greatest.defined()) {
        const auto high = value_of(interval.greatest, scope);
        if (high) ASSERT_GE(*high, *v) << to_string(e) << "\n" << to_string(interval.greatest);
      }
    }
  }
}

TEST_P(ArithmeticFuzz, SimplifiedUnderFactsKeepsItsValueWhereTheyHold) {
  FuzzCases cases(400, 0.5);
  while (cases.next()) {
    const Domain d = domain();
    Analyzer analyzer;
    if (random.chance(50)) d.bind(analyzer);
    const Expr fact = random_expr(d, true), e = random_expr(d, random.chance(50));
    Expr simple;
    {
      const auto scope = analyzer.assume(fact);
      simple = analyzer.simplify(e);
    }
    const Expr after = analyzer.simplify(e);
    bool ever = false;
    for (int k = 0; k < 40; ++k) {
      const InterpreterScope scope = d.values(random);
      const auto holds = value_of(fact, scope), v = value_of(e, scope);
      if (!v) continue;
      ASSERT_EQ(v, value_of(after, scope)) << to_string(e) << "\n" << to_string(after);
      if (holds != 1) continue;
      ever = true;
      ASSERT_EQ(v, value_of(simple, scope)) << to_string(e) << "\nunder " << to_string(fact) << "\n"
                                            << to_string(simple);
    }
    if (!ever) cases.refuse();
  }
}

TEST_P(ArithmeticFuzz, DeducedBoundsMakeTheConditionHold) {
  FuzzCases cases(600, 0.2);
  while (cases.next()) {
    const Domain d = domain();
    const Var& v = d.vars[0];
    const DType t = v.dtype();
    const auto side = [&]() -> Expr {
      Expr e = AffineIr(random, d).expr(2);
      return random.chance(50) ? e + v * make_const(t, random.between(-5, 5))
                               : floor_div(e + v, make_const(t, random.between(1, 6)));
    };
    Expr condition = random.chance(50) ? side() < side() : side() <= side();
    if (random.chance(30))
      condition = likely(condition) && (v < make_const(t, random.between(-5, 30)));
    if (is_const(condition)) {
      cases.refuse();
      continue;
    }
    IntervalMap relaxed;
    for (size_t k = 1; k < 3; ++k) {
      relaxed[d.vars[k]] = {make_const(t, d.least[k]), make_const(t, d.greatest[k])};
    }
    const auto bound = deduce_bound(v, condition, relaxed);
    if (!bound) {
      cases.refuse();
      continue;
    }
    for (int k = 0; k < 40; ++k) {
      InterpreterScope scope = d.values(random);
      const auto low = bound->least.defined() ? value_of(bound->least, scope) : -60;
      const auto high =
          bound->greatest.defined() ? value_of(bound->greatest, scope) : low.value_or(0) + 60;
      if (!low || !high) continue;
      const int64_t first = bound->least.defined() ? *low : *high - 60;
      if (first > *high) continue;
      scope.values[v].i = random.chance(30)   ? first
                          : random.chance(50) ? *high
                                              : random.between(first, *high);
      const auto truth = value_of(condition, scope);
      if (truth)
        ASSERT_EQ(1, *truth) << to_string(condition) << " with " << v.name() << " = "
                             << scope.values[v].i;
    }
  }
}

TEST_P(ArithmeticFuzz, SimplifiedStatementsComputeTheSame) {
  FuzzCases cases(60, 1);
  while (cases.next()) {
    const Var output = buffer_var("output", random.chance(50) ? float_type(32) : int_type(64));
    const int64_t size = random.between(1, 12);
    RandomIr ir(random.bits(), {}, {.constant_limit = 9, .casts = false});
    const Stmt s = ir.statement(output, size, 3);
    const Stmt simple = simplify(s), canonical = canonical_simplify(s);
    const auto run = [&](const Stmt& stmt) -> std::optional<std::vector<char>> {
      InterpreterBuffer memory(output->element, size);
      InterpreterScope scope;
      scope.buffers[output] = &memory;
      try {
        interpret(stmt, scope);
      } catch (const UserError&) {
        return std::nullopt;
      }
      std::vector<char> bytes(static_cast<size_t>(size) * 8);
      memory.copy_to(bytes.data());
      return bytes;
    };
    const auto expected = run(s);
    if (!expected) {
      cases.refuse();
      continue;
    }
    ASSERT_EQ(expected, run(simple)) << to_string(s) << "\n" << to_string(simple);
    ASSERT_EQ(expected, run(canonical)) << to_string(s) << "\n" << to_string(canonical);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ArithmeticFuzz, ::testing::Range(0, 8));

}  // namespace
}  // namespace tw
