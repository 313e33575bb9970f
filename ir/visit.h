// SPDX-License-Identifier: Apache-2.0
// Walks over the IR. Override `on` for the kinds that matter; call the base's `on` to descend.
// A pass that overrides any `on` says `using Visitor::on;` (or Mutator::on).
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/node.h"

namespace tw {

// How often a walk meets a part of an expression that stands in several places: in each, which
// takes twice as long with every level of x = x*x + x, or once, for what does not depend on the
// place.
enum class Shared : uint8_t { EachPlace, Once };
// Most walks are short: what the first nodes are is not worth remembering.
constexpr int kVisitsBeforeMemory = 64;

class Visitor {
 public:
  explicit Visitor(Shared shared = Shared::EachPlace) : shared_(shared) {}
  // Passes over what has no node of these kinds inside.
  explicit Visitor(KindSet kinds) : kinds_(kinds) {}
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

 private:
  Shared shared_ = Shared::EachPlace;
  KindSet kinds_ = KindSet::all();
  int visits_ = 0;
  std::unordered_set<const ExprBase*> met_;
};

// Rebuilds what changed and shares what did not: an unchanged subtree comes back as itself.
class Mutator {
 public:
  explicit Mutator(Shared shared = Shared::EachPlace) : shared_(shared) {}
  // Leaves what has no node of these kinds inside as it is.
  explicit Mutator(KindSet kinds) : kinds_(kinds) {}
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

 private:
  Expr mutate_once(const Expr& e);
  Shared shared_ = Shared::EachPlace;
  KindSet kinds_ = KindSet::all();
  int visits_ = 0;
  // By identity; what is in here is a part of what is being mutated, which lives as long.
  std::unordered_map<const ExprBase*, Expr> known_;
};

// Calls `f` on every node once, parents first.
void for_each_part(const Expr& root, const std::function<void(const Expr&)>& f);
// Calls `f` on every node in each place where it stands, parents first.
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
