// SPDX-License-Identifier: Apache-2.0
// unsign_dot_products: sums of products of signed bytes become such that one factor has no sign,
// which is what processors add four at once of. What that adds is taken off after the loop.
//
// before:                                     after:
//   for (k, 0, 64) {                            offset[ramp(0, 1, 16)] = x16(0)
//     for (t, 0, 4) {                           for (k, 0, 64) {
//       C[ramp(0, 1, 16)] =                       for (t, 0, 4) {
//         (C[ramp(0, 1, 16)] +                      offset[ramp(0, 1, 16)] +=
//          (x16(int32(A[k*4 + t]))*                     (x16(128)*int32x16(B[ramp(…, 4, 16)]))
//           int32x16(B[ramp(…, 4, 16)])))         }
//     }                                           for (t, 0, 4) {
//   }                                               C[ramp(0, 1, 16)] +=
//                                                       (x16(int32(A[k*4 + t] with its sign bit
//                                                        as 128))*int32x16(B[ramp(…, 4, 16)]))
//                                                 }
//                                               }
//                                               C[ramp(0, 1, 16)] -= offset[ramp(0, 1, 16)]
//
// The offset is the same for all rows of a tile: one more sum for each vector of B, not one more
// product for each of C. Where the loop over steps was unrolled whole, the same is done to its
// copies. The offset is made only where that is fewer, for buffers that stand in the kernel
// itself, and where nothing else looks at them inside the loop. Sums may wrap on the way; what
// comes out is the same.
#include <algorithm>
#include <utility>

#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "lower/dot_product.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

constexpr int kLess = 128;  // what a sign bit counts more without a sign

struct Candidate {
  const For* loop;
  DotProduct product;
  Expr condition;  // under which it runs, the same in each iteration; undefined: always
  // One group for all lanes: what loses its sign. And what its products are with.
  const DotFactor& row() const { return product.first.broadcast ? product.first : product.second; }
  const DotFactor& column() const {
    return product.first.broadcast ? product.second : product.first;
  }
};

// Sums that each take the same columns, and so the same offset.
struct Panel {
  std::vector<const Candidate*> sums, columns;  // one of each
  size_t candidates = 0;
  Var offset;
};

bool same_sum(const Candidate& a, const Candidate& b) {
  return equal(a.product.store->index, b.product.store->index);
}
bool same_column(const Candidate& a, const Candidate& b) {
  const DotFactor &x = a.column(), &y = b.column();
  const auto first = [](const Candidate& c) {
    return substitute(c.column().base, VarMap{{c.loop->var, c.loop->min}});
  };
  return x.load->buffer.same_as(y.load->buffer) && a.product.lanes == b.product.lanes &&
         equal(first(a), first(b));
}
// The condition of a tile's last rows.
Stmt under(const Expr& condition, const Stmt& s) {
  return condition.defined() ? make(IfThenElse{.condition = condition, .then_case = s}) : s;
}
template <class Same>
bool has(const std::vector<const Candidate*>& list, const Candidate& c, Same same) {
  return std::ranges::any_of(list, [&](const Candidate* other) { return same(*other, c); });
}

// Empty where sums take different columns, or where columns are read under a condition only.
std::vector<Panel> panels_of(const std::vector<Candidate>& candidates) {
  std::vector<Panel> panels;
  for (const Candidate& c : candidates) {
    Panel* panel = nullptr;
    for (Panel& p : panels) {
      if (!has(p.sums, c, same_sum) && !has(p.columns, c, same_column)) continue;
      if (panel != nullptr) return {};
      panel = &p;
    }
    if (panel == nullptr) panel = &panels.emplace_back();
    for (const Candidate* other : panel->sums) {
      if (same_sum(*other, c) && !equal(other->condition, c.condition)) return {};
    }
    if (!has(panel->sums, c, same_sum)) panel->sums.push_back(&c);
    const auto known = std::ranges::find_if(
        panel->columns, [&](const Candidate* other) { return same_column(*other, c); });
    if (known == panel->columns.end()) {
      panel->columns.push_back(&c);
    } else if ((*known)->condition.defined()) {
      *known = &c;
    }
    ++panel->candidates;
  }
  for (const Panel& p : panels) {
    if (p.candidates != p.sums.size() * p.columns.size()) return {};
    for (const Candidate* c : p.columns) {
      if (c->condition.defined()) return {};
    }
  }
  return panels;
}

int64_t count_accesses(const Stmt& s, const Var& buffer) {
  int64_t n = 0;
  for_each_stmt(s, [&](const Stmt& part) {
    if (const Store* store = as<Store>(part)) n += store->buffer.same_as(buffer) ? 1 : 0;
  });
  for_each_expr(s, [&](const Expr& e) {
    if (const Load* load = as<Load>(e)) n += load->buffer.same_as(buffer) ? 1 : 0;
    if (e.same_as(buffer)) n += 2;  // as an argument: anything may happen to it
  });
  return n;
}

Expr all_lanes(int lanes) { return make(Ramp{.base = 0, .stride = 1, .lanes = lanes}); }
Expr int32(const Expr& e) { return make(Cast{.type = int_type(32, e.dtype().lanes), .value = e}); }

class UnsignDotProducts : public Mutator {
 public:
  explicit UnsignDotProducts(const Target& target)
      : Mutator(KindSet{NodeKind::For}), target_(target) {}

 protected:
  using Mutator::on;

  Stmt on(const Allocate& op, const Stmt& self) override {
    allocated_.push_back(op.buffer);
    Stmt s = Mutator::on(op, self);
    allocated_.pop_back();
    // Offsets live as long as the sums they are taken off.
    for (const Made& made : made_) {
      if (!made.sums.same_as(op.buffer)) continue;
      s = with(s, [&](Allocate& a) {
        a.body = make(Allocate{.buffer = made.offset,
                               .type = int_type(32),
                               .extents = {made.lanes},
                               .scope = op.scope,
                               .body = a.body});
      });
    }
    std::erase_if(made_, [&](const Made& m) { return m.sums.same_as(op.buffer); });
    return s;
  }

  Stmt on(const For& op, const Stmt& self) override {
    const Rewritten r = rewritten(op, self);
    return r.body.defined() ? joined(r) : Mutator::on(op, self);
  }
  // A loop over steps that was unrolled whole: products one after the other.
  Stmt on(const Block& op, const Stmt&) override {
    std::vector<Stmt> all, products;
    const auto finish = [&] {
      if (products.empty()) return;
      const Stmt run = block(std::exchange(products, {}));
      const Rewritten r = rewritten(run, Var());
      all.push_back(r.body.defined() ? joined(r) : run);
    };
    for (const Stmt& s : op.stmts) {
      std::vector<Candidate> found;
      collect(s, {}, found);
      if (!found.empty()) {
        products.push_back(s);
        continue;
      }
      finish();
      all.push_back(mutate(s));
    }
    finish();
    return block(all);
  }

 private:
  struct Made {
    Var sums, offset;
    int lanes;
  };

  // What stands in front of a loop, in it, and behind it; undefined where nothing changes.
  struct Rewritten {
    Stmt before, body, after;
  };
  static Stmt joined(const Rewritten& r) { return block({r.before, r.body, r.after}); }

  // A loop over products; or over nothing but such a loop, whose sums are the same in each
  // iteration, so that what stands around the inner one stands around both.
  Rewritten rewritten(const For& loop, const Stmt& self) {
    if (loop.for_kind != ForKind::Serial) return {};
    Rewritten r = rewritten(loop.body, loop.var);
    const For* inner = as<For>(loop.body);
    if (!r.body.defined() && inner != nullptr) r = rewritten(*inner, loop.body);
    if (!r.body.defined()) return {};
    const auto moves = [&](const Stmt& s) { return s.defined() && uses(s, loop.var); };
    if (moves(r.before) || moves(r.after)) r = {Stmt(), joined(r), Stmt()};
    r.body = with(self, [&](For& f) { f.body = r.body; });
    return r;
  }
  Rewritten rewritten(const Stmt& s, const Var& var) {
    const std::vector<Candidate> candidates = candidates_of(s, var);
    std::vector<Panel> panels = panels_of(candidates);
    // What comes on top, in each step of the loop if there is one.
    size_t more = 0;
    for (const Panel& p : panels) more += p.columns.size() + (var.defined() ? 0 : p.sums.size());
    Rewritten r;
    if (panels.empty() || more >= candidates.size()) return r;
    std::vector<Stmt> before, body, after;
    for (Panel& p : panels) {
      const int lanes = p.sums[0]->product.lanes;
      p.offset = buffer_var("offset", int_type(32));
      made_.push_back({p.sums[0]->product.store->buffer, p.offset, lanes});
      const Expr zero = make_zero(int_type(32, lanes));
      before.push_back(make(Store{.buffer = p.offset, .value = zero, .index = all_lanes(lanes)}));
      for (const Candidate* c : p.columns) body.push_back(sum_offset(*c, p.offset));
      for (const Candidate* c : p.sums) {
        after.push_back(under(c->condition, take_off(*c, p.offset)));
      }
    }
    body.push_back(unsigned_products(s, candidates));
    r.before = block(before);
    r.body = block(body);
    r.after = block(after);
    return r;
  }

  // Products that stand in `s` directly, whose sums nothing else in it looks at and which stay the
  // same when `var` (undefined: no variable) steps.
  std::vector<Candidate> candidates_of(const Stmt& s, const Var& var) const {
    const auto moves = [&](const Expr& e) { return var.defined() && uses(e, var); };
    std::vector<Candidate> found;
    collect(s, {}, found);
    if (found.empty()) return found;
    const Var& sums = found[0].product.store->buffer;
    const bool here =
        std::ranges::any_of(allocated_, [&](const Var& v) { return v.same_as(sums); });
    const bool alone = here && count_accesses(s, sums) == 2 * static_cast<int64_t>(found.size());
    for (const Candidate& c : found) {
      const Store* store = c.product.store;
      if (!alone || !store->buffer.same_as(sums) || moves(store->index)) return {};
      if (c.condition.defined() && (moves(c.condition) || loads_memory(c.condition))) {
        return {};
      }
    }
    return found;
  }
  void collect(const Stmt& s, const Expr& condition, std::vector<Candidate>& found) const {
    if (const Block* b = as<Block>(s)) {
      for (const Stmt& part : b->stmts) collect(part, condition, found);
    }
    const IfThenElse* guard = as<IfThenElse>(s);
    if (guard != nullptr && !guard->else_case.defined()) {
      const Expr both = condition.defined() ? condition && guard->condition : guard->condition;
      collect(guard->then_case, both, found);
    }
    const For* loop = as<For>(s);
    if (loop == nullptr || loop->for_kind != ForKind::Serial) return;
    const auto product = match_dot_product(*loop, target_);
    if (!product || !product->integers) return;
    const DotFactor &a = product->first, &b = product->second;
    if (a.is_signed() && b.is_signed() && a.broadcast != b.broadcast) {
      found.push_back({loop, *product, condition});
    }
  }

  // offset += 128 * column, as a loop of its own.
  static Stmt sum_offset(const Candidate& c, const Var& offset) {
    const int lanes = c.product.lanes;
    const Var term(c.loop->var.name(), c.loop->var.dtype());
    const Expr column = substitute(Expr::of(c.column().load), VarMap{{c.loop->var, term}});
    const Expr old =
        make(Load{.type = int_type(32, lanes), .buffer = offset, .index = all_lanes(lanes)});
    const Expr product = make(Mul{.a = broadcast(Expr(kLess), lanes), .b = int32(column)});
    const Stmt add = make(Store{
        .buffer = offset, .value = make(Add{.a = old, .b = product}), .index = all_lanes(lanes)});
    return make(For{.var = term, .min = c.loop->min, .extent = c.loop->extent, .body = add});
  }

  // sum -= offset, without a sign: numbers that wrapped wrap back.
  static Stmt take_off(const Candidate& c, const Var& offset) {
    const int lanes = c.product.lanes;
    const DType bits = uint_type(32, lanes), type = int_type(32, lanes);
    const auto reinterpret = [](DType to, const Expr& e) {
      return call(to, "reinterpret", {e}, CallKind::PureIntrinsic);
    };
    const Expr less = make(Load{.type = type, .buffer = offset, .index = all_lanes(lanes)});
    const Expr sum = Expr::of(c.product.sum);
    const Expr rest = make(Sub{.a = reinterpret(bits, sum), .b = reinterpret(bits, less)});
    return make(Store{.buffer = c.product.store->buffer,
                      .value = reinterpret(type, rest),
                      .index = c.product.store->index});
  }

  static Stmt unsigned_products(const Stmt& s, const std::vector<Candidate>& candidates) {
    if (const Block* b = as<Block>(s)) {
      std::vector<Stmt> stmts;
      for (const Stmt& part : b->stmts) stmts.push_back(unsigned_products(part, candidates));
      return block(stmts);
    }
    if (const IfThenElse* guard = as<IfThenElse>(s); guard && !guard->else_case.defined()) {
      return with(
          s, [&](IfThenElse& i) { i.then_case = unsigned_products(guard->then_case, candidates); });
    }
    const auto c = std::ranges::find_if(
        candidates, [&](const Candidate& candidate) { return candidate.loop == s.get(); });
    return c == candidates.end() ? s : unsigned_product(*c, s);
  }
  static Stmt unsigned_product(const Candidate& c, const Stmt& loop) {
    const Expr row =
        make(Load{.type = int_type(8), .buffer = c.row().load->buffer, .index = c.row().base});
    const DType byte = uint_type(8);
    const Expr bits = call(byte, "reinterpret", {row}, CallKind::PureIntrinsic);
    const Expr flipped =
        call(byte, "bitwise_xor", {bits, make_const(byte, kLess)}, CallKind::PureIntrinsic);
    const Expr product = make(Mul{.a = broadcast(int32(flipped), c.product.lanes),
                                  .b = int32(Expr::of(c.column().load))});
    const Expr value = make(Add{.a = Expr::of(c.product.sum), .b = product});
    return with(loop, [&](For& f) { f.body = with(f.body, [&](Store& s) { s.value = value; }); });
  }

  const Target& target_;
  std::vector<Var> allocated_;
  std::vector<Made> made_;
};

}  // namespace

Kernel unsign_dot_products(Kernel kernel, const PassContext& context) {
  if (!context.target.has_int8_dot) return kernel;
  kernel.body = UnsignDotProducts(context.target).mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
