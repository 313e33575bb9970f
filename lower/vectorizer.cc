// SPDX-License-Identifier: Apache-2.0
#include "lower/vectorizer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "ir/changes.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "lower/conditions.h"
#include "lower/vector_safety.h"
#include "runtime/error.h"

namespace tw::pass {
namespace {

// buffer[index] becomes buffer[index*lanes + lane] for a buffer that each lane has for itself.
class AccessByLane : public Mutator {
 public:
  AccessByLane(Var buffer, Expr lane, int64_t lanes)
      : buffer_(std::move(buffer)), lane_(std::move(lane)), lanes_(lanes) {}

 protected:
  using Mutator::on;
  Expr on(const Load& op, const Expr& self) override {
    const Expr e = Mutator::on(op, self);
    if (!op.buffer.same_as(buffer_)) return e;
    return with(e, [&](Load& l) { l.index = by_lane(l.index); });
  }
  Stmt on(const Store& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    if (!op.buffer.same_as(buffer_)) return s;
    return with(s, [&](Store& n) { n.index = by_lane(n.index); });
  }

 private:
  Expr by_lane(const Expr& index) const {
    return index * make_const(index.dtype(), lanes_) + cast(index.dtype(), lane_);
  }
  Var buffer_;
  Expr lane_;
  int64_t lanes_;
};

// Vectorises the body of one loop.
class Vectorizer : public Mutator {
 public:
  Vectorizer(const For& loop, int lanes, Analyzer& analyzer, const PassOptions& options)
      : var_(loop.var), min_(loop.min), lanes_(lanes), analyzer_(analyzer), options_(options) {
    ramp_ = make(Ramp{.base = min_, .stride = make_const(min_.dtype(), 1), .lanes = lanes});
  }

  Stmt run(const Stmt& body) {
    const Stmt result = mutate(body);
    if (shared_.empty()) return result;
    return statements_touching(body, shared_) > 1 ? Stmt() : result;
  }
  bool only_vectors() const { return only_vectors_; }

 protected:
  using Mutator::on;

  // --- expressions -----------------------------------------------------------------------------

  Expr on(const Variable& op, const Expr& self) override {
    if (&op == var_.operator->()) return ramp_;
    auto it = lets_.find(Var(&op));
    return it == lets_.end() ? self : it->second;
  }

  Expr on(const Add& op, const Expr& self) override {
    return binary(op, self, [&](const Expr& a, const Expr& b) -> Expr {
      const Ramp *ra = as<Ramp>(a), *rb = as<Ramp>(b);
      if (ra && rb) return ramp(ra->base + rb->base, ra->stride + rb->stride);
      if (ra && scalar(b)) return ramp(ra->base + scalar_of(b), ra->stride);
      if (rb && scalar(a)) return ramp(scalar_of(a) + rb->base, rb->stride);
      return {};
    });
  }
  Expr on(const Sub& op, const Expr& self) override {
    return binary(op, self, [&](const Expr& a, const Expr& b) -> Expr {
      const Ramp *ra = as<Ramp>(a), *rb = as<Ramp>(b);
      if (ra && rb) return ramp(ra->base - rb->base, ra->stride - rb->stride);
      if (ra && scalar(b)) return ramp(ra->base - scalar_of(b), ra->stride);
      if (rb && scalar(a)) return ramp(scalar_of(a) - rb->base, -rb->stride);
      return {};
    });
  }
  Expr on(const Mul& op, const Expr& self) override {
    return binary(op, self, [&](const Expr& a, const Expr& b) -> Expr {
      const Ramp *ra = as<Ramp>(a), *rb = as<Ramp>(b);
      if (ra && scalar(b)) return ramp(ra->base * scalar_of(b), ra->stride * scalar_of(b));
      if (rb && scalar(a)) return ramp(scalar_of(a) * rb->base, scalar_of(a) * rb->stride);
      return {};
    });
  }
  Expr on(const FloorDiv& op, const Expr& self) override {
    return binary(op, self, [&](const Expr& a, const Expr& b) -> Expr {
      const Ramp* r = as<Ramp>(a);
      return r && within_one_period(*r, b) ? broadcast(floor_div(r->base, scalar_of(b)), lanes_)
                                           : Expr();
    });
  }
  Expr on(const FloorMod& op, const Expr& self) override {
    return binary(op, self, [&](const Expr& a, const Expr& b) -> Expr {
      const Ramp* r = as<Ramp>(a);
      return r && within_one_period(*r, b) ? ramp(floor_mod(r->base, scalar_of(b)), r->stride)
                                           : Expr();
    });
  }
#define TW_BINARY(Name) \
  Expr on(const Name& op, const Expr& self) override { return lanewise(op, self); }
  TW_BINARY(Div)
  TW_BINARY(Mod)
  TW_BINARY(Min)
  TW_BINARY(Max)
  TW_BINARY(Equal)
  TW_BINARY(NotEqual)
  TW_BINARY(Less)
  TW_BINARY(LessEqual)
  TW_BINARY(Greater)
  TW_BINARY(GreaterEqual)
  TW_BINARY(And)
  TW_BINARY(Or)
#undef TW_BINARY

  Expr on(const Cast& op, const Expr& self) override {
    const Expr value = mutate(op.value);
    if (value.same_as(op.value)) return self;
    return cast(op.type.with_lanes(value.dtype().lanes), value);
  }

  Expr on(const Select& op, const Expr& self) override {
    Expr c = mutate(op.condition), t = mutate(op.true_value), f = mutate(op.false_value);
    if (c.same_as(op.condition) && t.same_as(op.true_value) && f.same_as(op.false_value)) {
      return self;
    }
    if (is_vector(c) || is_vector(t) || is_vector(f)) {
      t = widen(t);
      f = widen(f);
    }
    return select(c, t, f);
  }

  Expr on(const Load& op, const Expr& self) override {
    Expr index = mutate(op.index), predicate = mutate(op.predicate);
    const bool vector = is_vector(index) || (predicate.defined() && is_vector(predicate));
    if (!vector && !(mask_.defined() && strict_mask_)) {
      if (index.same_as(op.index) && predicate.same_as(op.predicate)) return self;
      return with(self, [&](Load& l) {
        l.index = index;
        l.predicate = predicate;
      });
    }
    if (mask_.defined()) predicate = predicate.defined() ? widen(predicate) && mask_ : mask_;
    if (predicate.defined()) predicate = widen(predicate);
    return make(Load{.type = op.type.with_lanes(lanes_),
                     .buffer = op.buffer,
                     .index = widen(index),
                     .predicate = predicate});
  }

  Expr on(const Call& op, const Expr& self) override {
    if (op.name == "if_then_else" && op.call_kind == CallKind::PureIntrinsic) {
      return conditional(op, self);
    }
    if (op.name == "address_of") return address(op, self);
    std::vector<Expr> args = mutate(op.args);
    const bool vector = std::any_of(args.begin(), args.end(), is_vector);
    if (op.call_kind != CallKind::PureIntrinsic &&
        (vector || op.call_kind != CallKind::PureExtern)) {
      fail_ = true;  // unknown code runs once a lane
      return self;
    }
    if (std::equal(args.begin(), args.end(), op.args.begin(),
                   [](const Expr& a, const Expr& b) { return a.same_as(b); })) {
      return self;
    }
    if (vector) {
      for (Expr& a : args) a = widen(a);
    }
    return with(self, [&](Call& c) {
      c.args = std::move(args);
      if (vector) c.type = c.type.with_lanes(lanes_);
    });
  }

  Expr on(const Let& op, const Expr& self) override {
    const Expr value = mutate(op.value);
    if (!is_vector(value)) {
      const Expr body = mutate(op.body);
      if (value.same_as(op.value) && body.same_as(op.body)) return self;
      return make(Let{.var = op.var, .value = value, .body = body});
    }
    const Var var(op.var.name(), value.dtype());
    lets_[op.var] = var;
    const Expr body = mutate(op.body);
    lets_.erase(op.var);
    return make(Let{.var = var, .value = value, .body = body});
  }

  Expr on(const Shuffle& op, const Expr& self) override { return already_vector(op, self); }
  Expr on(const Ramp& op, const Expr& self) override { return already_vector(op, self); }
  Expr on(const Broadcast& op, const Expr& self) override { return already_vector(op, self); }

  // --- statements ------------------------------------------------------------------------------

  Stmt on(const Store& op, const Stmt& self) override {
    const Expr value = mutate(op.value), index = mutate(op.index);
    Expr predicate = mutate(op.predicate);
    if (failed()) return lane_by_lane(self);
    if (!is_vector(index)) {
      const bool varies = is_vector(value) || (predicate.defined() && is_vector(predicate)) ||
                          mask_.defined() || loads_from(op.value, op.buffer);
      // One element that every lane stores to: the last one wins, or each builds on the one before.
      if (varies) shared_.insert(op.buffer);
      return varies ? lane_by_lane(self) : self;
    }
    // Lanes may meet in an element of a gathered index; then each builds on the one before too.
    if (!is<Ramp>(index) && loads_from(op.value, op.buffer)) {
      shared_.insert(op.buffer);
      return lane_by_lane(self);
    }
    if (mask_.defined()) predicate = predicate.defined() ? widen(predicate) && mask_ : mask_;
    if (predicate.defined()) predicate = widen(predicate);
    return make(
        Store{.buffer = op.buffer, .value = widen(value), .index = index, .predicate = predicate});
  }

  Stmt on(const For& op, const Stmt& self) override {
    const Expr min = mutate(op.min), extent = mutate(op.extent);
    if (failed() || is_vector(min) || is_vector(extent)) return lane_by_lane(self);
    analyzer_.bind(op.var, lasting(Range{min, extent}, op.body));
    const Stmt body = mutate(op.body);
    return with(self, [&](For& f) {
      f.min = min;
      f.extent = extent;
      f.body = body;
      if (f.for_kind == ForKind::Parallel) f.for_kind = ForKind::Serial;
    });
  }

  // How many rounds a lane makes is its own affair, and what ends them is memory that lanes may
  // have in common.
  Stmt on(const While&, const Stmt&) override {
    raise({.code = ErrorCode::BadArgument,
           .what = "a while loop inside a vectorized loop, whose lanes run together",
           .axis = var_.name(),
           .legal = "a serial, parallel or unrolled loop around it"});
  }

  Stmt on(const IfThenElse& op, const Stmt& self) override {
    const Expr condition = mutate(op.condition);
    if (failed()) return lane_by_lane(self);
    if (is_vector(condition)) {
      Stmt masked = options_.predicate_tail ? predicated(op) : Stmt();
      return masked.defined() ? masked : lane_by_lane(self);
    }
    const Stmt then_case = mutate(op.then_case), else_case = mutate(op.else_case);
    return with(self, [&](IfThenElse& i) {
      i.condition = condition;
      i.then_case = then_case;
      i.else_case = else_case;
    });
  }

  Stmt on(const LetStmt& op, const Stmt& self) override {
    const Expr value = mutate(op.value);
    if (failed()) return lane_by_lane(self);
    if (!is_vector(value)) {
      const Stmt body = mutate(op.body);
      return with(self, [&](LetStmt& l) {
        l.value = value;
        l.body = body;
      });
    }
    const Var var(op.var.name(), value.dtype());
    lets_[op.var] = var;
    const Stmt body = mutate(op.body);
    lets_.erase(op.var);
    // Something below ran lane by lane and needs the scalar: then the whole binding does.
    if (needed_scalars_.erase(op.var) != 0) return lane_by_lane(self);
    return make(LetStmt{.var = var, .value = value, .body = body});
  }

  Stmt on(const Allocate& op, const Stmt& self) override {
    std::vector<Expr> extents = mutate(op.extents);
    // Who has an address counts on elements that lie side by side.
    if (failed() || is_addressed(op.buffer, op.body) ||
        std::any_of(extents.begin(), extents.end(), is_vector)) {
      return lane_by_lane(self);
    }
    extents.push_back(lanes_);
    const Stmt by_lane = AccessByLane(op.buffer, var_ - min_, lanes_).mutate(op.body);
    const Stmt body = mutate(by_lane);
    return with(self, [&](Allocate& a) {
      a.extents = std::move(extents);
      a.body = body;
    });
  }

  Stmt on(const AttrStmt& op, const Stmt& self) override {
    const Expr value = mutate(op.value);
    if (failed() || (value.defined() && is_vector(value))) return lane_by_lane(self);
    const Stmt body = mutate(op.body);
    return with(self, [&](AttrStmt& a) {
      a.value = value;
      a.body = body;
    });
  }

  Stmt on(const AssertStmt& op, const Stmt& self) override {
    const Expr condition = mutate(op.condition);
    if (failed() || is_vector(condition)) return lane_by_lane(self);
    const Stmt body = mutate(op.body);
    return with(self, [&](AssertStmt& a) {
      a.condition = condition;
      a.body = body;
    });
  }

  Stmt on(const Evaluate& op, const Stmt& self) override {
    if (!is_pure(op.value)) return lane_by_lane(self);
    return make(Evaluate{.value = 0});
  }

 private:
  static bool is_vector(const Expr& e) { return e.dtype().is_vector(); }
  bool scalar(const Expr& e) const { return !is_vector(e) || is<Broadcast>(e); }
  Expr scalar_of(const Expr& e) const {
    const Broadcast* b = as<Broadcast>(e);
    return b ? b->value : e;
  }
  Expr widen(const Expr& e) const { return broadcast(e, lanes_); }
  Expr ramp(const Expr& base, const Expr& stride) const {
    if (is_zero(stride)) return widen(base);
    return make(Ramp{.base = base, .stride = stride, .lanes = lanes_});
  }
  // Whether an expression had no vector form, since the last time this was asked.
  bool failed() { return std::exchange(fail_, false); }

  template <class T, class F>
  Expr binary(const T& op, const Expr& self, F linear) {
    const Expr a = mutate(op.a), b = mutate(op.b);
    if (a.same_as(op.a) && b.same_as(op.b)) return self;
    if (!is_vector(a) && !is_vector(b)) return make_binary(T::node_kind, a, b);
    if (scalar(a) && scalar(b)) {
      return widen(make_binary(T::node_kind, scalar_of(a), scalar_of(b)));
    }
    if (a.dtype().is_integer()) {
      if (Expr e = linear(a, b); e.defined()) return e;
    }
    return make_binary(T::node_kind, widen(a), widen(b));
  }
  template <class T>
  Expr lanewise(const T& op, const Expr& self) {
    return binary(op, self, [](const Expr&, const Expr&) { return Expr(); });
  }

  template <class T>
  Expr already_vector(const T& op, const Expr& self) {
    const Expr e = Mutator::on(op, self);
    if (!e.same_as(self)) fail_ = true;
    return self;
  }

  // All lanes of `r` have the same quotient by the constant `divisor`.
  bool within_one_period(const Ramp& r, const Expr& divisor) {
    const auto d = as_const_int(divisor), stride = as_const_int(r.stride);
    if (!d || *d <= 0 || !stride || *stride < 0) return false;
    const int64_t span = *stride * (lanes_ - 1);
    const ModularFact m = analyzer_.modular(r.base);
    // The base, modulo d, is one of residue, residue + g, …, d - g + residue.
    const int64_t g = std::gcd(m.modulus, *d);
    return ((m.residue % g + g) % g) + span < g;
  }

  // Nothing is loaded, so that no lane of it may be off; and there are no vectors of addresses:
  // what takes one that differs between lanes runs once a lane.
  Expr address(const Call& op, const Expr& self) {
    const Load* element = as<Load>(op.args[0]);
    const Expr index = element != nullptr ? mutate(element->index) : Expr();
    fail_ |= element == nullptr || is_vector(index);
    if (fail_ || index.same_as(element->index)) return self;
    return with(self,
                [&](Call& c) { c.args = {with(op.args[0], [&](Load& l) { l.index = index; })}; });
  }

  // if_then_else(c, t, f) with a condition that differs between lanes.
  Expr conditional(const Call& op, const Expr& self) {
    const Expr c = mutate(op.args[0]);
    if (!is_vector(c)) {
      Expr t = mutate(op.args[1]), f = mutate(op.args[2]);
      if (is_vector(t) || is_vector(f)) {
        t = widen(t);
        f = widen(f);
      }
      return if_then_else(c, t, f);
    }
    const bool masks = options_.predicate_tail;
    if (!always_safe(op.args[1], masks) || !always_safe(op.args[2], masks)) {
      fail_ = true;
      return self;
    }
    const Expr plain = strip_likely(c);
    const Expr t = under_mask(plain, true, op.args[1]);
    const Expr f = under_mask(!plain, true, op.args[2]);
    // A load gives zero where it is off.
    if (is<Load>(t) && is_vector(t) && is_positive_zero(scalar_of(f))) return t;
    return select(plain, widen(t), widen(f));
  }

  static bool is_positive_zero(const Expr& e) {
    const FloatImm* f = as<FloatImm>(e);
    return f != nullptr ? f->value == 0 && !std::signbit(f->value) : is_zero(e);
  }

  template <class H>
  H under_mask(const Expr& mask, bool strict, const H& masked) {
    const Expr outer_mask = mask_;
    const bool outer_strict = strict_mask_;
    mask_ = mask_.defined() ? mask_ && mask : mask;
    strict_mask_ = strict || outer_strict;
    H result = mutate(masked);
    mask_ = outer_mask;
    strict_mask_ = outer_strict;
    return result;
  }

  // `if (condition) { … }` as masked statements; undefined where that is not possible.
  Stmt predicated(const IfThenElse& op) {
    if (!can_be_masked(op.then_case) || !can_be_masked(op.else_case)) return {};
    if (loads_memory(op.condition)) return {};
    Expr shared, mask;  // decided once for all lanes; decided a lane
    Expr first_lane;
    bool decreasing = !op.else_case.defined();
    for (const Expr& c : conjuncts(op.condition)) {
      const Expr v = mutate(c);
      if (fail_) {
        fail_ = false;
        return {};
      }
      if (!is_vector(v)) {
        shared = shared.defined() ? shared && v : v;
        continue;
      }
      const Expr plain = strip_likely(v);
      mask = mask.defined() ? mask && plain : plain;
      decreasing = decreasing && holds_downwards(plain) && !uses_vector_let(c);
      if (decreasing) {
        const Expr first = analyzer_.simplify(substitute(strip_likely(c), VarMap{{var_, min_}}));
        first_lane = first_lane.defined() ? first_lane && first : first;
      }
    }
    if (op.else_case.defined() && shared.defined()) return {};
    // Where the first lane is off all are: one test guards what is read once for all lanes.
    Stmt then_case = masked(op.then_case, op.condition, mask, !decreasing);
    if (decreasing && !analyzer_.can_prove(first_lane)) {
      then_case = make(IfThenElse{.condition = likely(first_lane), .then_case = then_case});
    }
    if (op.else_case.defined()) {
      then_case = block({then_case, masked(op.else_case, !op.condition, !mask, true)});
    }
    if (!shared.defined()) return then_case;
    return make(IfThenElse{.condition = shared, .then_case = then_case});
  }

  bool uses_vector_let(const Expr& e) const {
    const std::vector<Var> vars = free_vars(e);
    return std::any_of(vars.begin(), vars.end(), [&](const Var& v) { return lets_.count(v) != 0; });
  }

  Stmt masked(const Stmt& s, const Expr& condition, const Expr& mask, bool strict) {
    guards_.push_back(condition);
    Stmt result = under_mask(mask, strict, s);
    guards_.pop_back();
    return result;
  }

  // True when a lane that holds implies that every lane before it holds.
  bool holds_downwards(const Expr& comparison) const {
    const auto falls = [&](const Expr& small, const Expr& large) {
      if (!small.dtype().is_integer()) return false;
      return stride_of(small) && stride_of(large) && *stride_of(small) >= *stride_of(large);
    };
    if (const auto* c = as<Less>(comparison)) return falls(c->a, c->b);
    if (const auto* c = as<LessEqual>(comparison)) return falls(c->a, c->b);
    if (const auto* c = as<Greater>(comparison)) return falls(c->b, c->a);
    if (const auto* c = as<GreaterEqual>(comparison)) return falls(c->b, c->a);
    return false;
  }
  static std::optional<int64_t> stride_of(const Expr& e) {
    if (is<Broadcast>(e)) return 0;
    const Ramp* r = as<Ramp>(e);
    return r ? as_const_int(r->stride) : std::nullopt;
  }

  Stmt lane_by_lane(const Stmt& s) {
    only_vectors_ = false;
    Stmt body = s;
    for (auto guard = guards_.rbegin(); guard != guards_.rend(); ++guard) {
      body = make(IfThenElse{.condition = *guard, .then_case = body});
    }
    for (const Var& v : free_vars(body)) {
      if (lets_.count(v) != 0) needed_scalars_.insert(v);
    }
    const Var lane(var_.name() + ".s", var_.dtype());
    body = substitute(body, VarMap{{var_, lane}});
    return make(
        For{.var = lane, .min = min_, .extent = make_const(min_.dtype(), lanes_), .body = body});
  }

  Var var_;
  Expr min_, ramp_;
  int lanes_;
  Analyzer& analyzer_;
  const PassOptions& options_;
  bool fail_ = false, only_vectors_ = true;
  VarMap lets_;               // scalar bindings that became vectors
  VarSet shared_;             // buffers with an element that lanes take turns with
  VarSet needed_scalars_;     // of those, the ones that a lane-by-lane statement reads
  Expr mask_;                 // lanes that are on, or undefined
  bool strict_mask_ = false;  // all lanes may be off: even a load of one shared element is masked
  std::vector<Expr> guards_;  // the scalar conditions that mask_ stands for
};

}  // namespace

VectorBody vectorize_body(const For& loop, int lanes, Analyzer& analyzer,
                          const PassOptions& options) {
  Vectorizer vectorizer(loop, lanes, analyzer, options);
  const Stmt body = vectorizer.run(loop.body);
  return {body, vectorizer.only_vectors()};
}

}  // namespace tw::pass
