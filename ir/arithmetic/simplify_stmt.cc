// SPDX-License-Identifier: Apache-2.0
// Simplification of statements: loops give ranges, conditions and asserts give facts, and what is
// never run goes away.
//
//   for (i, 0, 1) { if ((i < 4)) { A[((i*16) + j)] = 0.0f } }    becomes    A[j] = 0.0f
#include "ir/arithmetic/context.h"
#include "ir/changes.h"
#include "ir/visit.h"

namespace tw {
namespace {

using arithmetic::Context;

// A statement that does nothing is undefined inside the walk.
class StmtSimplifier : public Mutator {
 public:
  explicit StmtSimplifier(bool canonical) : canonical_(canonical) {}

  Stmt run(const Stmt& s) {
    Stmt result = mutate(s);
    return result.defined() ? result : make(Evaluate{.value = Expr(0)});
  }

 protected:
#define EXPR_NODE(Name) \
  Expr on(const Name&, const Expr& self) override { return value(self); }
#define STMT_NODE(Name)
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
  using Mutator::on;

  Stmt on(const For& op, const Stmt& self) override {
    const Expr min = value(op.min), extent = value(op.extent);
    const ConstBound count = context_.const_bound(extent);
    if (count.greatest <= 0) return {};
    const size_t mark = context_.num_facts();
    context_.bind(op.var, lasting(Range{min, extent}, op.body));
    const Stmt result = loop(op, self, min, extent, count);
    context_.truncate_facts(mark);
    return result;
  }
  Stmt loop(const For& op, const Stmt& self, const Expr& min, const Expr& extent,
            ConstBound count) {
    // A loop of one iteration is its body at `min`.
    if (is_one(extent)) return mutate(op.body);
    const Stmt body =
        count.least >= 1
            ? mutate(op.body)
            : under(make(LessEqual{.a = make_const(extent.dtype(), 1), .b = extent}), op.body);
    if (!body.defined()) return {};
    if (min.same_as(op.min) && extent.same_as(op.extent) && body.same_as(op.body)) return self;
    return with(self, [&](For& f) {
      f.min = min;
      f.extent = extent;
      f.body = body;
    });
  }

  // The body may be nothing and the loop still never end, so it stays.
  Stmt on(const While& op, const Stmt& self) override {
    const Expr condition = value(op.condition);
    if (is_zero(condition)) return {};
    Stmt body = under(condition, op.body);
    if (!body.defined()) body = make(Evaluate{.value = Expr(0)});
    if (condition.same_as(op.condition) && body.same_as(op.body)) return self;
    return make(While{.condition = condition, .body = body});
  }

  Stmt on(const LetStmt& op, const Stmt& self) override {
    const Expr v = value(op.value);
    if (is_const(v) || is<Variable>(v)) {
      if (!v.dtype().is_handle()) {
        context_.bind(op.var, v);
        return mutate(op.body);
      }
    }
    if (v.dtype().is_int() && !v.dtype().is_vector()) context_.bind_bounds(op.var, v);
    const Stmt body = mutate(op.body);
    if (!body.defined()) return {};
    if (v.same_as(op.value) && body.same_as(op.body)) return self;
    return with(self, [&](LetStmt& l) {
      l.value = v;
      l.body = body;
    });
  }

  Stmt on(const IfThenElse& op, const Stmt& self) override {
    const Expr condition = value(op.condition);
    if (auto c = as_const_int(condition)) return mutate(*c ? op.then_case : op.else_case);
    const Stmt t = under(condition, op.then_case);
    const Stmt f =
        op.else_case.defined() ? under(context_.combine_not(condition), op.else_case) : Stmt();
    if (!t.defined() && !f.defined()) return {};
    if (!t.defined())
      return make(IfThenElse{.condition = context_.combine_not(condition), .then_case = f});
    if (condition.same_as(op.condition) && t.same_as(op.then_case) && f.same_as(op.else_case))
      return self;
    return make(IfThenElse{.condition = condition, .then_case = t, .else_case = f});
  }

  Stmt on(const AssertStmt& op, const Stmt& self) override {
    const Expr condition = value(op.condition);
    if (is_one(condition)) return op.body.defined() ? mutate(op.body) : Stmt();
    const Expr message = value(op.message);
    const Stmt body = op.body.defined() ? under(condition, op.body) : Stmt();
    if (condition.same_as(op.condition) && message.same_as(op.message) && body.same_as(op.body))
      return self;
    return with(self, [&](AssertStmt& a) {
      a.condition = condition;
      a.message = message;
      a.body = body;
    });
  }

  Stmt on(const AttrStmt& op, const Stmt& self) override {
    const Expr node = value(op.node);  // of a loop that went away: the value its variable has
    const Expr v = value(op.value);
    const Stmt body = mutate(op.body);
    if (!body.defined()) return {};
    if (node.same_as(op.node) && v.same_as(op.value) && body.same_as(op.body)) return self;
    return with(self, [&](AttrStmt& a) {
      a.node = node;
      a.value = v;
      a.body = body;
    });
  }

  Stmt on(const Store& op, const Stmt& self) override {
    Expr predicate = value(op.predicate);
    if (predicate.defined() && is_zero(predicate)) return {};
    if (predicate.defined() && is_one(predicate)) predicate = Expr();
    const Expr v = value(op.value), index = value(op.index);
    if (v.same_as(op.value) && index.same_as(op.index) && predicate.same_as(op.predicate))
      return self;
    return with(self, [&](Store& s) {
      s.value = v;
      s.index = index;
      s.predicate = predicate;
    });
  }

  Stmt on(const Block& op, const Stmt& self) override {
    std::vector<Stmt> stmts;
    bool changed = false;
    for (const Stmt& s : op.stmts) {
      stmts.push_back(mutate(s));
      changed |= !stmts.back().same_as(s);
    }
    return changed ? block(stmts) : self;
  }

  // A scope around nothing is nothing.
  Stmt on(const Allocate& op, const Stmt& self) override { return enclosing(op, self); }
  Stmt on(const Realize& op, const Stmt& self) override { return enclosing(op, self); }
  Stmt on(const Produce& op, const Stmt& self) override { return enclosing(op, self); }

 private:
  Expr value(const Expr& e) {
    if (!e.defined()) return e;
    return canonical_ ? context_.canonical_simplify(e) : context_.simplify(e);
  }

  Stmt under(const Expr& condition, const Stmt& s) {
    const size_t mark = context_.num_facts();
    const Expr known = lasting(condition, s);
    if (known.defined()) context_.assume(known);
    Stmt result = mutate(s);
    context_.truncate_facts(mark);
    return result;
  }

  template <class T>
  Stmt enclosing(const T& op, const Stmt& self) {
    const Stmt body = mutate(op.body);
    if (!body.defined()) return {};
    // The base walk sees the other fields; the body is already done.
    Stmt held = body.same_as(op.body) ? self : with(self, [&](T& n) { n.body = body; });
    return fields(*as<T>(held), held);
  }
  Stmt fields(const Produce&, const Stmt& self) { return self; }
  Stmt fields(const Allocate& op, const Stmt& self) {
    std::vector<Expr> extents = mutate(op.extents);
    for (size_t i = 0; i < extents.size(); ++i) {
      if (!extents[i].same_as(op.extents[i])) {
        return with(self, [&](Allocate& a) { a.extents = extents; });
      }
    }
    return self;
  }
  Stmt fields(const Realize& op, const Stmt& self) {
    std::vector<Range> bounds;
    bool changed = false;
    for (const Range& r : op.bounds) {
      bounds.push_back(mutate(r));
      changed |= !bounds.back().min.same_as(r.min) || !bounds.back().extent.same_as(r.extent);
    }
    return changed ? with(self, [&](Realize& r) { r.bounds = bounds; }) : self;
  }

  Context context_;
  bool canonical_;
};

}  // namespace

Stmt simplify(const Stmt& s) { return StmtSimplifier(false).run(s); }
Stmt canonical_simplify(const Stmt& s) { return StmtSimplifier(true).run(s); }

}  // namespace tw
