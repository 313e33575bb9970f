// SPDX-License-Identifier: Apache-2.0
// Integer expressions of many levels whose parts stand in two places or more: 2^levels paths, which
// no analysis may follow. They are made of raw nodes, as expr.h would simplify some.
#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "ir/arithmetic/analyzer.h"
#include "ir/arithmetic/interval.h"
#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/interpret.h"
#include "ir/print.h"
#include "ir/visit.h"
#include "tests/support/fuzz.h"
#include "tests/support/random_ir.h"
#include "tests/support/test_producer.h"

namespace tw {
namespace {

using test::Random;
using Kind = NodeKind;

constexpr int kDeep = 40;

const Var kI("i"), kJ("j"), kN("n");

// e*e + e and the like, of random operations.
class Levels {
 public:
  explicit Levels(Random& random) : random_(random) {}

  Expr deep(int levels) {
    Expr e = kI;
    const bool equal_levels = random_.chance(50);
    const uint64_t seed = random_.bits();
    for (int k = 0; k < levels; ++k) {
      Random again(seed);
      Random& choices = equal_levels ? again : random_;
      e = level(choices, e);
    }
    return e;
  }

 private:
  static Expr operand(Random& random, const Expr& e) {
    switch (random.between(0, 9)) {
      case 0:
        return raw_binary(Kind::Mul, e, e);
      case 1:
        return raw_binary(Kind::Mul, e, kJ);
      case 2:
        return raw_binary(Kind::Add, e, kI);
      case 3:
        return raw_binary(Kind::FloorDiv, e, Expr(static_cast<int>(random.between(2, 9))));
      case 4:
        return raw_binary(Kind::FloorMod, e, random.chance(50) ? Expr(7) : Expr(kJ));
      case 5:
        return raw_binary(Kind::Mul, e, Expr(static_cast<int>(random.between(-3, 9))));
      case 6:
        return make(
            Cast{.type = int_type(32), .value = make(Cast{.type = int_type(16), .value = e})});
      case 7:
        return raw_binary(Kind::Max, e, kJ);
      default:
        return e;
    }
  }
  static Expr condition(Random& random, const Expr& e) {
    const Expr less = raw_binary(Kind::Less, operand(random, e), kJ);
    if (random.chance(60)) return less;
    return raw_binary(random.chance(50) ? Kind::And : Kind::Or, less,
                      raw_binary(Kind::LessEqual, kI, operand(random, e)));
  }
  static Expr level(Random& random, const Expr& e) {
    const Expr a = operand(random, e), b = operand(random, e);
    switch (random.between(0, 7)) {
      case 0:
        return raw_binary(Kind::Sub, a, b);
      case 1:
        return raw_binary(Kind::Mul, a, b);
      case 2:
        return raw_binary(random.chance(50) ? Kind::Min : Kind::Max, a, b);
      case 3:
        return make(Select{.condition = condition(random, e), .true_value = a, .false_value = b});
      case 4:
        return if_then_else(condition(random, e), a, b);
      default:
        return raw_binary(Kind::Add, a, b);
    }
  }
  Random& random_;
};

// Every question that ir/arithmetic and ir/equal.h answer of an integer expression.
void ask_everything(const Expr& e) {
  const auto below = [](const Expr& a, const Expr& b) { return raw_binary(Kind::Less, a, b); };
  const IntervalMap runs = {{kI, Interval::of(Range{0, 8})}};
  const Expr more = raw_binary(Kind::Add, e, kJ);
  Analyzer symbolic;
  symbolic.bind(kI, Range{0, kN});
  symbolic.bind(kJ, Range{0, kN});
  symbolic.simplify(e);
  Analyzer analyzer;
  analyzer.bind(kI, Range{0, 8});
  analyzer.bind(kJ, Range{0, 5});
  analyzer.simplify(e);
  analyzer.canonical_simplify(e);
  analyzer.const_bound(e);
  analyzer.modular(e);
  analyzer.interval(e, runs);
  analyzer.can_prove(below(e, more));
  analyzer.can_prove_equal(e, more);
  analyzer.can_prove_at_least(e, 3);
  {
    const auto scope = analyzer.assume(below(e, kJ));
    analyzer.simplify(more);
  }
  const Var value("value"), run("run");
  analyzer.bind(value, e);
  analyzer.bind(run, Range{0, e});
  analyzer.simplify(below(run, value));
  simplify(e);
  evaluate_interval(e, runs);
  unite(Interval::single(e), Interval::single(more));
  intersect(Interval{e, more}, Interval{more, e}).range();
  linear_form(e, {kI});
  linear_form(e, {kI, kJ});
  linear_form(raw_binary(Kind::Add, raw_binary(Kind::Mul, e, kN), kN), {kN});
  deduce_bound(kI, below(e, kJ), {{kJ, Interval::of(Range{0, 5})}});
  deduce_bound(kN, below(kN, e), runs);
  const Var buffer = buffer_var("B", int_type(32));
  const Stmt store = make(Store{.buffer = buffer, .value = e, .index = more});
  const Stmt guarded = make(IfThenElse{.condition = below(e, kJ), .then_case = store});
  const Stmt loop = make(For{.var = kI, .min = 0, .extent = 8, .body = guarded});
  simplify(loop);
  canonical_simplify(loop);
  EXPECT_TRUE(equal(loop, loop, {.map_free_vars = true}));
  EXPECT_EQ(structural_hash(loop), structural_hash(loop));
}

TEST(ArithmeticShared, LevelsOfEqualShape) {
  const auto binary = [](Kind kind, const Expr& a, const Expr& b) {
    return raw_binary(kind, a, b);
  };
  const std::vector<std::pair<const char*, std::function<Expr(const Expr&)>>> shapes = {
      {"e*e + e", [&](const Expr& e) { return binary(Kind::Add, binary(Kind::Mul, e, e), e); }},
      {"e + e", [&](const Expr& e) { return binary(Kind::Add, e, e); }},
      {"e - e*j", [&](const Expr& e) { return binary(Kind::Sub, e, binary(Kind::Mul, e, kJ)); }},
      {"e*e", [&](const Expr& e) { return binary(Kind::Mul, e, e); }},
      {"e // 3 * e + e % 5",
       [&](const Expr& e) {
         return binary(Kind::Add, binary(Kind::Mul, binary(Kind::FloorDiv, e, Expr(3)), e),
                       binary(Kind::FloorMod, e, Expr(5)));
       }},
      {"min(max(e, j)*e, max(e, i) + e)",
       [&](const Expr& e) {
         return binary(Kind::Min, binary(Kind::Mul, binary(Kind::Max, e, kJ), e),
                       binary(Kind::Add, binary(Kind::Max, e, kI), e));
       }},
      {"if_then_else(e < j, e*i, e + i)",
       [&](const Expr& e) {
         return if_then_else(binary(Kind::Less, e, kJ), binary(Kind::Mul, e, kI),
                             binary(Kind::Add, e, kI));
       }},
  };
  for (const auto& [text, level] : shapes) {
    SCOPED_TRACE(text);
    Expr e = kI;
    for (int k = 0; k < kDeep; ++k) e = level(e);
    ask_everything(e);
  }
}

TEST(ArithmeticShared, LevelsOfRandomShape) {
  test::FuzzCases cases(4, 1);
  while (cases.next()) {
    Random random(cases.seed());
    SCOPED_TRACE(cases.seed());
    ask_everything(Levels(random).deep(kDeep));
  }
}

// Where the values are still small enough to compare.
TEST(ArithmeticShared, ValuesStay) {
  int compared = 0;
  test::FuzzCases cases(300, 1);
  while (cases.next()) {
    Random random(cases.seed());
    const Expr e = Levels(random).deep(3);
    Analyzer analyzer;
    analyzer.bind(kI, Range{0, 8});
    analyzer.bind(kJ, Range{1, 4});
    bool overflows = false;
    for_each_part(e, [&](const Expr& part) {
      const ConstBound b = analyzer.const_bound(part);
      overflows |= b.least < -2'000'000'000 || b.greatest > 2'000'000'000;
    });
    if (overflows) continue;
    const ConstBound bound = analyzer.const_bound(e);
    const Expr simple = analyzer.simplify(e), canonical = analyzer.canonical_simplify(e);
    const auto form = linear_form(e, {kI});
    for (int64_t i = 0; i < 8; ++i) {
      for (int64_t j = 1; j < 5; ++j) {
        InterpreterScope scope;
        scope.values[kI] = {.type = int_type(32), .i = i};
        scope.values[kJ] = {.type = int_type(32), .i = j};
        const int64_t value = evaluate(e, scope).i;
        ASSERT_EQ(evaluate(simple, scope).i, value) << to_string(e) << "\n" << to_string(simple);
        ASSERT_EQ(evaluate(canonical, scope).i, value) << to_string(e);
        ASSERT_LE(bound.least, value) << to_string(e);
        ASSERT_GE(bound.greatest, value) << to_string(e);
        if (form) {
          ASSERT_EQ(evaluate(form->coefficients[0] * kI + form->constant, scope).i, value)
              << to_string(e);
        }
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 16 * cases.cases()) << "of 32 points a case";
}

// Two constants whose sum or product does not fit into 32 bits do not change places for ever.
TEST(ArithmeticShared, ConstantsThatDoNotFoldStay) {
  const Expr large(2'000'000'000);
  for (const Kind kind : {Kind::Mul, Kind::Add, Kind::Sub}) {
    const Expr inner = raw_binary(kind, kI, large);
    const Expr e = raw_binary(kind, raw_binary(kind, inner, large), raw_binary(kind, inner, large));
    EXPECT_TRUE(simplify(e).defined());
  }
  const Expr product = raw_binary(Kind::Mul, raw_binary(Kind::Mul, kI, large), large);
  EXPECT_TRUE(equal(simplify(product), product));
}

// The variable of a Let has other bounds under a condition than outside of it.
TEST(ArithmeticShared, ALetUnderAConditionIsNotTheLetOutside) {
  const Var v("v");
  const Expr let = make(Let{.var = v, .value = raw_binary(Kind::Add, kI, Expr(1)), .body = v});
  Analyzer analyzer;
  analyzer.bind(kI, Range{0, 100});
  const Expr inside = if_then_else(raw_binary(Kind::Less, kI, Expr(1)), let, Expr(5));
  EXPECT_FALSE(is_const(analyzer.simplify(raw_binary(Kind::LessEqual, let, inside))));
  EXPECT_EQ(analyzer.const_bound(let), (ConstBound{1, 100}));
}

// Large expressions are hashed part by part, whatever nodes they share.
TEST(ArithmeticShared, HashOfLargeExpressionsIsOfTheirStructure) {
  const auto leaf = [](const Var& x, const Var& y) {
    return make(Load{.type = int_type(32), .buffer = x, .index = raw_binary(Kind::Add, y, y)});
  };
  const auto tree = [&](const auto& self, const Var& x, const Var& y, int levels) -> Expr {
    if (levels == 0) return leaf(x, y);
    return raw_binary(Kind::Mul, self(self, x, y, levels - 1), self(self, x, y, levels - 1));
  };
  const auto graph = [&](const Var& x, const Var& y, int levels) {
    Expr e = leaf(x, y);
    for (int k = 0; k < levels; ++k) e = raw_binary(Kind::Mul, e, e);
    return e;
  };
  // Nodes of their own, or one that is shared, that load from the same producer.
  const DType type = int_type(32);
  const ProducerRef one = test::producer("P", {{type, {8}}}),
                    two = test::producer("P", {{type, {8}}, {float_type(64), {8}}});
  const auto loads = [](const auto& self, const ProducerRef& p, bool shared, int levels) -> Expr {
    if (levels == 0) return make(ProducerLoad{.producer = p, .indices = {0}});
    const Expr e = self(self, p, shared, levels - 1);
    return raw_binary(Kind::Mul, e, shared ? e : self(self, p, shared, levels - 1));
  };
  const auto hash = [&](const ProducerRef& p, bool shared) {
    return structural_hash(loads(loads, p, shared, 17));
  };
  EXPECT_EQ(hash(one, true), hash(one, false));
  EXPECT_NE(hash(one, true), hash(two, true));
  const Var a = buffer_var("A", int_type(32)), b = buffer_var("B", int_type(32)),
            c = buffer_var("C", int_type(64));
  for (const int levels : {10, 17}) {
    const Expr shared = graph(a, kI, levels);
    EXPECT_EQ(structural_hash(shared), structural_hash(tree(tree, b, kN, levels)));
    EXPECT_NE(structural_hash(shared), structural_hash(graph(c, kI, levels)));
    EXPECT_NE(structural_hash(shared), structural_hash(graph(a, kI, levels + 1)));
  }
}

}  // namespace
}  // namespace tw
