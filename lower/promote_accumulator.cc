// SPDX-License-Identifier: Apache-2.0
// promote_accumulator: what a loop adds to in masked vectors of one place in memory is a local
// buffer while the loop runs, so that code generation can keep it in registers.
//
// before:                                          after:
//                                                    allocate C.acc[float32 * 32]
//                                                    unrolled (i, 0, 2) {
//                                                      C.acc[ramp((i*16), 1, 16)] =
//                                                          C[ramp((i*40), 1, 16)] if m
//                                                    }
//   for (k, 0, 9) {                                  for (k, 0, 9) {
//     unrolled (i, 0, 2) {                             unrolled (i, 0, 2) {
//       C[ramp((i*40), 1, 16)] =                         C.acc[ramp((i*16), 1, 16)] =
//           (C[ramp((i*40), 1, 16)] if m)                    C.acc[ramp((i*16), 1, 16)]
//               + … if m                                         + …
//     }                                                }
//   }                                                }
//                                                    unrolled (i, 0, 2) {
//                                                      C[ramp((i*40), 1, 16)] =
//                                                          C.acc[ramp((i*16), 1, 16)] if m
//                                                    }
//
// Code generation does so by itself for vectors without masks; one with a mask it stores and loads
// in each iteration. The loop must access the buffer in whole vectors only, each at a place and
// with a mask that stand still while it runs, no two of which overlap, and must store to all of
// them in every iteration. Lanes that are off start as zeros and are never seen.
#include <algorithm>
#include <optional>
#include <utility>

#include "ir/arithmetic/interval.h"
#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "lower/passes.h"
#include "lower/scoped_mutator.h"
#include "lower/vector_safety.h"

namespace tw::pass {
namespace {

// What more registers would hold is in memory anyhow.
constexpr int64_t kRegisters = 32;

// What one index accesses: a vector for each value of the loops around it, outermost first, inside
// of the loop that adds to them.
struct Accumulator {
  Expr index, predicate;
  std::vector<const For*> loops;
  bool stored = false;

  int lanes() const { return index.dtype().lanes; }
  Expr first() const {
    const Ramp* r = as<Ramp>(index);
    return r == nullptr ? index : r->base;
  }
  std::vector<Var> vars() const {
    std::vector<Var> vars;
    for (const For* f : loops) vars.push_back(f->var);
    return vars;
  }
  int64_t vectors() const {
    int64_t n = 1;
    for (const For* f : loops) n *= *as_const_int(f->extent);
    return n;
  }
};

// What is done with one buffer in the body of a loop.
struct Accumulation {
  Var buffer;
  std::vector<Accumulator> parts;
  bool masked = false, loaded = false, excluded = false;

  // The position of its part, or their number.
  size_t part_of(const Expr& index) const {
    const auto is_its = [&](const Accumulator& a) { return equal(a.index, index); };
    return static_cast<size_t>(std::ranges::find_if(parts, is_its) - parts.begin());
  }
  bool is_one() const {
    return masked && loaded && !excluded && std::ranges::all_of(parts, &Accumulator::stored);
  }
};

// Looks at all accesses in the body of a loop.
class FindAccumulations : public Visitor {
 public:
  explicit FindAccumulations(const For& loop) : changing_{loop.var} { visit(loop.body); }

  const std::vector<Accumulation>& found() const { return found_; }

 protected:
  using Visitor::on;

  void on(const For& op) override {
    const auto extent = as_const_int(op.extent);
    const bool runs = extent && *extent > 0 && is_zero(op.min) && op.for_kind != ForKind::Parallel;
    if (!runs) {
      changing_.insert(op.var);
      return conditional([&] { Visitor::on(op); });
    }
    loops_.push_back(&op);
    Visitor::on(op);
    loops_.pop_back();
  }
  void on(const IfThenElse& op) override {
    conditional([&] { Visitor::on(op); });
  }
  void on(const While& op) override {
    conditional([&] { Visitor::on(op); });
  }
  void on(const LetStmt& op) override {
    changing_.insert(op.var);
    Visitor::on(op);
  }
  void on(const Let& op) override {
    changing_.insert(op.var);
    Visitor::on(op);
  }
  void on(const AttrStmt& op) override {
    if (const Variable* v = bound_by(op)) changing_.insert(Var(v));
    Visitor::on(op);
  }
  void on(const Allocate& op) override {
    of(op.buffer).excluded = true;
    Visitor::on(op);
  }
  void on(const Load& op) override {
    Accumulation& a = of(op.buffer);
    a.loaded = true;
    a.excluded |= !access(a, op.index, op.predicate, false);
    Visitor::on(op);
  }
  void on(const Store& op) override {
    Accumulation& a = of(op.buffer);
    a.masked |= op.predicate.defined();
    a.excluded |= conditions_ > 0 || !access(a, op.index, op.predicate, true);
    Visitor::on(op);
  }
  // Its address is known elsewhere.
  void on(const Variable& op) override {
    if (op.type.is_handle()) of(Var(&op)).excluded = true;
  }
  void on(const Call& op) override {
    if (op.name == "address_of") of(as<Load>(op.args[0])->buffer).excluded = true;
    Visitor::on(op);
  }

 private:
  template <class F>
  void conditional(const F& walk) {
    ++conditions_;
    walk();
    --conditions_;
  }

  Accumulation& of(const Var& buffer) {
    const auto is_its = [&](const Accumulation& a) { return a.buffer.same_as(buffer); };
    const auto known = std::ranges::find_if(found_, is_its);
    return known != found_.end() ? *known : found_.emplace_back(Accumulation{.buffer = buffer});
  }

  // False where the access is none that a local buffer could take.
  bool access(Accumulation& a, const Expr& index, const Expr& predicate, bool stores) const {
    const size_t part = a.part_of(index);
    if (part == a.parts.size()) {
      std::optional<Accumulator> one = accumulator(index, predicate);
      if (!one) return false;
      a.parts.push_back(*std::move(one));
    }
    Accumulator& known = a.parts[part];
    known.stored |= stores;
    return known.predicate.defined() == predicate.defined() &&
           (!predicate.defined() || equal(known.predicate, predicate));
  }

  std::optional<Accumulator> accumulator(const Expr& index, const Expr& predicate) const {
    const Ramp* r = as<Ramp>(index);
    if (r == nullptr ? index.dtype().is_vector() : !is_one(r->stride)) return std::nullopt;
    Accumulator one{.index = index, .predicate = predicate};
    VarSet others = changing_;
    for (const For* f : loops_) {
      if (uses(index, f->var)) {
        one.loops.push_back(f);
      } else {
        others.insert(f->var);
      }
    }
    if (uses_any(index, others)) return std::nullopt;
    if (predicate.defined() && uses_any(predicate, others)) return std::nullopt;
    return one;
  }

  std::vector<Accumulation> found_;  // in the order of their first accesses
  VarSet changing_;                  // bound by the loop and in it, but for those of `loops_`
  std::vector<const For*> loops_;    // around, of known lengths
  int conditions_ = 0;               // around
};

// Lanes of a vector up to the last that may be on.
int64_t lanes_on(const Accumulator& a, Analyzer& analyzer) {
  const Less* less = as<Less>(a.predicate);
  const Ramp* lane = less == nullptr ? nullptr : as<Ramp>(less->a);
  const Broadcast* end = less == nullptr ? nullptr : as<Broadcast>(less->b);
  if (lane == nullptr || end == nullptr || !is_one(lane->stride)) return a.lanes();
  const auto on = as_const_int(analyzer.canonical_simplify(end->value - lane->base));
  return on ? std::min<int64_t>(*on, a.lanes()) : a.lanes();
}

// Where the vectors of `a` begin, counted from `origin`; nothing where that is not known.
std::optional<std::vector<int64_t>> places(const Accumulator& a, const Expr& origin,
                                           Analyzer& analyzer) {
  const auto form = linear_form(a.first(), a.vars());
  if (!form) return std::nullopt;
  const auto begin = as_const_int(analyzer.canonical_simplify(form->constant - origin));
  if (!begin) return std::nullopt;
  std::vector<int64_t> out{*begin};
  for (size_t d = 0; d < a.loops.size(); ++d) {
    const auto stride = as_const_int(analyzer.canonical_simplify(form->coefficients[d]));
    if (!stride) return std::nullopt;
    std::vector<int64_t> more;
    for (int64_t i = 0; i < *as_const_int(a.loops[d]->extent); ++i) {
      for (const int64_t place : out) more.push_back(place + i * *stride);
    }
    out = std::move(more);
  }
  return out;
}

bool fit_registers(const Accumulation& accumulation, const Target& target) {
  const int64_t element_bits = accumulation.buffer->element.bits;
  int64_t registers = 0;
  for (const Accumulator& a : accumulation.parts) {
    const int64_t bits = a.lanes() * element_bits;
    registers += a.vectors() * ((bits + target.vector_bits - 1) / target.vector_bits);
  }
  return registers <= kRegisters;
}

// Whether no two of their vectors share an element.
bool lie_apart(const std::vector<Accumulator>& parts, Analyzer& analyzer) {
  const auto first = linear_form(parts.front().first(), parts.front().vars());
  if (!first) return false;
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (const Accumulator& a : parts) {
    const auto begins = places(a, first->constant, analyzer);
    if (!begins) return false;
    const int64_t lanes = lanes_on(a, analyzer);
    for (const int64_t begin : *begins) spans.emplace_back(begin, begin + lanes);
  }
  std::ranges::sort(spans);
  return std::ranges::adjacent_find(
             spans, [](const auto& a, const auto& b) { return a.second > b.first; }) == spans.end();
}

// A local buffer with a row for each vector.
class Promote : public Mutator {
 public:
  explicit Promote(const Accumulation& accumulation)
      : buffer_(accumulation.buffer),
        accumulation_(accumulation),
        local_(buffer_var(buffer_.name() + ".acc", buffer_->element)) {
    for (const Accumulator& a : accumulation_.parts) {
      begins_.push_back(size_);
      size_ += a.vectors() * a.lanes();
    }
  }

  Stmt around(const Stmt& loop) {
    std::vector<Stmt> all;
    for (size_t part = 0; part < begins_.size(); ++part) all.push_back(fill(part));
    all.push_back(mutate(loop));
    for (size_t part = 0; part < begins_.size(); ++part) all.push_back(drain(part));
    return make(Allocate{.buffer = local_,
                         .type = buffer_->element,
                         .extents = {make_const(int_type(32), size_)},
                         .scope = "local",
                         .body = block(all)});
  }

 protected:
  using Mutator::on;
  Expr on(const Load& op, const Expr& self) override {
    const Expr e = Mutator::on(op, self);
    if (!op.buffer.same_as(buffer_)) return e;
    return with(e, [&](Load& l) { move(l); });
  }
  Stmt on(const Store& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    if (!op.buffer.same_as(buffer_)) return s;
    return with(s, [&](Store& n) { move(n); });
  }

 private:
  template <class T>
  void move(T& access) const {
    access.buffer = local_;
    access.index = index_in_local(accumulation_.part_of(access.index));
    access.predicate = {};
  }

  Stmt fill(size_t part) const {
    const Accumulator& a = accumulation_.parts[part];
    const Expr value = make(Load{.type = buffer_->element.with_lanes(a.lanes()),
                                 .buffer = buffer_,
                                 .index = a.index,
                                 .predicate = a.predicate});
    return for_each_vector(
        a, make(Store{.buffer = local_, .value = value, .index = index_in_local(part)}));
  }
  Stmt drain(size_t part) const {
    const Accumulator& a = accumulation_.parts[part];
    const Expr value = make(Load{.type = buffer_->element.with_lanes(a.lanes()),
                                 .buffer = local_,
                                 .index = index_in_local(part)});
    return for_each_vector(
        a,
        make(Store{.buffer = buffer_, .value = value, .index = a.index, .predicate = a.predicate}));
  }

  Expr index_in_local(size_t part) const {
    const Accumulator& a = accumulation_.parts[part];
    const DType type = a.first().dtype();
    Expr row = make_zero(type);
    for (const For* f : a.loops) row = row * cast(type, f->extent) + cast(type, f->var);
    const Expr first = row * make_const(type, a.lanes()) + make_const(type, begins_[part]);
    if (a.lanes() == 1) return first;
    return make(Ramp{.base = first, .stride = make_const(type, 1), .lanes = a.lanes()});
  }

  static Stmt for_each_vector(const Accumulator& a, Stmt s) {
    for (auto f = a.loops.rbegin(); f != a.loops.rend(); ++f) {
      For loop = **f;
      loop.body = std::move(s);
      s = make(std::move(loop));
    }
    return rename_bindings(s);
  }

  Var buffer_;
  const Accumulation& accumulation_;
  Var local_;
  std::vector<int64_t> begins_;  // of the rows of each part
  int64_t size_ = 0;
};

bool stores_masked(const Stmt& body) {
  bool found = false;
  for_each_stmt(body, [&](const Stmt& s) {
    const Store* store = as<Store>(s);
    found |= store != nullptr && store->predicate.defined();
  });
  return found;
}

class PromoteAccumulators : public ScopedMutator {
 public:
  explicit PromoteAccumulators(const Target& target) : target_(target) {}

 protected:
  using ScopedMutator::on;
  Stmt on(const For& op, const Stmt& self) override {
    if (op.for_kind != ForKind::Serial || !analyzer_.can_prove_at_least(op.extent, 1) ||
        !stores_masked(op.body) || divides_in_any_lane(op.body)) {
      return ScopedMutator::on(op, self);
    }
    // The outermost loop that adds to a buffer keeps it.
    const FindAccumulations in_body(op);
    for (const Accumulation& a : in_body.found()) {
      if (a.is_one() && fit_registers(a, target_) && lie_apart(a.parts, analyzer_)) {
        return mutate(Promote(a).around(self));
      }
    }
    return ScopedMutator::on(op, self);
  }

 private:
  const Target& target_;
};

}  // namespace

Kernel promote_accumulator(Kernel kernel, const PassContext& context) {
  if (!stores_masked(kernel.body)) return kernel;  // as most have none
  kernel.body = PromoteAccumulators(context.target).mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
