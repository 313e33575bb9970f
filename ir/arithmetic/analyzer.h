// SPDX-License-Identifier: Apache-2.0
// Integer reasoning in one place. An Analyzer knows domains of variables and facts that hold, and
// answers questions about integer expressions. It belongs to one compile and one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/arithmetic/interval.h"
#include "ir/node.h"
#include "ir/substitute.h"

namespace tw {

// least <= value <= greatest; kMin and kMax stand for "no bound".
struct ConstBound {
  static constexpr int64_t kMin = INT64_MIN, kMax = INT64_MAX;
  int64_t least = kMin, greatest = kMax;
  bool operator==(const ConstBound&) const = default;
};
// value == modulus * k + residue for some integer k. modulus 0: value is exactly residue;
// modulus 1: nothing is known.
struct ModularFact {
  int64_t modulus = 1, residue = 0;
  bool operator==(const ModularFact&) const = default;
};

class Analyzer {
 public:
  Analyzer();
  ~Analyzer();
  Analyzer(const Analyzer&) = delete;

  // What is known of a variable. A later binding of the same variable replaces the earlier.
  void bind(const Var& var, const Range& range);
  void bind(const Var& var, const Expr& value);
  // `condition` holds until the returned scope ends.
  class Scope;
  [[nodiscard]] Scope assume(const Expr& condition);

  // The simplest expression found that equals `e` wherever `e` is defined; integers and bools are
  // rewritten by the rules of rules.def, floats only where the value cannot change in any bit.
  Expr simplify(const Expr& e);
  // Normal form as a sum of products (canonical.h), then simplify: stronger on divisions and
  // moduli of affine expressions.
  Expr canonical_simplify(const Expr& e);

  ConstBound const_bound(const Expr& e);
  ModularFact modular(const Expr& e);
  // All values `e` takes while each variable of `relaxed` runs over its interval; other variables
  // stay symbolic.
  Interval interval(const Expr& e, const IntervalMap& relaxed);

  // True only when proven.
  bool can_prove(const Expr& condition);
  bool can_prove_equal(const Expr& a, const Expr& b);
  bool can_prove_at_least(const Expr& e, int64_t bound);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class Analyzer::Scope {
 public:
  Scope(Analyzer& analyzer, size_t depth) : analyzer_(&analyzer), depth_(depth) {}
  Scope(Scope&& other) noexcept;
  Scope& operator=(Scope&&) = delete;
  ~Scope();

 private:
  Analyzer* analyzer_;
  size_t depth_;
};

// With an empty analyzer.
Expr simplify(const Expr& e);
// Simplifies every expression of a statement under the loop ranges, conditions and lets around it.
Stmt simplify(const Stmt& s);
Stmt canonical_simplify(const Stmt& s);

}  // namespace tw
