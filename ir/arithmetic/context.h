// SPDX-License-Identifier: Apache-2.0
// What an Analyzer knows and the analyses that share it; private to this folder.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
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

// Facts of expressions (by identity, kept alive). Forgetting everything is one increment. It grows
// with use, as most analyzers are asked one question, and never beyond kMostSlots: it then begins
// anew, so that what stands in several places of expressions below that size is looked at once.
template <class T>
class FactCache {
 public:
  const T* find(const ExprBase* e) const {
    if (slots_.empty()) return nullptr;
    const Slot& s = slots_[place_of(e)];
    return s.generation == generation_ ? &s.value : nullptr;
  }
  void insert(const Expr& e, const T& value) {
    if (2 * (live_ + 1) > slots_.size()) grow();
    Slot& s = slots_[place_of(e.get())];
    live_ += s.generation != generation_;
    s.key = e;
    s.value = value;
    s.generation = generation_;
  }
  void forget() {
    ++generation_;
    live_ = 0;
  }

 private:
  struct Slot {
    Expr key;
    T value{};
    uint32_t generation = 0;  // free unless it is the cache's
  };
  static constexpr size_t kFirstSlots = 8, kGrowth = 4, kMostSlots = size_t{1} << 15;

  // The slot of `e`, or the free one where it belongs; half of them are free.
  size_t place_of(const ExprBase* e) const {
    const auto bits = reinterpret_cast<uintptr_t>(e);
    size_t at = bits >> 4 ^ bits >> 12;
    for (;; ++at) {
      const Slot& s = slots_[at & (slots_.size() - 1)];
      if (s.generation != generation_ || s.key.get() == e) return at & (slots_.size() - 1);
    }
  }
  void grow() {
    if (slots_.size() >= kMostSlots) return forget();
    std::vector<Slot> old = std::move(slots_);
    slots_ = std::vector<Slot>(std::max(old.size() * kGrowth, kFirstSlots));
    for (Slot& s : old) {
      if (s.generation == generation_) std::swap(slots_[place_of(s.key.get())], s);
    }
  }

  std::vector<Slot> slots_;
  size_t live_ = 0;
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
    Expr let;              // of a Let: the value that the bounds are of,
    uint64_t epoch = 0;    // and the memory under which they were found
  };
  struct Fact {
    Expr expr;         // bool or integer, simplified
    ConstBound bound;  // of a bool: {0, 0} or {1, 1}
  };

  void bind(const Var& var, const Range& range);
  void bind(const Var& var, const Expr& value);
  // As bind, but uses of the variable stay: what is known of the value is known of it.
  void bind_bounds(const Var& var, const Expr& value);
  // The same for a Let, whose body is looked at next. It costs nothing again under the same facts.
  void bind_let(const Var& var, const Expr& value);
  void assume(const Expr& condition);
  size_t num_facts() const { return facts_.size(); }
  void truncate_facts(size_t count);
  // Calls `yes` while the condition holds, then `no` while it does not. False, without a call,
  // inside of too many conditions: what stands in both sides of each is looked at anew in each.
  template <class Yes, class No>
  bool under_each(const Expr& condition, Yes yes, No no) {
    if (conditions_ == 0) conditions_left_ = kMostConditionsInside;
    if (conditions_ == kMostConditions || --conditions_left_ < 0) return false;
    ++conditions_;
    under(condition, true, yes);
    under(condition, false, no);
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
  // What is known outside of the condition is known again after it.
  template <class F>
  void under(const Expr& condition, bool truth, F f) {
    const size_t mark = facts_.size();
    Memory outside = std::exchange(memory_, Memory{.epoch = ++epochs_});
    learn(condition, truth);
    f();
    truncate_facts(mark);
    memory_ = std::move(outside);
  }
  // That what an extent is made of, as the rounded-up quotient of a split, is not zero.
  void learn_at_least(const Expr& e, int64_t least);

  std::unordered_map<Var, Knowledge, IdentityHash, IdentityEqual> vars_;
  std::vector<Fact> facts_;
  struct Memory {
    uint64_t epoch = 0;  // a number of its own after each change of what is known
    FactCache<ConstBound> bounds;
    FactCache<ModularFact> modulars;  // of what stands in several places
    FactCache<Expr> simplified;
  };
  Memory memory_;
  uint64_t epochs_ = 0;
  int symbolic_vars_ = 0;  // variables with symbolic ends
  int depth_ = 0;          // of rewriting, which for some operands does not get to an end
  static constexpr int kMostCombinations = 2048;
  int combinations_left_ = kMostCombinations;  // for a node and what its rewriting leads to
  static constexpr int kMostBoundSteps = 1024;
  int bound_depth_ = 0, bound_steps_ = 0;  // of const_bound
  static constexpr int kMostConditions = 8, kMostConditionsInside = 16;
  int conditions_ = 0;       // of if_then_else, around what is looked at
  int conditions_left_ = 0;  // that may be looked into inside of the outermost
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
