// SPDX-License-Identifier: Apache-2.0
// Walks over the IR. Override `on` for the kinds that matter; call the base's `on` to descend.
// A pass that overrides any `on` says `using Visitor::on;` (or Mutator::on).
#pragma once

#include <functional>
#include <vector>

#include "ir/node.h"

namespace tw {

class Visitor {
 public:
  virtual ~Visitor();
  // Undefined handles are passed over.
  void visit(const Expr& e);
  void visit(const Stmt& s);

 protected:
#define EXPR_NODE(Name) virtual void on(const Name& op);
#define STMT_NODE(Name) virtual void on(const Name& op);
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
};

// Rebuilds what changed and shares what did not: an unchanged subtree comes back as itself.
class Mutator {
 public:
  virtual ~Mutator();
  Expr mutate(const Expr& e);
  Stmt mutate(const Stmt& s);
  Range mutate(const Range& r);
  std::vector<Expr> mutate(const std::vector<Expr>& list);

 protected:
  // `self` is the handle of `op`: return it when nothing changes.
#define EXPR_NODE(Name) virtual Expr on(const Name& op, const Expr& self);
#define STMT_NODE(Name) virtual Stmt on(const Name& op, const Stmt& self);
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
};

// Calls `f` on every node, parents first.
void for_each_expr(const Expr& root, const std::function<void(const Expr&)>& f);
void for_each_expr(const Stmt& root, const std::function<void(const Expr&)>& f);
void for_each_stmt(const Stmt& root, const std::function<void(const Stmt&)>& f);
// On those that `e` is made of directly.
void for_each_operand(const Expr& e, const std::function<void(const Expr&)>& f);

// Whether the tree has more levels than that. Every walk recurses, and so is bound by the stack.
bool deeper_than(const Expr& root, int levels);

// Replaces bottom-up: `f` sees a node whose children are already rewritten and returns its
// replacement, or an undefined handle to keep it.
Expr rewrite(const Expr& root, const std::function<Expr(const Expr&)>& f);
Stmt rewrite(const Stmt& root, const std::function<Expr(const Expr&)>& f);

}  // namespace tw
