// SPDX-License-Identifier: Apache-2.0
// Every row of ir/arithmetic/rules.def, instantiated with random constants and variables that its
// guard admits, against the interpreter.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "ir/arithmetic/analyzer.h"
#include "ir/arithmetic/rule_table.h"
#include "ir/expr.h"
#include "ir/interpret.h"
#include "ir/print.h"
#include "runtime/error.h"
#include "tests/support/fuzz.h"
#include "tests/support/random_ir.h"

namespace tw::arithmetic {
namespace {

using test::Random;
using Op = RuleNode::Op;

struct Instance {
  Bindings bindings;
  const std::array<Var, kMaxVars>& vars;
  std::array<ConstBound, kMaxVars> ranges;
};

const std::array<Var, kMaxVars>& letters() {
  static const std::array<Var, kMaxVars> vars = [] {
    std::array<Var, kMaxVars> list;
    for (size_t k = 0; k < kMaxVars; ++k) {
      list[k] = Var(std::string(1, "xyzwuvpqr"[k]), k >= 6 ? bool_type() : int_type(32));
    }
    return list;
  }();
  return vars;
}

Instance make_instance(Random& random) {
  Instance instance{.vars = letters()};
  const int64_t limit = random.chance(50) ? 4 : 16;
  for (int64_t& c : instance.bindings.constants) c = random.between(-limit, limit);
  for (size_t k = 0; k < kMaxVars; ++k) {
    const bool boolean = k >= 6;
    instance.bindings.vars[k] = instance.vars[k].get();
    const int64_t least = boolean ? 0 : random.chance(40) ? 0 : random.between(-16, 16);
    instance.ranges[k] = {least,
                          boolean ? 1 : least + random.between(0, random.chance(50) ? 3 : 24)};
  }
  return instance;
}

// One side of a rule as an expression without any folding but that of constants.
Expr build(const Rule& rule, int node, const Instance& instance, DType wanted) {
  const RuleNode& n = rule.nodes[static_cast<size_t>(node)];
  if (n.constant) {
    auto v = fold(rule, node, instance.bindings, [](int) { return ConstBound{}; });
    return v ? make_const(wanted, *v) : Expr();
  }
  switch (n.op) {
    case Op::Var:
      return instance.vars[n.index];
    case Op::Not: {
      const Expr a = build(rule, n.a, instance, bool_type());
      return a.defined() ? make(Not{.a = a}) : Expr();
    }
    case Op::Select: {
      const Expr p = build(rule, n.a, instance, bool_type());
      const Expr t = build(rule, n.b, instance, wanted), f = build(rule, n.c, instance, wanted);
      if (!p.defined() || !t.defined() || !f.defined()) return {};
      return make(Select{.condition = p, .true_value = t, .false_value = f});
    }
    default: {
      const bool logical = n.kind == NodeKind::And || n.kind == NodeKind::Or;
      const DType operand = logical ? bool_type() : int_type(32);
      const Expr a = build(rule, n.a, instance, operand), b = build(rule, n.b, instance, operand);
      return a.defined() && b.defined() ? raw_binary(n.kind, a, b) : Expr();
    }
  }
}

DType type_of(const Rule& rule) {
  return rule.nodes[static_cast<size_t>(rule.pattern)].boolean ? bool_type() : int_type(32);
}

std::optional<int64_t> value_of(const Expr& e, const InterpreterScope& scope) {
  return evaluate(e, scope).i;
}

InterpreterScope random_values(const Instance& instance, Random& random) {
  InterpreterScope scope;
  for (size_t k = 0; k < kMaxVars; ++k) {
    const ConstBound& r = instance.ranges[k];
    scope.values[instance.vars[k]] = {.type = instance.vars[k].dtype(),
                                      .i = random.between(r.least, r.greatest)};
  }
  return scope;
}

class RuleFuzz : public ::testing::Test {
 protected:
  // Calls f(instance) until it says that there was something to compare, for instances that the
  // guard admits; false when there is none.
  template <class F>
  bool instance(const Rule& rule, Random& random, F&& f) {
    for (int attempt = 0; attempt < 100000; ++attempt) {
      const Instance instance = make_instance(random);
      if (rule.guard >= 0) {
        auto holds = fold(rule, rule.guard, instance.bindings,
                          [&](int letter) { return instance.ranges[static_cast<size_t>(letter)]; });
        if (!holds || *holds == 0) continue;
      }
      if (f(instance)) return true;
    }
    ADD_FAILURE() << "too few instances of " << rule.text;
    return false;
  }

  // Calls f(rule, instance) for `base` instances of each rule, at scale 1. None may be missing.
  template <class F>
  void instances(int base, Random& random, F&& f) {
    const std::vector<Rule>& rules = RuleTable::get().rules();
    test::FuzzCases cases(base * static_cast<int>(rules.size()), 1);
    while (!HasFailure() && cases.next()) {
      const Rule& rule = rules[static_cast<size_t>(cases.index()) % rules.size()];
      if (!instance(rule, random, [&](const Instance& i) { return f(rule, i); })) cases.refuse();
    }
  }
};

TEST_F(RuleFuzz, EveryRowHoldsForEveryValue) {
  Random random(test::fuzz_seed() + 7);
  instances(40, random, [&](const Rule& rule, const Instance& instance) {
    const Expr left = build(rule, rule.pattern, instance, type_of(rule));
    const Expr right = build(rule, rule.replacement, instance, type_of(rule));
    if (!left.defined() || !right.defined()) return false;
    bool compared = false;
    for (int k = 0; k < 12; ++k) {
      const InterpreterScope scope = random_values(instance, random);
      const auto l = value_of(left, scope);
      if (!l) continue;  // undefined: anything may come out
      const auto r = value_of(right, scope);
      compared = true;
      EXPECT_EQ(l, r) << rule.text << "\n" << to_string(left) << "\n" << to_string(right);
      if (l != r) return true;
    }
    return compared;
  });
}

// The matcher finds what the row says, and the simplifier with all rows together is right about it.
TEST_F(RuleFuzz, SimplifiedInstancesKeepTheirValue) {
  Random random(test::fuzz_seed() + 11);
  instances(20, random, [&](const Rule& rule, const Instance& instance) {
    const Expr left = build(rule, rule.pattern, instance, type_of(rule));
    if (!left.defined()) return false;
    Analyzer analyzer;
    for (size_t k = 0; k < 6; ++k) {
      const ConstBound& r = instance.ranges[k];
      analyzer.bind(instance.vars[k], Range{make_const(int_type(32), r.least),
                                            make_const(int_type(32), r.greatest - r.least + 1)});
    }
    const Expr simple = analyzer.simplify(left);
    bool compared = false;
    for (int k = 0; k < 12; ++k) {
      const InterpreterScope scope = random_values(instance, random);
      const auto l = value_of(left, scope);
      if (!l) continue;
      compared = true;
      const auto r = value_of(simple, scope);
      EXPECT_EQ(l, r) << rule.text << "\n" << to_string(left) << "\n" << to_string(simple);
      if (l != r) return true;
    }
    return compared;
  });
}

// A row whose pattern no simplified expression can have, or that an earlier row shadows, is dead
// text.
TEST_F(RuleFuzz, EveryRowMatchesItsOwnPattern) {
  Random random(test::fuzz_seed() + 13);
  for (const Rule& rule : RuleTable::get().rules()) {
    bool matched = false;
    instance(rule, random, [&](const Instance& instance) {
      const Expr left = build(rule, rule.pattern, instance, type_of(rule));
      if (!left.defined()) return false;
      const ExprBase *a = nullptr, *b = nullptr, *c = nullptr;
      if (is_binary(left->kind)) {
        a = operands(left.get()).a.get();
        b = operands(left.get()).b.get();
      } else if (const Select* s = as<Select>(left)) {
        a = s->condition.get();
        b = s->true_value.get();
        c = s->false_value.get();
      } else {
        a = as<Not>(left)->a.get();
      }
      RuleTable::get().for_each_match(left->kind, a, b, c, [&](const Rule& found, const Bindings&) {
        matched |= &found == &rule;
        return matched;
      });
      return true;
    });
    EXPECT_TRUE(matched) << rule.text;
  }
}

}  // namespace
}  // namespace tw::arithmetic
