// SPDX-License-Identifier: Apache-2.0
// The rules of rules.def, parsed once per process, and the matcher over them.
//
// A rule is a line of text,   pattern => replacement if guard   , where
//   x y z w u v   stand for any integer expression (the same letter for the same expression),
//   p q r         stand for any bool expression,
//   c0 … c7       stand for integer constants; what consists of constants only is folded, and a
//   rule
//                 whose folding overflows the expression's type does not apply,
//   //  %         are floor division and floor modulo; truncdiv, truncmod, min, max, select are
//   calls, least(x), greatest(x)   in guards, are the constant bounds of what x stands for,
//   nonzero(x)    in guards, holds where what x stands for is certainly not zero.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "ir/node.h"

namespace tw::arithmetic {

constexpr int kMaxVars = 9, kMaxConstants = 8;

// One node of a pattern, a replacement or a guard.
struct RuleNode {
  enum class Op : uint8_t { Var, Constant, Literal, Binary, Not, Select, Least, Greatest, Nonzero };
  Op op = Op::Literal;
  NodeKind kind = NodeKind::IntImm;  // of Binary, Not and Select; folded kind of constants too
  uint8_t index = 0;                 // of Var, Constant, Least, Greatest, Nonzero
  bool constant = false;             // consists of constants only
  bool boolean = false;
  int16_t a = -1, b = -1, c = -1;
  int64_t literal = 0;
};

struct Rule {
  std::string_view text;
  std::vector<RuleNode> nodes;
  int16_t pattern = -1, replacement = -1, guard = -1;
};

// What the letters of a rule stand for.
struct Bindings {
  std::array<const ExprBase*, kMaxVars> vars{};
  std::array<int64_t, kMaxConstants> constants{};
  uint8_t constants_seen = 0;
  DType type = int_type(32);  // of the integers in the rule
};

class RuleTable {
 public:
  static const RuleTable& get();

  const std::vector<Rule>& rules() const { return rules_; }

  // Calls f(rule, bindings) for rules whose pattern matches kind(a, b), in the order of the table,
  // until f returns true. `a` is the condition and b, c the values of a Select; Not has `a` only.
  template <class F>
  bool for_each_match(NodeKind kind, const ExprBase* a, const ExprBase* b, const ExprBase* c,
                      F&& f) const {
    const Root& root = roots_[static_cast<size_t>(kind)];
    for (size_t w = 0; w < root.rules.size() / 64 + (root.rules.size() % 64 != 0); ++w) {
      uint64_t candidates = root.first[static_cast<size_t>(a->kind)][w];
      if (b) candidates &= root.second[static_cast<size_t>(b->kind)][w];
      while (candidates != 0) {
        const Rule& rule =
            rules_[root.rules[w * 64 + static_cast<size_t>(__builtin_ctzll(candidates))]];
        candidates &= candidates - 1;
        Bindings bindings;
        if (match_root(rule, a, b, c, bindings) && f(rule, bindings)) return true;
      }
    }
    return false;
  }

 private:
  static constexpr size_t kWords = 2, kKinds = 32;
  using Mask = std::array<std::array<uint64_t, kWords>, kKinds>;
  struct Root {
    std::vector<uint16_t> rules;
    Mask first{}, second{};
  };

  RuleTable();
  static bool match_root(const Rule& rule, const ExprBase* a, const ExprBase* b, const ExprBase* c,
                         Bindings& bindings);

  std::vector<Rule> rules_;
  std::array<Root, kKinds> roots_;
};

// The value of a node made of constants: nothing when it overflows. `bound` gives the ConstBound of
// a letter, for guards; one that has a function `nonzero` of a letter may know more there.
template <class Bound>
std::optional<int64_t> fold(const Rule& rule, int node, const Bindings& bindings, Bound&& bound);

// Equality of structure, as equal() of ir/equal.h, quick on what integer expressions consist of.
bool same(const ExprBase* a, const ExprBase* b);
inline bool same(const Expr& a, const Expr& b) { return same(a.get(), b.get()); }

// The operands of a binary node.
struct Operands {
  const Expr& a;
  const Expr& b;
};
bool is_binary(NodeKind kind);
Operands operands(const ExprBase* e);

// ---------------------------------------------------------------------------------------------

template <class Bound>
std::optional<int64_t> fold(const Rule& rule, int node, const Bindings& bindings, Bound&& bound) {
  const RuleNode& n = rule.nodes[static_cast<size_t>(node)];
  switch (n.op) {
    case RuleNode::Op::Literal:
      return n.literal;
    case RuleNode::Op::Constant:
      return bindings.constants[n.index];
    case RuleNode::Op::Least:
      return bound(n.index).least;
    case RuleNode::Op::Greatest:
      return bound(n.index).greatest;
    case RuleNode::Op::Nonzero: {
      if constexpr (requires { bound.nonzero(n.index); }) {
        return bound.nonzero(n.index);
      } else {
        const ConstBound b = bound(n.index);
        return b.least > 0 || b.greatest < 0;
      }
    }
    case RuleNode::Op::Not: {
      auto a = fold(rule, n.a, bindings, bound);
      return a ? std::optional<int64_t>(!*a) : std::nullopt;
    }
    case RuleNode::Op::Binary: {
      auto a = fold(rule, n.a, bindings, bound);
      if (!a) return std::nullopt;
      if (n.kind == NodeKind::And && *a == 0) return 0;
      if (n.kind == NodeKind::Or && *a != 0) return 1;
      auto b = fold(rule, n.b, bindings, bound);
      if (!b) return std::nullopt;
      const auto infinite = [](int64_t v) {
        return v == ConstBound::kMin || v == ConstBound::kMax;
      };
      const bool compares = n.kind >= NodeKind::Min && n.kind <= NodeKind::Or;
      if (!compares && (infinite(*a) || infinite(*b))) return std::nullopt;
      return fold_integers(n.kind, int_type(64), *a, *b);
    }
    default:
      return std::nullopt;
  }
}

}  // namespace tw::arithmetic
