// SPDX-License-Identifier: Apache-2.0
// unroll_loop: loops marked `unrolled`, and small serial ones where a pragma or an option asks for
// it, become copies of their body.
//
// before:                                       after:
//   unrolled (i, 0, 2) {                          A[x] = B[0]
//     A[((i*8) + x)] = B[i]                       A[(x + 8)] = B[1]
//   }
//
// Pragmas below an AttrStmt win over the options: pragma_auto_unroll_max_step bounds the statements
// that an automatic unroll may give, pragma_unroll_explicit = 0 only marks the loops. Each copy
// binds variables of its own. A nest becomes at most kMaxStatements; loops around stay.
#include <map>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/visit.h"
#include "lower/dot_product.h"
#include "lower/folding_mutator.h"
#include "lower/passes.h"
#include "runtime/error.h"

namespace tw::pass {
namespace {

// Statements that a nest may become. A loop that would make more of it becomes a serial one:
// compiling them would take minutes, and the code fits no cache.
constexpr int64_t kMaxStatements = 16384;

enum class Decision : uint8_t { Expand, Mark, Keep };
using Decisions = std::map<const For*, Decision>;  // look-ups only

// Which loops unroll is decided bottom-up, as the number of statements is known; the copies are
// made top-down, so that each statement of the result is built once.
class Decide : public Visitor {
 public:
  explicit Decide(const PassContext& context)
      : target_(context.target),
        max_step_(context.options.auto_unroll_max_step),
        max_depth_(context.options.auto_unroll_max_depth),
        explicit_(context.options.unroll_explicit) {}
  Decisions decisions;

 protected:
  using Visitor::on;

  void on(const AttrStmt& op) override {
    if (op.key == attr::kAutoUnrollMaxStep) {
      const int64_t outer = std::exchange(max_step_, as_const_int(op.value).value_or(0));
      visit(op.body);
      max_step_ = outer;
    } else if (op.key == attr::kUnrollExplicit) {
      const bool outer = std::exchange(explicit_, as_const_int(op.value).value_or(1) != 0);
      visit(op.body);
      explicit_ = outer;
    } else {
      Visitor::on(op);
    }
  }

  void on(const For& op) override {
    visit(op.body);
    const auto extent = as_const_int(op.extent);
    if (op.for_kind == ForKind::Unrolled && !extent) {
      raise({.code = ErrorCode::SymbolicExtent,
             .what = "unrolled loop of unknown extent",
             .axis = op.var.name(),
             .legal = "a constant extent"});
    }
    // One instruction, which its copies would not be.
    if (op.for_kind == ForKind::Serial && match_dot_product(op, target_)) return;
    const bool few = extent && *extent * std::max<int64_t>(1, steps_) <= kMaxStatements;
    const bool small = op.for_kind == ForKind::Serial && few && kept_depth_ == 0 &&
                       unroll_depth_ <= max_depth_ && *extent * steps_ <= max_step_;
    if (op.for_kind == ForKind::Unrolled && !few) {
      decisions[&op] = Decision::Keep;
      kept_depth_ += 1;
    } else if (op.for_kind == ForKind::Unrolled || small) {
      steps_ *= *extent;
      unroll_depth_ += 1;
      decisions[&op] = explicit_ ? Decision::Expand : Decision::Mark;
    } else {
      kept_depth_ += 1;
    }
  }

  // A loop that stays.
  void on(const While& op) override {
    visit(op.body);
    kept_depth_ += 1;
  }

  void on(const Block& op) override {
    int64_t steps = 0;
    int unroll_depth = 0, kept_depth = 0;
    for (const Stmt& s : op.stmts) {
      steps_ = 0;
      unroll_depth_ = kept_depth_ = 0;
      visit(s);
      steps += steps_;
      unroll_depth = std::max(unroll_depth, unroll_depth_);
      kept_depth = std::max(kept_depth, kept_depth_);
    }
    steps_ = steps;
    unroll_depth_ = unroll_depth;
    kept_depth_ = kept_depth;
  }
  // Expressions hold no loops; what counts is the statement.
  void on(const Store&) override { ++steps_; }
  void on(const Evaluate&) override { ++steps_; }
  void on(const IfThenElse& op) override {
    // The statements of a tensor intrinsic are as they are to be.
    if (const Call* call = as<Call>(op.condition); call != nullptr && call->name == "tensorized") {
      ++steps_;
      return;
    }
    if (!op.else_case.defined()) return visit(op.then_case);
    visit(block({op.then_case, op.else_case}));
  }

 private:
  const Target& target_;
  int64_t max_step_;
  int max_depth_;
  bool explicit_;
  // Of the statement just visited: leaf statements once unrolled, the depth of loops that unroll
  // and of loops that stay.
  int64_t steps_ = 0;
  int unroll_depth_ = 0, kept_depth_ = 0;
};

class Expand : public FoldingMutator {
 public:
  explicit Expand(const Decisions& decisions) : decisions_(decisions) {}

 protected:
  using FoldingMutator::on;

  Expr on(const Load& op, const Expr& self) override {
    const Expr e = Mutator::on(op, self);
    const Var buffer = renamed(op.buffer);
    return buffer.same_as(op.buffer) ? e : with(e, [&](Load& l) { l.buffer = buffer; });
  }
  Stmt on(const Store& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    const Var buffer = renamed(op.buffer);
    return buffer.same_as(op.buffer) ? s : with(s, [&](Store& n) { n.buffer = buffer; });
  }

  Stmt on(const For& op, const Stmt& self) override {
    const auto decision = decisions_.find(&op);
    if (decision != decisions_.end() && decision->second == Decision::Expand) {
      const int64_t extent = *as_const_int(op.extent);
      const Expr min = mutate(op.min);
      std::vector<Stmt> copies;
      const bool outer = std::exchange(copying_, true);
      for (int64_t k = 0; k < extent; ++k) {
        values_[op.var.operator->()] = min + make_const(op.var.dtype(), k);
        copies.push_back(mutate(op.body));
      }
      copying_ = outer;
      Stmt all = block(copies);
      return all.defined() ? all : make(Evaluate{.value = 0});
    }
    const Var var = fresh(op.var);
    const Stmt s = Mutator::on(op, self);
    ForKind kind = op.for_kind;
    if (decision != decisions_.end()) {
      kind = decision->second == Decision::Keep ? ForKind::Serial : ForKind::Unrolled;
    }
    if (kind == op.for_kind && var.same_as(op.var)) return s;
    return with(s, [&](For& f) {
      f.var = var;
      f.for_kind = kind;
    });
  }
  Stmt on(const LetStmt& op, const Stmt& self) override {
    const Var var = fresh(op.var);
    const Stmt s = Mutator::on(op, self);
    return var.same_as(op.var) ? s : with(s, [&](LetStmt& l) { l.var = var; });
  }
  Expr on(const Let& op, const Expr& self) override {
    const Var var = fresh(op.var);
    const Expr e = Mutator::on(op, self);
    return var.same_as(op.var) ? e : with(e, [&](Let& l) { l.var = var; });
  }
  Stmt on(const Allocate& op, const Stmt& self) override {
    const Var buffer = fresh(op.buffer);
    const Stmt s = Mutator::on(op, self);
    return buffer.same_as(op.buffer) ? s : with(s, [&](Allocate& a) { a.buffer = buffer; });
  }
  Stmt on(const AttrStmt& op, const Stmt& self) override {
    // A pragma of a loop that unrolls away has done its work.
    const bool pragma = op.key.starts_with(attr::kPragmaPrefix);
    if (pragma && (op.key == attr::kAutoUnrollMaxStep || op.key == attr::kUnrollExplicit)) {
      return mutate(op.body);
    }
    if (!pragma) return Mutator::on(op, self);
    const Stmt body = mutate(op.body);
    return body.same_as(op.body) ? self : with(self, [&](AttrStmt& a) { a.body = body; });
  }

 private:
  // The variable that a binding inside a copy gets; the original where nothing is copied.
  Var fresh(const Var& var) {
    if (!copying_) return var;
    const Expr e = make(Variable(*var.operator->()));
    values_[var.operator->()] = e;
    return Var(as<Variable>(e));
  }
  Var renamed(const Var& buffer) const {
    auto it = values_.find(buffer.operator->());
    return it == values_.end() ? buffer : Var(as<Variable>(it->second));
  }

  const Decisions& decisions_;
  bool copying_ = false;
};

}  // namespace

Kernel unroll_loop(Kernel kernel, const PassContext& context) {
  Decide decide(context);
  decide.visit(kernel.body);
  kernel.body = Expand(decide.decisions).mutate(kernel.body);
  return kernel;
}

}  // namespace tw::pass
