// SPDX-License-Identifier: Apache-2.0
// loop_partition: a loop with conditions marked likely(…) is cut where they are certain to hold, so
// that the main part runs without them.
//
// before:                                       after:
//   for (y, 0, ((n + 7)/8)) {                     for (y, 0, (n/8)) {
//     for (x, 0, 8) {                               for (x, 0, 8) {
//       if (likely((((y*8) + x) < n))) {              A[((y*8) + x)] = 0
//         A[((y*8) + x)] = 0                        }
//       }                                         }
//     }                                           for (y, 0, (((n + 7)/8) - (n/8))) {
//   }                                               …as before, with y + n/8 for y
//                                                 }
//
// Loops of constant extent stay whole unless partition_const_loop; parallel and vectorized loops
// always do. Inside each part the remaining conditions cut the loops further in, as long as the
// number of statements stays within a fixed multiple of what it was. Where a condition fails for
// all of a part, what it guards is not written again: of two loops over y*12 + x < 29 the inner one
// ends at 29 - y*12 then, and asks nothing. Loops of constant extent are cut at one condition after
// the other until none is left that says where it holds: of i >= 3, of i < 97, of i == 5, of i != 7
// and of i == 0 || j == 59; and, of i == j in tiles, around the tile on the diagonal. A condition
// that is left and does not depend on its loop goes in front of it: it is asked once, and the loop
// is one to see.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "ir/changes.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "lower/conditions.h"
#include "lower/passes.h"
#include "lower/scoped_mutator.h"

namespace tw::pass {
namespace {

// Copies of statements, relative to the kernel before; and statements that are few whatever it was.
constexpr int kMaxGrowth = 8;
constexpr int kFewLeaves = 32;

int count_leaves(const Stmt& root) {
  int n = 0;
  for_each_stmt(root, [&](const Stmt& s) { n += is<Store>(s) || is<Evaluate>(s); });
  return n;
}

// likely(a && b) as likely(a) && likely(b), the same of ||, and equality as two conditions that
// each hold from a point on: such are cut one by one.
Stmt taken_apart(const Stmt& root) {
  const auto whole = [](const Expr& e) {
    return e.dtype().is_integer() && !e.dtype().is_vector() && !e.dtype().is_bool();
  };
  const std::function<Expr(const Expr&)> apart = [&](const Expr& e) -> Expr {
    if (const And* both = as<And>(e)) return apart(both->a) && apart(both->b);
    if (const Or* either = as<Or>(e)) return apart(either->a) || apart(either->b);
    if (const Equal* n = as<Equal>(e); n && whole(n->a))
      return likely(n->a >= n->b) && likely(n->a <= n->b);
    if (const NotEqual* n = as<NotEqual>(e); n && whole(n->a))
      return likely(n->a < n->b) || likely(n->a > n->b);
    return likely(e);
  };
  return rewrite(root, [&](const Expr& e) -> Expr {
    const Call* call = as<Call>(e);
    return call != nullptr && call->name == "likely" ? apart(call->args[0]) : Expr();
  });
}

// The likely(…) conditions below a loop, with the loops between as intervals. Where one may change
// while the loop runs is not known in front of it: those stay.
class Candidates : public Visitor {
 public:
  explicit Candidates(const For& loop) : loop_(loop) {}
  std::vector<Expr> conditions;    // whole likely(…) calls
  std::vector<Expr> alternatives;  // those of which another one may hold instead
  IntervalMap relaxed;
  bool bounded = true;

 protected:
  using Visitor::on;
  // Where its ends depend on this loop, or on one between, they are the outermost: those that are
  // known in front of this loop.
  void on(const For& op) override {
    const Interval own = Interval::of(Range{op.min, op.extent});
    IntervalMap around = relaxed;
    around[loop_.var] = Interval::of(Range{loop_.min, loop_.extent});
    relaxed[op.var] = {evaluate_interval(own.least, around).least,
                       evaluate_interval(own.greatest, around).greatest};
    Visitor::on(op);
  }
  void on(const LetStmt& op) override {
    relaxed[op.var] = Interval::everything();
    Visitor::on(op);
  }
  void on(const Call& op) override {
    if (op.name == "likely" && uses(op.args[0], loop_.var) && !may_change(op.args[0], loop_.body)) {
      (in_or_ ? alternatives : conditions).push_back(Expr::of(&op));
      return;
    }
    Visitor::on(op);
  }
  void on(const Or& op) override {
    const bool outer = std::exchange(in_or_, true);
    Visitor::on(op);
    in_or_ = outer;
  }

 private:
  const For& loop_;
  bool in_or_ = false;
};

// Takes away conditions that are known: these very calls, not others that are equal to them.
class Drop : public Mutator {
 public:
  Drop(const std::vector<Expr>& known, bool truth) : known_(known), truth_(truth) {}

 protected:
  using Mutator::on;
  Expr on(const Call& op, const Expr& self) override {
    for (const Expr& k : known_) {
      if (k.get() == &op) return make_bool(truth_);
    }
    const Expr e = Mutator::on(op, self);
    const Call* call = as<Call>(e);
    if (call->name == "if_then_else" && is_one(call->args[0])) return call->args[1];
    if (call->name == "if_then_else" && is_zero(call->args[0])) return call->args[2];
    return e;
  }
  Expr on(const And& op, const Expr&) override { return mutate(op.a) && mutate(op.b); }
  Expr on(const Or& op, const Expr&) override { return mutate(op.a) || mutate(op.b); }
  Stmt on(const IfThenElse& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    const IfThenElse& result = *as<IfThenElse>(s);
    if (is_one(result.condition)) return result.then_case;
    if (!is_zero(result.condition)) return s;
    return result.else_case.defined() ? result.else_case : make(Evaluate{.value = 0});
  }

 private:
  const std::vector<Expr>& known_;
  bool truth_;
};

bool does_nothing(const Stmt& root) {
  bool nothing = true;
  for_each_stmt(root, [&](const Stmt& s) {
    const Evaluate* e = as<Evaluate>(s);
    nothing &= !is<Store>(s) && !is<AssertStmt>(s);
    nothing &= e == nullptr || is_pure(e->value);
  });
  return nothing;
}

class Partition : public ScopedMutator {
 public:
  Partition(const PassOptions& options, int leaves)
      : options_(options), budget_(std::max(leaves * kMaxGrowth, kFewLeaves)) {}

 protected:
  using ScopedMutator::on;

  Stmt on(const For& op, const Stmt& self) override {
    const bool constant = as_const_int(op.extent).has_value();
    if (op.for_kind == ForKind::Parallel || op.for_kind == ForKind::Vectorized ||
        (constant && !options_.partition_const_loop)) {
      return ScopedMutator::on(op, self);
    }
    Candidates found(op);
    found.visit(op.body);
    // One of several conditions that may hold says where to cut, and not that the rest is rare.
    if (constant) {
      found.conditions.insert(found.conditions.end(), found.alternatives.begin(),
                              found.alternatives.end());
    }
    if (found.conditions.empty()) return ScopedMutator::on(op, self);
    const int leaves = count_leaves(op.body);
    const bool affordable = leaves * 2 <= budget_;

    // The part of the domain where as many of the conditions as have an interval hold together.
    std::vector<Expr> held;
    std::vector<Interval> intervals;
    for (const Expr& c : found.conditions) {
      const Expr plain = as<Call>(c)->args[0];
      const auto interval = deduce_bound(op.var, plain, found.relaxed);
      if (!interval || (!interval->least.defined() && !interval->greatest.defined())) continue;
      held.push_back(c);
      intervals.push_back(*interval);
    }
    if (held.empty()) return ScopedMutator::on(op, self);
    const bool some_move = constant && keep_constant(held, intervals);
    Interval main;
    for (const Interval& i : intervals) main = intersect(main, i);

    const Expr begin = op.min, end = analyzer_.simplify(op.min + op.extent);
    const Expr one = make_const(op.var.dtype(), 1);
    const auto clamp = [&](const Expr& low, const Expr& value) {
      return analyzer_.simplify(min(max(value, low), end));
    };
    const Expr first = main.least.defined() ? clamp(begin, main.least) : begin;
    const Expr last = main.greatest.defined() ? clamp(first, main.greatest + one) : end;
    const bool nothing_main = analyzer_.can_prove(last <= first);
    if (nothing_main) {
      const Stmt cut = cut_around_middle(op, self, held, intervals, found.relaxed, leaves);
      return cut.defined() ? cut : cut_at_one(op, self, held, found.relaxed, leaves, affordable);
    }

    // Copies that stand side by side must be counted now.
    const auto constant_length = [&](const Expr& from, const Expr& to) {
      return as_const_int(analyzer_.simplify(to - from)).has_value();
    };
    if (op.for_kind == ForKind::Unrolled &&
        !(constant_length(begin, first) && constant_length(first, last) &&
          constant_length(last, end))) {
      return ScopedMutator::on(op, self);
    }

    const bool prologue = main.least.defined() && !analyzer_.can_prove(first <= begin);
    const bool epilogue = main.greatest.defined() && !analyzer_.can_prove(end <= last);
    const Stmt before =
        prologue ? outside(op, held, intervals, &Interval::least, found.relaxed) : Stmt();
    const Stmt after =
        epilogue ? outside(op, held, intervals, &Interval::greatest, found.relaxed) : Stmt();
    // A loop that only ends sooner is no copy.
    if (!affordable && (before.defined() || after.defined())) return ScopedMutator::on(op, self);
    budget_ -= leaves * (before.defined() + after.defined());
    std::vector<Stmt> parts;
    // The others of several conditions may cut the ends of a loop of constant extent once more.
    const bool again = as_const_int(first) && as_const_int(last);
    if (before.defined()) parts.push_back(part(op, self, begin, first, before, again));
    parts.push_back(part(op, self, first, last, Drop(held, true).mutate(op.body), some_move));
    if (after.defined()) parts.push_back(part(op, self, last, end, after, again));
    return block(parts);
  }

 private:
  // Where ends of some intervals are constants and others move with loops outside, only the former
  // stay, and the parts are cut at the others: of one end alone it is known what fails beyond it.
  static bool keep_constant(std::vector<Expr>& held, std::vector<Interval>& intervals) {
    const auto moves = [](const Interval& i) {
      return (i.least.defined() && !as_const_int(simplify(i.least))) ||
             (i.greatest.defined() && !as_const_int(simplify(i.greatest)));
    };
    const auto moving = std::ranges::count_if(intervals, moves);
    if (moving == 0 || moving == std::ssize(intervals)) return false;
    for (size_t k = held.size(); k-- > 0;) {
      if (!moves(intervals[k])) continue;
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(k));
      intervals.erase(intervals.begin() + static_cast<std::ptrdiff_t>(k));
    }
    return true;
  }

  // Where an iteration stands between those in which a condition holds and those in which it fails,
  // as a tile of i == j does between tiles on the two sides of the diagonal. Undefined where there
  // is no such place that moves with a loop outside.
  Stmt cut_around_middle(const For& op, const Stmt& self, const std::vector<Expr>& held,
                         const std::vector<Interval>& holding, const IntervalMap& relaxed,
                         int leaves) {
    const auto extent = as_const_int(op.extent);
    if (!extent || op.for_kind == ForKind::Unrolled || leaves * 3 > budget_) return {};
    std::vector<Interval> failing;
    for (const Expr& c : held)
      failing.push_back(deduce_bound(op.var, !as<Call>(c)->args[0], relaxed).value_or(Interval()));
    const Expr one = make_const(op.var.dtype(), 1);
    const auto is_up_to = [](const Interval& i) {
      return !i.least.defined() && i.greatest.defined();
    };
    const auto is_from = [](const Interval& i) {
      return i.least.defined() && !i.greatest.defined();
    };
    for (size_t k = 0; k < held.size(); ++k) {
      const bool holds_first = is_up_to(holding[k]) && is_from(failing[k]);
      if (!holds_first && !(is_from(holding[k]) && is_up_to(failing[k]))) continue;
      const Interval &low = holds_first ? holding[k] : failing[k],
                     &high = holds_first ? failing[k] : holding[k];
      const Expr begin = analyzer_.simplify(low.greatest + one), &end = high.least;
      const ConstBound middle = analyzer_.const_bound(analyzer_.simplify(end - begin));
      if (as_const_int(begin) || middle.least < 1 || middle.greatest > *extent / 2) continue;
      return pieces_of(op, self, {begin, end}, held, holding, failing, leaves);
    }
    return {};
  }
  // The loop in pieces that end at the points, each without the conditions that are known in it.
  Stmt pieces_of(const For& op, const Stmt& self, const std::vector<Expr>& points,
                 const std::vector<Expr>& held, const std::vector<Interval>& holding,
                 const std::vector<Interval>& failing, int leaves) {
    const Expr one = make_const(op.var.dtype(), 1);
    const Expr end = analyzer_.simplify(op.min + op.extent);
    const auto covers = [&](const Interval& i, const Expr& from, const Expr& to) {
      return (i.least.defined() || i.greatest.defined()) &&
             (!i.least.defined() || analyzer_.can_prove(i.least <= from)) &&
             (!i.greatest.defined() || analyzer_.can_prove(to - one <= i.greatest));
    };
    Expr from = op.min;
    std::vector<Stmt> parts;
    budget_ -= leaves * static_cast<int>(points.size());
    for (size_t k = 0; k <= points.size(); ++k) {
      const Expr to = k == points.size() ? end : analyzer_.simplify(min(max(points[k], from), end));
      std::vector<Expr> known, wrong;
      for (size_t c = 0; c < held.size(); ++c) {
        if (covers(holding[c], from, to)) known.push_back(held[c]);
        if (covers(failing[c], from, to)) wrong.push_back(held[c]);
      }
      const Stmt body = Drop(wrong, false).mutate(Drop(known, true).mutate(op.body));
      if (!does_nothing(body)) parts.push_back(part(op, self, from, to, body, /*again=*/true));
      from = to;
    }
    return parts.empty() ? make(Evaluate{.value = 0}) : block(parts);
  }

  // No iteration has them all. Where the loops inside cannot be cut instead, a loop of constant
  // extent is: at the ends of where one of them holds, and of where it fails, and its parts at the
  // others.
  Stmt cut_at_one(const For& op, const Stmt& self, const std::vector<Expr>& held,
                  const IntervalMap& relaxed, int leaves, bool affordable) {
    const auto min = as_const_int(op.min), extent = as_const_int(op.extent);
    const int budget = budget_;
    const Stmt whole = ScopedMutator::on(op, self);
    if (!min || !extent || !asks_for(whole, op.var)) return whole;
    const int64_t begin = *min, end = *min + *extent;
    using Iterations = std::pair<int64_t, int64_t>;
    struct Known {
      Expr condition;
      Iterations holds, fails;
      int64_t count;
    };
    std::vector<Known> all;
    for (const Expr& condition : held) {
      const Expr plain = as<Call>(condition)->args[0];
      const Iterations holds = within(deduce_bound(op.var, plain, relaxed), begin, end),
                       fails = within(deduce_bound(op.var, !plain, relaxed), begin, end);
      all.push_back(
          {condition, holds, fails, holds.second - holds.first + fails.second - fails.first});
    }
    // What is known of most iterations leaves the fewest questions.
    std::ranges::stable_sort(all, std::ranges::greater(), &Known::count);
    for (const auto& [condition, holds, fails, count] : all) {
      std::set<int64_t> points = {begin, end};
      for (const auto& [from, to] : {holds, fails}) {
        if (from < to) points.insert({from, to});
      }
      if (points.size() == 2 && holds.first == holds.second && fails.first == fails.second)
        continue;
      struct Piece {
        Expr from, to;
        Stmt body;
      };
      std::vector<Piece> pieces;
      for (auto to = std::next(points.begin()); to != points.end(); ++to) {
        const int64_t from = *std::prev(to);
        Stmt body = op.body;
        if (holds.first <= from && *to <= holds.second) body = Drop({condition}, true).mutate(body);
        if (fails.first <= from && *to <= fails.second) {
          body = Drop({condition}, false).mutate(body);
          if (does_nothing(body)) continue;
        }
        const DType type = op.var.dtype();
        pieces.push_back({make_const(type, from), make_const(type, *to), body});
      }
      if (pieces.empty()) return make(Evaluate{.value = 0});
      if (pieces.size() > 1 && !affordable) continue;
      // One of them takes the place of the loop.
      budget_ = budget - leaves * static_cast<int>(pieces.size() - 1);
      std::vector<Stmt> parts;
      for (const Piece& p : pieces)
        parts.push_back(part(op, self, p.from, p.to, p.body, /*again=*/true));
      return block(parts);
    }
    return whole;
  }
  // Whether a likely(…) condition on the variable is left.
  static bool asks_for(const Stmt& s, const Var& var) {
    bool found = false;
    for_each_expr(s, [&](const Expr& e) {
      const Call* call = as<Call>(e);
      found |= call != nullptr && call->name == "likely" && uses(call->args[0], var);
    });
    return found;
  }
  // The iterations from begin to end that are in the interval, as far as its ends are constants.
  static std::pair<int64_t, int64_t> within(const std::optional<Interval>& interval, int64_t begin,
                                            int64_t end) {
    const std::pair<int64_t, int64_t> none = {begin, begin};
    if (!interval || (!interval->least.defined() && !interval->greatest.defined())) return none;
    int64_t from = begin, to = end;
    for (const auto& [limit, is_least] :
         {std::pair(interval->least, true), std::pair(interval->greatest, false)}) {
      if (!limit.defined()) continue;
      const auto value = as_const_int(simplify(limit));
      if (!value) return none;
      (is_least ? from : to) = is_least ? std::max(begin, *value) : std::min(end, *value + 1);
    }
    return from < to ? std::pair(from, to) : none;
  }

  // The body for beyond an end of the intervals in which the conditions hold: without what is
  // guarded by conditions that fail all of the way. Undefined where nothing is left.
  Stmt outside(const For& op, const std::vector<Expr>& held, const std::vector<Interval>& intervals,
               Expr Interval::* end, const IntervalMap& relaxed) {
    std::vector<Expr> ended;
    Expr common;
    for (size_t k = 0; k < held.size(); ++k) {
      const Expr& limit = intervals[k].*end;
      if (!limit.defined()) continue;
      // Of different ends one lies beyond another: which one has failed is not known.
      if (common.defined() && !analyzer_.can_prove_equal(common, limit)) return op.body;
      common = limit;
      if (fails_beyond(op.var, as<Call>(held[k])->args[0], end, limit, relaxed))
        ended.push_back(held[k]);
    }
    if (ended.empty()) return op.body;
    const Stmt rest = Drop(ended, false).mutate(op.body);
    return does_nothing(rest) ? Stmt() : rest;
  }
  // Whether the condition, which holds up to the limit, holds nowhere beyond it.
  bool fails_beyond(const Var& var, const Expr& condition, Expr Interval::* end, const Expr& limit,
                    const IntervalMap& relaxed) {
    const auto fails = deduce_bound(var, !condition, relaxed);
    if (!fails) return false;
    const bool up = end == &Interval::greatest;
    const Expr& begin = up ? fails->least : fails->greatest;
    const Expr& other = up ? fails->greatest : fails->least;
    const Expr one = make_const(limit.dtype(), 1);
    return begin.defined() && !other.defined() &&
           analyzer_.can_prove_equal(begin, up ? limit + one : limit - one);
  }

  // A loop over [begin, end), from zero, with variables of its own; cut `again` at what is left.
  Stmt part(const For& op, const Stmt& self, const Expr& begin, const Expr& end, const Stmt& body,
            bool again = false) {
    const Expr extent = analyzer_.simplify(end - begin);
    const Var var(op.var.name(), op.var.dtype());
    if (is_zero(extent)) return make(Evaluate{.value = 0});
    if (is_one(extent)) return mutate(rename_bindings(substitute(body, VarMap{{op.var, begin}})));
    const Stmt copy = rename_bindings(substitute(body, VarMap{{op.var, begin + var}}));
    const Stmt loop = with(self, [&](For& f) {
      f.var = var;
      f.min = make_zero(var.dtype());
      f.extent = extent;
      f.body = copy;
    });
    analyzer_.bind(var, Range{make_zero(var.dtype()), extent});
    const int budget = budget_;
    const Stmt inner = mutate(copy);
    if (again && asks_for(inner, var)) {
      budget_ = budget;
      return mutate(loop);
    }
    return with(loop, [&](For& f) { f.body = inner; });
  }

  const PassOptions& options_;
  int budget_;
};

// for (k, …) { if (c) { … } } as if (c) { for (k, …) { … } }
class Hoist : public Mutator {
 protected:
  using Mutator::on;
  Stmt on(const For& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    const IfThenElse* guarded = as<IfThenElse>(as<For>(s)->body);
    const bool alone = guarded != nullptr && !guarded->else_case.defined();
    if (!alone || op.for_kind == ForKind::Parallel) return s;
    std::vector<Expr> outside, inside;
    for (const Expr& c : conjuncts(guarded->condition)) {
      (uses(c, op.var) || loads_memory(c) ? inside : outside).push_back(c);
    }
    if (outside.empty()) return s;
    const Stmt loop = with(s, [&](For& f) {
      f.body = inside.empty()
                   ? guarded->then_case
                   : with(f.body, [&](IfThenElse& i) { i.condition = conjunction(inside); });
    });
    return make(IfThenElse{.condition = conjunction(outside), .then_case = loop});
  }
};

}  // namespace

Kernel loop_partition(Kernel kernel, const PassContext& context) {
  kernel.body = taken_apart(kernel.body);
  kernel.body = Partition(context.options, count_leaves(kernel.body)).mutate(kernel.body);
  kernel.body = Hoist().mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
