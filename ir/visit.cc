// SPDX-License-Identifier: Apache-2.0
#include "ir/visit.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "ir/fields.h"
#include "ir/visit_count.h"
#include "runtime/error.h"

namespace tw {
namespace {

thread_local uint64_t visited = 0;

// Calls `f` with the node as what it is.
template <class F>
auto with_node(const Expr& e, F f) {
  switch (e->kind) {
#define EXPR_NODE(Name) \
  case NodeKind::Name:  \
    return f(static_cast<const Name&>(*e));
#define STMT_NODE(Name)
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
    default:
      check_failed(__FILE__, __LINE__, "a statement where an expression belongs", "");
  }
}
template <class F>
auto with_node(const Stmt& s, F f) {
  switch (s->kind) {
#define EXPR_NODE(Name)
#define STMT_NODE(Name) \
  case NodeKind::Name:  \
    return f(static_cast<const Name&>(*s));
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
    default:
      check_failed(__FILE__, __LINE__, "an expression where a statement belongs", "");
  }
}

// Whether it may stand in several places, and is worth remembering.
bool is_shared(const Expr& e) { return !e->refs.unique() && !is_leaf(*e); }

// Mutates each field of a node. Most nodes do not change, so the copy waits for the first field
// that does.
template <class T>
struct FieldMutate {
  Mutator& m;
  const T& op;
  std::optional<T> copy = {};

  T& edited() {
    if (!copy) copy = op;
    return *copy;
  }
  template <class F>
  void field(F T::* member) {
    const F& old = op.*member;
    if constexpr (std::is_same_v<F, Expr> || std::is_same_v<F, Stmt>) {
      F next = m.mutate(old);
      if (!next.same_as(old)) edited().*member = std::move(next);
    } else if constexpr (std::is_same_v<F, std::vector<Expr>> ||
                         std::is_same_v<F, std::vector<Stmt>>) {
      for (size_t k = 0; k < old.size(); ++k) {
        auto next = m.mutate(old[k]);
        if (!next.same_as(old[k])) (edited().*member)[k] = std::move(next);
      }
    } else if constexpr (std::is_same_v<F, std::vector<Range>>) {
      for (size_t k = 0; k < old.size(); ++k) {
        if (Range next = old[k]; mutate(next)) (edited().*member)[k] = std::move(next);
      }
    } else if constexpr (std::is_same_v<F, std::vector<IterVar>>) {
      // The domains of a reduction's axes; the axis keeps its variable, hence its uses.
      for (size_t k = 0; k < old.size(); ++k) {
        Range next = old[k]->domain;
        if (mutate(next)) (edited().*member)[k] = IterVar(next, old[k]->var, old[k]->kind);
      }
    }
    // Variables in binding and buffer positions, and data, stay.
  }
  bool mutate(Range& r) {
    const Range next = m.mutate(r);
    const bool changed = !next.min.same_as(r.min) || !next.extent.same_as(r.extent);
    r = next;
    return changed;
  }
};

template <class T, class H>
H mutate_fields(Mutator& m, const T& op, const H& self) {
  FieldMutate<T> walk{m, op};
  std::apply([&](auto... member) { (walk.field(member), ...); }, NodeFields<T>::value);
  if (!walk.copy) return self;
  // A statement may have become several.
  if constexpr (std::is_same_v<T, Block>) return block(walk.copy->stmts);
  return make(std::move(*walk.copy));
}

}  // namespace

uint64_t nodes_visited() { return visited; }
void count_visits(uint64_t nodes) { visited += nodes; }

Visitor::~Visitor() { count_visits(static_cast<uint64_t>(visits_)); }
Mutator::~Mutator() { count_visits(static_cast<uint64_t>(visits_)); }

void Visitor::visit(const Expr& e) {
  if (!has(e, kinds_)) return;
  ++visits_;
  if (shared_ == Shared::Once && visits_ > kVisitsBeforeMemory && is_shared(e) &&
      !met_.insert(e.get()).second)
    return;
  with_node(e, [this](const auto& op) { on(op); });
}

void Visitor::visit(const Stmt& s) {
  if (!has(s, kinds_)) return;
  ++visits_;
  with_node(s, [this](const auto& op) { on(op); });
}

#define VISIT_FIELDS(Name)           \
  void Visitor::on(const Name& op) { \
    FieldWalk<Visitor> walk{*this};  \
    for_each_field(op, walk);        \
  }
#define EXPR_NODE(Name) VISIT_FIELDS(Name)
#define STMT_NODE(Name) VISIT_FIELDS(Name)
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
#undef VISIT_FIELDS

Expr Mutator::mutate(const Expr& e) {
  if (!has(e, kinds_)) return e;
  ++visits_;
  if (shared_ == Shared::Once && visits_ > kVisitsBeforeMemory && is_shared(e))
    return mutate_once(e);
  return with_node(e, [&](const auto& op) { return on(op, e); });
}

Expr Mutator::mutate_once(const Expr& e) {
  if (const auto known = known_.find(e.get()); known != known_.end()) return known->second;
  Expr result = with_node(e, [&](const auto& op) { return on(op, e); });
  known_.emplace(e.get(), result);
  return result;
}

Stmt Mutator::mutate(const Stmt& s) {
  if (!has(s, kinds_)) return s;
  ++visits_;
  return with_node(s, [&](const auto& op) { return on(op, s); });
}

Range Mutator::mutate(const Range& r) { return {mutate(r.min), mutate(r.extent)}; }

std::vector<Expr> Mutator::mutate(const std::vector<Expr>& list) {
  std::vector<Expr> result;
  result.reserve(list.size());
  for (const Expr& e : list) result.push_back(mutate(e));
  return result;
}

#define EXPR_NODE(Name) \
  Expr Mutator::on(const Name& op, const Expr& self) { return mutate_fields(*this, op, self); }
#define STMT_NODE(Name) \
  Stmt Mutator::on(const Name& op, const Stmt& self) { return mutate_fields(*this, op, self); }
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE

namespace {

// One walk for the three for_each functions: every node is reported, then its fields. It hands out
// the handles that nodes hold, where a Visitor would have to make new ones.
class ForEach {
 public:
  const std::function<void(const Expr&)>* on_expr = nullptr;
  const std::function<void(const Stmt&)>* on_stmt = nullptr;
  Shared shared = Shared::EachPlace;
  ~ForEach() { count_visits(visits_); }

  void visit(const Expr& e) {
    if (!e.defined() || on_expr == nullptr) return;  // no statement stands in an expression
    ++visits_;
    if (shared == Shared::Once && !e->refs.unique() && !met_.insert(e.get()).second) return;
    (*on_expr)(e);
    descend(e);
  }
  void visit(const Stmt& s) {
    if (!s.defined()) return;
    ++visits_;
    if (on_stmt) (*on_stmt)(s);
    descend(s);
  }

 private:
  template <class Handle>
  void descend(const Handle& node) {
    FieldWalk<ForEach> walk{*this};
    with_node(node, [&](const auto& op) { for_each_field(op, walk); });
  }
  std::unordered_set<const ExprBase*> met_;
  uint64_t visits_ = 0;
};

// Only the next level.
struct Operands {
  const std::function<void(const Expr&)>& f;
  void visit(const Expr& e) {
    if (e.defined()) f(e);
  }
  void visit(const Stmt&) {}
};

class Depth : public Visitor {
 public:
  explicit Depth(int levels) : levels_(levels) {}
  bool exceeded = false;

 protected:
#define EXPR_NODE(Name) \
  void on(const Name& op) override { meet(op); }
#define STMT_NODE(Name)
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE

 private:
  using Visitor::on;
  // A node that stands in several places has as many levels in each.
  template <class T>
  void meet(const T& op) {
    if (exceeded) return;
    if (const auto known = height_.find(&op); known != height_.end()) {
      exceeded = depth_ + known->second > levels_;
      tallest_ = std::max(tallest_, known->second);
      return;
    }
    exceeded = depth_ == levels_;
    if (exceeded) return;
    ++depth_;
    const int beside = std::exchange(tallest_, 0);
    Visitor::on(op);
    --depth_;
    const int height = tallest_ + 1;
    height_.emplace(&op, height);
    tallest_ = std::max(beside, height);
  }

  int levels_, depth_ = 0;
  int tallest_ = 0;  // of the operands met so far
  std::unordered_map<const ExprBase*, int> height_;
};

class Rewrite : public Mutator {
 public:
  Rewrite() : Mutator(Shared::Once) {}
  const std::function<Expr(const Expr&)>* f = nullptr;

 protected:
  using Mutator::on;
#define EXPR_NODE(Name)                                \
  Expr on(const Name& op, const Expr& self) override { \
    Expr next = Mutator::on(op, self);                 \
    Expr replaced = (*f)(next);                        \
    return replaced.defined() ? replaced : next;       \
  }
#define STMT_NODE(Name)
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
};

}  // namespace

void for_each_part(const Expr& root, const std::function<void(const Expr&)>& f) {
  ForEach walk;
  walk.on_expr = &f;
  walk.shared = Shared::Once;
  walk.visit(root);
}
void for_each_expr(const Expr& root, const std::function<void(const Expr&)>& f) {
  ForEach walk;
  walk.on_expr = &f;
  walk.visit(root);
}
void for_each_operand(const Expr& e, const std::function<void(const Expr&)>& f) {
  Operands operands{f};
  FieldWalk<Operands> walk{operands};
  with_node(e, [&](const auto& op) { for_each_field(op, walk); });
}
bool deeper_than(const Expr& root, int levels) {
  Depth walk(levels);
  walk.visit(root);
  return walk.exceeded;
}

void for_each_expr(const Stmt& root, const std::function<void(const Expr&)>& f) {
  ForEach walk;
  walk.on_expr = &f;
  walk.visit(root);
}
void for_each_stmt(const Stmt& root, const std::function<void(const Stmt&)>& f) {
  ForEach walk;
  walk.on_stmt = &f;
  walk.visit(root);
}
Expr rewrite(const Expr& root, const std::function<Expr(const Expr&)>& f) {
  Rewrite walk;
  walk.f = &f;
  return walk.mutate(root);
}
Stmt rewrite(const Stmt& root, const std::function<Expr(const Expr&)>& f) {
  Rewrite walk;
  walk.f = &f;
  return walk.mutate(root);
}

}  // namespace tw
