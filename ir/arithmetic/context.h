// SPDX-License-Identifier: Apache-2.0
// What an Analyzer knows and the analyses that share it; private to this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/arithmetic/analyzer.h"
#include "ir/arithmetic/rule_table.h"
#include "ir/expr.h"
#include "ir/node.h"
#include "ir/substitute.h"

namespace tw::arithmetic {

int64_t gcd(int64_t a, int64_t b);  // of magnitudes; gcd(0, b) == |b|
int64_t floor_remainder(int64_t a, int64_t b);
// Whether a signed integer type holds `value`.
bool fits(DType type, int64_t value);
// All values of an integer type or bool; kMin and kMax where they are not 64-bit signed integers.
ConstBound value_bound(DType type);

// Arithmetic on bounds; kMin and kMax absorb.
ConstBound unite(ConstBound a, ConstBound b);
ConstBound intersect(ConstBound a, ConstBound b);
ConstBound add(ConstBound a, ConstBound b);
ConstBound subtract(ConstBound a, ConstBound b);
ConstBound scale(ConstBound a, int64_t factor);
ConstBound multiply(ConstBound a, ConstBound b);
// For a divisor above zero.
ConstBound floor_divide(ConstBound a, int64_t divisor);

// A lossy cache from expressions (by identity, kept alive) to facts, of up to kMostSlots of them.
// Forgetting everything is one increment. It grows with use: most analyzers are asked one question,
// and setting up all slots would take them longer than the answer.
template <class T, size_t kMostSlots>
class FactCache {
 public:
  const T* find(const ExprBase* e) const {
    if (slots_.empty()) return nullptr;
    const Slot& s = slots_[slot(e)];
    return s.generation == generation_ && s.key.get() == e ? &s.value : nullptr;
  }
  void insert(const Expr& e, const T& value) {
    if (inserted_++ == slots_.size() && slots_.size() < kMostSlots) grow();
    Slot& s = slots_[slot(e.get())];
    s.key = e;
    s.value = value;
    s.generation = generation_;
  }
  void forget() { ++generation_; }

 private:
  struct Slot {
    Expr key;
    T value{};
    uint32_t generation = 0;
  };
  static constexpr size_t kFirstSlots = 8, kGrowth = 4;  // powers of two, as kMostSlots is

  size_t slot(const ExprBase* e) const {
    const auto bits = reinterpret_cast<uintptr_t>(e);
    return (bits >> 4 ^ bits >> 12) & (slots_.size() - 1);
  }
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_ = std::vector<Slot>(std::clamp(old.size() * kGrowth, kFirstSlots, kMostSlots));
    for (Slot& s : old) {
      if (s.generation == generation_) std::swap(slots_[slot(s.key.get())], s);
    }
  }

  std::vector<Slot> slots_;
  size_t inserted_ = 0;
  uint32_t generation_ = 1;
};

// A sum as written: coefficient * atom, …, + constant.
struct Term {
  Expr atom;
  int64_t coefficient = 1;
};
struct Sum {
  std::vector<Term> terms;
  int64_t constant = 0;
};

class Context {
 public:
  struct Knowledge {
    ConstBound bound;
    ModularFact modular;
    Expr value;            // the variable stands for this
    Expr least, greatest;  // symbolic ends of its range, where they are not constants
  };
  struct Fact {
    Expr expr;         // bool or integer, simplified
    ConstBound bound;  // of a bool: {0, 0} or {1, 1}
  };

  void bind(const Var& var, const Range& range);
  void bind(const Var& var, const Expr& value);
  // As bind, but uses of the variable stay: what is known of the value is known of it.
  void bind_bounds(const Var& var, const Expr& value);
  void assume(const Expr& condition);
  size_t num_facts() const { return facts_.size(); }
  void truncate_facts(size_t count);
  // Calls `yes` while the condition holds, then `no` while it does not. False, without a call,
  // inside of too many conditions: what stands in both sides of each is looked at anew in each.
  template <class Yes, class No>
  bool under_each(const Expr& condition, Yes yes, No no) {
    if (conditions_ == kMostConditions) return false;
    ++conditions_;
    const size_t mark = facts_.size();
    learn(condition, true);
    yes();
    truncate_facts(mark);
    learn(condition, false);
    no();
    truncate_facts(mark);
    --conditions_;
    return true;
  }

  Expr simplify(const Expr& e);
  Expr canonical_simplify(const Expr& e);
  ConstBound const_bound(const Expr& e);
  ModularFact modular(const Expr& e);
  bool can_prove(const Expr& condition);
  // Whether `e` is certainly not zero, so that it cancels as a divisor.
  bool is_nonzero(const Expr& e);

  // The simplified node over simplified operands. `hint` is a node over these very operands, given
  // back when nothing changes.
  Expr combine(NodeKind kind, const Expr& a, const Expr& b, const Expr* hint = nullptr);
  Expr combine_not(const Expr& a, const Expr* hint = nullptr);
  Expr combine_select(const Expr& condition, const Expr& t, const Expr& f,
                      const Expr* hint = nullptr);
  Expr constant(DType type, int64_t value) { return make_const(type, value); }

  // sum.cc
  // Cancels equal terms, and joins quotients with their remainders, between the operands of a sum
  // or difference. Undefined when there is nothing to do.
  Expr merge_terms(NodeKind kind, const Expr& a, const Expr& b);
  // a // divisor or a % divisor for a sum; undefined when nothing is gained.
  Expr divide_sum(NodeKind kind, const Expr& a, int64_t divisor);
  // The same for a divisor that is no constant: products that have it as a factor go out.
  Expr divide_products(NodeKind kind, const Expr& a, const Expr& divisor);
  // The sum of `sum` in the canonical form; undefined when a coefficient does not fit.
  Expr rebuild(const Sum& sum, DType type);
  // Compares terms of both sides; undefined when nothing is gained.
  Expr compare_sums(NodeKind kind, const Expr& a, const Expr& b);

  // canonical.cc
  // `e` as a flat sum of products, where that is shorter than the nested form; undefined otherwise.
  Expr expand(const Expr& e);

  // interval.cc
  Interval interval(const Expr& e, const IntervalMap& relaxed);

  // Bounds of `e` found by putting the symbolic ends of variables in their place.
  ConstBound symbolic_bound(const Expr& e);

 private:
  Expr simplify_node(const Expr& e);
  Expr simplify_call(const Call& op, const Expr& self);
  Expr combine_vectors(NodeKind kind, const Expr& a, const Expr& b);
  Expr apply_rules(NodeKind kind, const Expr& a, const Expr& b, const Expr& c);
  Expr replacement(const Rule& rule, int16_t node, const Bindings& bindings, DType wanted);
  Expr decide(const Expr& e);
  Expr extend_conjunction(NodeKind kind, const Expr& a, const Expr& b);
  bool holds(const Expr& condition);
  Expr without_factor(const Expr& product, const Expr& factor);
  Expr joined_dividend(const ExprBase* quotient, const ExprBase* remainder, int64_t m);

  ConstBound compute_bound(const ExprBase* e);
  ConstBound bound_from_facts(const ExprBase* e, ConstBound bound) const;
  ConstBound difference_bound(const Expr& a, const Expr& b);
  ModularFact compute_modular(const ExprBase* e);
  void forget();
  void add_difference_fact(const Expr& a, const Expr& b, ConstBound bound);
  void learn(const Expr& condition, bool truth);
  // That what an extent is made of, as the rounded-up quotient of a split, is not zero.
  void learn_at_least(const Expr& e, int64_t least);

  std::unordered_map<Var, Knowledge, IdentityHash, IdentityEqual> vars_;
  std::vector<Fact> facts_;
  FactCache<ConstBound, 512> bounds_;
  FactCache<ModularFact, 256> modulars_;  // of what stands in several places
  FactCache<Expr, 256> simplified_;
  int symbolic_vars_ = 0;  // variables with symbolic ends
  int depth_ = 0;
  static constexpr int kMostBoundSteps = 1024;
  int bound_depth_ = 0, bound_steps_ = 0;  // of const_bound
  static constexpr int kMostConditions = 8;
  int conditions_ = 0;  // of if_then_else, around what is looked at
  bool in_symbolic_ = false;
  friend class IntervalEvaluator;
};

// The atoms of a sum with their total coefficients, nested sums opened.
struct Leaf {
  const ExprBase* atom = nullptr;
  int64_t coefficient = 1;
};
constexpr size_t kMaxLeaves = 64;
struct Leaves {
  std::array<Leaf, kMaxLeaves> items;
  size_t size = 0;
  int64_t constant = 0;
  bool overflow = false;  // too many leaves, or a number out of range: the rest is missing
  void gather(const Expr& e, int64_t coefficient);
};

}  // namespace tw::arithmetic

namespace tw {
struct Analyzer::State {
  arithmetic::Context context;
};
}  // namespace tw
