// SPDX-License-Identifier: Apache-2.0
#include "lower/distribute_loop.h"

#include <algorithm>

#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "lower/widened_access.h"
#include "runtime/error.h"

namespace tw {
namespace {

// What differs between iterations: variables, and buffers that are written differently.
class Dependence : public Visitor {
 public:
  explicit Dependence(const For& loop) : varying_{loop.var} {
    for_each_stmt(loop.body, [&](const Stmt& s) {
      if (const Allocate* a = as<Allocate>(s)) inside_.insert(a->buffer);
    });
    // Memory around the loop: what is read of it may have been written by another iteration.
    for_each_stmt(loop.body, [&](const Stmt& s) {
      const Store* store = as<Store>(s);
      if (store != nullptr && !inside_.contains(store->buffer)) varying_.insert(store->buffer);
    });
    for (size_t known = 0; known != varying_.size();) {
      known = varying_.size();
      visit(loop.body);
    }
  }

  bool depends(const Expr& e) const {
    if (!e.defined()) return false;
    bool found = false;
    for_each_expr(e, [&](const Expr& x) {
      if (const Variable* v = as<Variable>(x)) found |= varying_.contains(Var(v));
      if (const Load* load = as<Load>(x)) found |= varying_.contains(load->buffer);
      if (const Call* call = as<Call>(x)) found |= !is_pure(Expr::of(call));
    });
    return found;
  }
  // Whether it has to run in each iteration.
  bool depends(const Stmt& root) const {
    bool found = false;
    for_each_stmt(root, [&](const Stmt& s) {
      if (const Store* store = as<Store>(s)) found |= varying_.contains(store->buffer);
      if (const Evaluate* e = as<Evaluate>(s)) found |= !is_const(e->value);
      found |= is<AssertStmt>(s) || is<Prefetch>(s);
    });
    return found;
  }
  bool is_shared(const Var& buffer) const {
    return inside_.contains(buffer) && !varying_.contains(buffer);
  }
  bool varies(const Var& buffer) const { return varying_.contains(buffer); }

 protected:
  using Visitor::on;
  void on(const Store& op) override {
    if (conditional_ > 0 || depends(op.value) || depends(op.index) || depends(op.predicate))
      varying_.insert(op.buffer);
  }
  void on(const LetStmt& op) override {
    if (depends(op.value)) varying_.insert(op.var);
    visit(op.body);
  }
  void on(const For& op) override { under(depends(op.min) || depends(op.extent), op.body); }
  void on(const While& op) override { under(depends(op.condition), op.body); }
  void on(const IfThenElse& op) override {
    const bool varying = depends(op.condition);
    under(varying, op.then_case);
    under(varying, op.else_case);
  }
  void on(const Evaluate& op) override { escapes(op.value); }

 private:
  void under(bool varying, const Stmt& s) {
    conditional_ += varying;
    visit(s);
    conditional_ -= varying;
  }
  // Whoever gets the address may write.
  void escapes(const Expr& e) {
    for_each_expr(e, [&](const Expr& x) {
      const Variable* v = as<Variable>(x);
      if (v != nullptr && inside_.contains(Var(v))) varying_.insert(Var(v));
    });
  }

  VarSet inside_, varying_;
  int conditional_ = 0;
};

// Whether buffers are used other than by elements.
bool passes_on(const Stmt& root, const VarSet& buffers) {
  bool found = false;
  for_each_expr(root, [&](const Expr& e) {
    const Variable* v = as<Variable>(e);
    found |= v != nullptr && buffers.contains(Var(v));
  });
  for_each_stmt(root, [&](const Stmt& s) {
    const AttrStmt* attribute = as<AttrStmt>(s);
    if (attribute == nullptr || !attribute->node.defined()) return;
    const Variable* v = as<Variable>(attribute->node);
    found |= v != nullptr && buffers.contains(Var(v));
  });
  return found;
}

class Distribute {
 public:
  Distribute(const For& loop, Distribution distribution)
      : loop_(loop), distribution_(distribution), dependence_(loop) {}

  std::optional<Stmt> run() {
    const Stmt body = push(loop_.body);
    if (failed_) return std::nullopt;
    VarSet widened;
    for (const auto& [buffer, size] : sizes_) widened.insert(buffer);
    if (passes_on(body, widened)) return std::nullopt;
    return widen(body);
  }

 private:
  // Its threads meet before and after: it writes what they share.
  bool divides(const Stmt& root) const {
    bool found = false;
    for_each_stmt(root, [&](const Stmt& s) {
      const Store* store = as<Store>(s);
      found |= store != nullptr && dependence_.is_shared(store->buffer);
    });
    return found;
  }

  Stmt fail(const Stmt& s) {
    failed_ = true;
    return s;
  }

  // A loop of its own around statements that stand in one place.
  Stmt around(const Stmt& s) {
    const Var var(loop_.var.name(), loop_.var.dtype());
    const bool innermost = distribution_ == Distribution::Innermost;
    const Stmt loop = make(For{.var = var,
                               .min = loop_.min,
                               .extent = loop_.extent,
                               .for_kind = innermost ? ForKind::Unrolled : ForKind::Serial,
                               .body = substitute(s, VarMap{{loop_.var, Expr(var)}})});
    vars_.push_back(var);
    return loop;
  }

  Stmt push(const Stmt& s) {
    if (failed_ || !s.defined() || !dependence_.depends(s)) return s;
    if (distribution_ == Distribution::AroundShared && !divides(s)) return around(s);
    switch (s->kind) {
      case NodeKind::Block:
        return push_block(*as<Block>(s));
      case NodeKind::For: {
        const For& op = *as<For>(s);
        if (op.for_kind == ForKind::Vectorized) return leaf(s);
        if (dependence_.depends(op.min) || dependence_.depends(op.extent)) return leaf(s);
        return with(s, [&](For& f) { f.body = push(f.body); });
      }
      case NodeKind::While:
        if (dependence_.depends(as<While>(s)->condition)) return leaf(s);
        return with(s, [&](While& w) { w.body = push(w.body); });
      case NodeKind::IfThenElse:
        if (dependence_.depends(as<IfThenElse>(s)->condition)) return leaf(s);
        return with(s, [&](IfThenElse& i) {
          i.then_case = push(i.then_case);
          i.else_case = push(i.else_case);
        });
      case NodeKind::Allocate:
        return push_allocate(s);
      case NodeKind::LetStmt:
        return push_let(*as<LetStmt>(s), s);
      case NodeKind::AttrStmt:
        if (dependence_.depends(as<AttrStmt>(s)->value)) return leaf(s);
        return with(s, [&](AttrStmt& a) { a.body = push(a.body); });
      case NodeKind::Produce:
        return with(s, [&](Produce& p) { p.body = push(p.body); });
      default:
        return leaf(s);
    }
  }

  Stmt leaf(const Stmt& s) { return divides(s) ? fail(s) : around(s); }

  // Neighbours that share a loop.
  Stmt push_block(const Block& op) {
    std::vector<Stmt> result, run;
    const auto flush = [&] {
      if (!run.empty()) result.push_back(around(block(run)));
      run.clear();
    };
    for (const Stmt& s : op.stmts) {
      const bool joins = distribution_ == Distribution::AroundShared && !divides(s);
      if (joins && dependence_.depends(s)) {
        run.push_back(s);
        continue;
      }
      flush();
      result.push_back(push(s));
    }
    flush();
    return block(result);
  }

  Stmt push_allocate(const Stmt& s) {
    const Allocate& op = *as<Allocate>(s);
    if (!dependence_.varies(op.buffer)) {
      if (std::ranges::any_of(op.extents, [&](const Expr& e) { return dependence_.depends(e); }))
        return fail(s);
      return with(s, [&](Allocate& a) { a.body = push(a.body); });
    }
    Expr size = make_const(loop_.var.dtype(), 1);
    for (const Expr& e : op.extents) {
      if (!as_const_int(e)) return leaf(s);
      size = size * cast(size.dtype(), e);
    }
    sizes_[op.buffer] = size;
    return with(s, [&](Allocate& a) {
      a.extents.insert(a.extents.begin(), cast(a.extents[0].dtype(), loop_.extent));
      a.body = push(a.body);
    });
  }

  Stmt push_let(const LetStmt& op, const Stmt& s) {
    if (!dependence_.depends(op.value)) return with(s, [&](LetStmt& l) { l.body = push(l.body); });
    if (loads_memory(op.value) || !is_pure(op.value)) return leaf(s);
    return push(substitute(op.body, VarMap{{op.var, op.value}}));
  }

  // Each iteration's own place in memory that there is now once for all of them.
  Stmt widen(const Stmt& s);

  const For& loop_;
  Distribution distribution_;
  Dependence dependence_;
  VarMap sizes_;           // of the memory that is widened, in elements of one iteration
  std::vector<Var> vars_;  // of the loops that were made
  bool failed_ = false;
};

class Widen : public WidenedAccess {
 public:
  Widen(const For& loop, const VarMap& sizes, const std::vector<Var>& vars)
      : WidenedAccess(sizes), loop_(loop), vars_(vars.begin(), vars.end()) {}

 protected:
  using WidenedAccess::on;
  Stmt on(const For& op, const Stmt& self) override {
    if (!vars_.contains(op.var)) return Mutator::on(op, self);
    iteration_ = is_zero(loop_.min) ? Expr(op.var) : op.var - loop_.min;
    const Stmt s = Mutator::on(op, self);
    iteration_ = {};
    return s;
  }
  Expr part(const Var& buffer) const override {
    TW_CHECK(iteration_.defined(), buffer.name());
    return iteration_;
  }

 private:
  const For& loop_;
  const VarSet vars_;
  Expr iteration_;
};

Stmt Distribute::widen(const Stmt& s) {
  return sizes_.empty() ? s : Widen(loop_, sizes_, vars_).mutate(s);
}

}  // namespace

std::optional<Stmt> distribute_loop(const For& loop, Distribution distribution) {
  return Distribute(loop, distribution).run();
}

}  // namespace tw
