// SPDX-License-Identifier: Apache-2.0
// unmask_accumulator: masks go from accesses to a local buffer whose masked-off elements nobody
// reads, so that code generation can keep the buffer in registers.
//
// before:                                          after:
//   allocate t[float32 * 2 * 16]                     allocate t[float32 * 2 * 16]
//   for (k, 0, 9) {                                  for (k, 0, 9) {
//     t[ramp(0, 1, 16)] =                              t[ramp(0, 1, 16)] =
//         (t[ramp(0, 1, 16)] if m) + … if m                t[ramp(0, 1, 16)] + …
//   }                                                }
//   C[ramp((x*16), 1, 16)] =                         C[ramp((x*16), 1, 16)] =
//       (t[ramp(0, 1, 16)] if m) if m                    t[ramp(0, 1, 16)] if m
//
// with m = ramp((x*16), 1, 16) < x16(40). Each access must be a whole vector of one width, aligned
// to it within its row, so that an element always meets the same lane; and its mask must depend on
// nothing but the element's place in the last dimension and on what stands still while the buffer
// lives. Then the lanes that are off are off in every access to these elements: what is stored
// there is never seen.
//
// Where rows are no whole number of vectors, the last vector of a row reaches into the next one.
// Rows are then made longer, so that the lanes that are off get elements of their own:
//
//   allocate t[float32 * 2 * 28]                     allocate t[float32 * 2 * 32]
//   t[ramp((y*28), 1, 16)] = …                       t[ramp((y*32), 1, 16)] = …
//   t[ramp(((y*28) + 16), 1, 16)] = …                t[ramp(((y*32) + 16), 1, 16)] = …
//       if ramp(16, 1, 16) < x16(28)
//
// Vectors that lie within their row need no mask for that. Nor do single elements, and those of one
// column in several rows, as what reads a finished tile of transposed results asks for them: they
// keep the masks they have, and see what was stored as long as the other masks turn off nothing but
// what lies past the end of a row.
#include <algorithm>
#include <optional>

#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "lower/passes.h"
#include "lower/scoped_mutator.h"
#include "lower/vector_safety.h"

namespace tw::pass {
namespace {

// One conjunct of a mask: lane l of column c is on when base + c + l < limit.
struct Bound {
  Expr base, limit;
};

// Elements of one column of rows of that many elements: one, or a vector with a whole number of
// rows from lane to lane. Their column; undefined for other accesses.
Expr column_accessed(const Expr& index, int64_t width, Analyzer& analyzer) {
  const Ramp* r = as<Ramp>(index);
  if (r == nullptr && index.dtype().is_vector()) return {};
  if (r != nullptr) {
    const auto stride = as_const_int(r->stride);
    if (!stride || *stride % width != 0) return {};
  }
  const Expr& first = r == nullptr ? index : r->base;
  const Expr column =
      analyzer.canonical_simplify(floor_mod(first, make_const(first.dtype(), width)));
  bool divides = false;  // where the column is not plain, neither is the new index
  for_each_expr(column, [&](const Expr& e) { divides |= is<FloorMod>(e) || is<FloorDiv>(e); });
  return divides ? Expr() : column;
}

// Looks at all accesses to one buffer; changes nothing.
class Accesses : public ScopedMutator {
 public:
  Accesses(const Allocate& allocate) : buffer_(allocate.buffer) {
    width_ = as_const_int(allocate.extents.back()).value_or(0);
    ok_ = width_ > 0;
  }
  // True when every mask can go.
  bool check(const Stmt& body) {
    mutate(body);
    if (!ok_ || !bounds_ || divides_in_any_lane(body)) return false;
    // Elements that some accesses see and others do not keep their values only where there are
    // none.
    if (unmasked_ && !only_past_the_row()) return false;
    // What the masks compare with must not change while the buffer lives.
    for (const Bound& b : *bounds_) {
      for (const Expr& e : {b.base, b.limit}) {
        if (uses_any(e, bound_)) return false;
      }
    }
    return true;
  }
  int64_t width() const { return width_; }
  // Elements of a row of whole vectors.
  int64_t padded_width() const { return (width_ + lanes_ - 1) / lanes_ * lanes_; }

 protected:
  using ScopedMutator::on;

  Stmt on(const For& op, const Stmt& self) override {
    bound_.insert(op.var);
    return ScopedMutator::on(op, self);
  }
  Stmt on(const LetStmt& op, const Stmt& self) override {
    bound_.insert(op.var);
    return ScopedMutator::on(op, self);
  }
  Expr on(const Let& op, const Expr& self) override {
    bound_.insert(op.var);
    return ScopedMutator::on(op, self);
  }
  Expr on(const Load& op, const Expr& self) override {
    if (op.buffer.same_as(buffer_)) access(op.index, op.predicate);
    return ScopedMutator::on(op, self);
  }
  Stmt on(const Store& op, const Stmt& self) override {
    if (op.buffer.same_as(buffer_)) access(op.index, op.predicate);
    return ScopedMutator::on(op, self);
  }
  Expr on(const Variable& op, const Expr& self) override {
    ok_ &= &op != buffer_.operator->();
    return self;
  }

 private:
  void access(const Expr& index, const Expr& predicate) {
    if (!ok_) return;
    if (column_accessed(index, width_, analyzer_).defined()) {
      unmasked_ = true;
      return;
    }
    ok_ = false;
    const Ramp* r = as<Ramp>(index);
    if (r == nullptr || !is_one(r->stride)) return;
    if (lanes_ == 0) lanes_ = r->lanes;
    if (lanes_ != r->lanes) return;
    const DType type = r->base.dtype();
    const Expr column = analyzer_.canonical_simplify(floor_mod(r->base, make_const(type, width_)));
    const ModularFact m = analyzer_.modular(column);
    if (m.modulus % lanes_ != 0 || m.residue % lanes_ != 0) return;
    if (!predicate.defined()) {
      ok_ = unmasked_ =
          width_ % lanes_ == 0 ||
          analyzer_.can_prove(column + make_const(type, lanes_ - 1) < make_const(type, width_));
      return;
    }
    std::vector<Bound> bounds;
    if (!bounds_of(predicate, column, bounds)) return;
    if (!bounds_) bounds_ = bounds;
    if (bounds_->size() != bounds.size()) return;
    for (size_t i = 0; i < bounds.size(); ++i) {
      const Bound &a = (*bounds_)[i], &b = bounds[i];
      if (!equal(a.base, b.base) || !equal(a.limit, b.limit)) return;
    }
    ok_ = true;
  }

  // Whether the masks turn off nothing but what lies past the end of a row.
  bool only_past_the_row() const {
    return std::all_of(bounds_->begin(), bounds_->end(), [&](const Bound& b) {
      const auto limit = as_const_int(b.limit);
      return is_zero(b.base) && limit && *limit >= width_;
    });
  }

  bool bounds_of(const Expr& predicate, const Expr& column, std::vector<Bound>& out) {
    if (const And* a = as<And>(predicate)) {
      return bounds_of(a->a, column, out) && bounds_of(a->b, column, out);
    }
    const Less* less = as<Less>(predicate);
    if (less == nullptr) return false;
    const Ramp* r = as<Ramp>(less->a);
    const Broadcast* limit = as<Broadcast>(less->b);
    if (r == nullptr || limit == nullptr || !is_one(r->stride)) return false;
    out.push_back({analyzer_.canonical_simplify(r->base - column), limit->value});
    return true;
  }

  Var buffer_;
  int64_t width_ = 0;  // elements of the last dimension
  int lanes_ = 0;
  bool ok_ = true, unmasked_ = false;
  std::optional<std::vector<Bound>> bounds_;
  VarSet bound_;  // variables bound while the buffer lives
};

// Masks go, and rows of `width` elements get `padded` ones.
class DropMasks : public ScopedMutator {
 public:
  DropMasks(Var buffer, int64_t width, int64_t padded)
      : buffer_(std::move(buffer)), width_(width), padded_(padded) {}

 protected:
  using ScopedMutator::on;
  Expr on(const Load& op, const Expr& self) override {
    const Expr e = ScopedMutator::on(op, self);
    if (!op.buffer.same_as(buffer_)) return e;
    return with(e, [&](Load& l) {
      if (!column_accessed(l.index, width_, analyzer_).defined()) l.predicate = {};
      l.index = moved(l.index);
    });
  }
  Stmt on(const Store& op, const Stmt& self) override {
    const Stmt s = ScopedMutator::on(op, self);
    if (!op.buffer.same_as(buffer_)) return s;
    return with(s, [&](Store& n) {
      if (!column_accessed(n.index, width_, analyzer_).defined()) n.predicate = {};
      n.index = moved(n.index);
    });
  }

 private:
  Expr moved(const Expr& index) {
    if (width_ == padded_) return index;
    const Ramp* vector = as<Ramp>(index);
    if (vector == nullptr) return first_moved(index);
    return with(index, [&](Ramp& r) {
      r.base = first_moved(r.base);
      if (!is_one(r.stride))  // a whole number of rows
        r.stride = make_const(r.stride.dtype(), *as_const_int(r.stride) / width_ * padded_);
    });
  }
  Expr first_moved(const Expr& index) {
    const DType type = index.dtype();
    const Expr row = floor_div(index, make_const(type, width_));
    const Expr column = floor_mod(index, make_const(type, width_));
    return analyzer_.canonical_simplify(row * make_const(type, padded_) + column);
  }
  Var buffer_;
  int64_t width_, padded_;
};

class Unmask : public Mutator {
 protected:
  using Mutator::on;
  Stmt on(const Allocate& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    if (op.scope != "local") return s;
    const Stmt& body = as<Allocate>(s)->body;
    Accesses accesses(op);
    if (!accesses.check(body)) return s;
    DropMasks drop(op.buffer, accesses.width(), accesses.padded_width());
    return with(s, [&](Allocate& a) {
      a.extents.back() = make_const(a.extents.back().dtype(), accesses.padded_width());
      a.body = drop.mutate(body);
    });
  }
};

}  // namespace

Kernel unmask_accumulator(Kernel kernel, const PassContext&) {
  kernel.body = Unmask().mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
