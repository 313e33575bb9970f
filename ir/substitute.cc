// SPDX-License-Identifier: Apache-2.0
#include "ir/substitute.h"

#include <deque>
#include <utility>

#include "ir/fields.h"
#include "ir/visit.h"
#include "runtime/error.h"

namespace tw {
namespace {

class Substitute : public Mutator {
 public:
  explicit Substitute(const std::function<Expr(const Var&)>& f) : Mutator(Shared::Once), f_(f) {}

 protected:
  using Mutator::on;
  Expr on(const Variable& op, const Expr& self) override {
    Expr next = f_(Var(&op));
    return next.defined() ? next : self;
  }
  Expr on(const Load& op, const Expr& self) override {
    return with_buffer<Load>(op.buffer, Mutator::on(op, self));
  }
  Stmt on(const Store& op, const Stmt& self) override {
    return with_buffer<Store>(op.buffer, Mutator::on(op, self));
  }
  Stmt on(const Allocate& op, const Stmt& self) override {
    return with_buffer<Allocate>(op.buffer, Mutator::on(op, self));
  }

 private:
  template <class T, class H>
  H with_buffer(const Var& old, H node) {
    const Expr next = f_(old);
    if (!next.defined() || next.same_as(old)) return node;
    TW_CHECK(is<Variable>(next), "a buffer can be replaced by another variable only");
    return with(node, [&](T& n) { n.buffer = Var(as<Variable>(next)); });
  }
  const std::function<Expr(const Var&)>& f_;
};

// Meets every variable: uses through `use`, bindings through `bind` and `unbind`.
class VariableWalk : public Visitor {
 public:
  explicit VariableWalk(Shared shared) : Visitor(shared) {}

 protected:
  using Visitor::on;
  virtual void use(const Var& v) = 0;
  virtual void bind(const Var&) {}
  virtual void unbind(const Var&) {}

  void on(const Variable& op) override { use(Var(&op)); }
  void on(const Load& op) override {
    use(op.buffer);
    Visitor::on(op);
  }
  void on(const Store& op) override {
    use(op.buffer);
    Visitor::on(op);
  }
  void on(const Let& op) override { binding(op.value, op.var, op.body); }
  void on(const LetStmt& op) override { binding(op.value, op.var, op.body); }
  void on(const For& op) override {
    visit(op.min);
    binding(op.extent, op.var, op.body);
  }
  void on(const Allocate& op) override {
    for (const Expr& e : op.extents) visit(e);
    binding(Expr(), op.buffer, op.body);
  }
  void on(const AttrStmt& op) override {
    const Variable* bound = bound_by(op);
    if (bound == nullptr) return Visitor::on(op);
    binding(op.value, Var(bound), op.body);
  }
  void on(const Reduce& op) override {
    for (const IterVar& iv : op.axis) {
      visit(iv->domain.min);
      visit(iv->domain.extent);
    }
    for (const Expr& e : op.combiner.identity) visit(e);
    std::vector<Var> bound = op.combiner.lhs;
    bound.insert(bound.end(), op.combiner.rhs.begin(), op.combiner.rhs.end());
    for (const IterVar& iv : op.axis) bound.push_back(iv.var());
    for (const Var& v : bound) bind(v);
    for (const Expr& e : op.combiner.result) visit(e);
    for (const Expr& e : op.source) visit(e);
    visit(op.condition);
    for (const Var& v : bound) unbind(v);
  }

 private:
  template <class Body>
  void binding(const Expr& value, const Var& var, const Body& body) {
    visit(value);
    bind(var);
    visit(body);
    unbind(var);
  }
};

class Uses : public VariableWalk {
 public:
  explicit Uses(std::function<bool(const Var&)> matches)
      : VariableWalk(Shared::Once), matches_(std::move(matches)) {}
  bool found = false;

 protected:
  // Nothing more is looked at once it is found.
#define EXPR_NODE(Name)               \
  void on(const Name& op) override {  \
    if (!found) VariableWalk::on(op); \
  }
#define STMT_NODE(Name) EXPR_NODE(Name)
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
  void use(const Var& v) override { found = found || matches_(v); }

 private:
  std::function<bool(const Var&)> matches_;
};

template <class H>
bool any_use(const H& handle, std::function<bool(const Var&)> matches) {
  Uses walk(std::move(matches));
  walk.visit(handle);
  return walk.found;
}

// What is free in a part that stands in several places is found once. Whether it is free around the
// part, or bound there, is another question in each place.
class FreeVars : public VariableWalk {
 public:
  FreeVars() : VariableWalk(Shared::EachPlace) {}
  const std::vector<Var>& result() const { return scope_.free; }

 protected:
#define EXPR_NODE(Name) \
  void on(const Name& op) override { meet(op); }
#define STMT_NODE(Name)
#include "ir/nodes.def"
#undef EXPR_NODE
#undef STMT_NODE
  using VariableWalk::on;

  void use(const Var& v) override {
    auto it = scope_.depth.find(v);
    if (it != scope_.depth.end() && it->second > 0) return;
    if (scope_.seen.insert(v).second) scope_.free.push_back(v);
  }
  void bind(const Var& v) override { ++scope_.depth[v]; }
  void unbind(const Var& v) override { --scope_.depth[v]; }

 private:
  // What is met in the whole, or in one part.
  struct Scope {
    std::unordered_map<Var, int, IdentityHash, IdentityEqual> depth;
    VarSet seen;
    std::vector<Var> free;
  };

  template <class T>
  void meet(const T& op) {
    const bool shared = !op.refs.unique() && !is_leaf(op);
    if (!shared || ++shared_met_ <= kVisitsBeforeMemory) return VariableWalk::on(op);
    auto known = known_.find(&op);
    if (known == known_.end()) {
      Scope outside = std::exchange(scope_, {});
      VariableWalk::on(op);
      known = known_.emplace(&op, std::exchange(scope_, std::move(outside)).free).first;
    }
    for (const Var& v : known->second) use(v);
  }

  Scope scope_;
  int shared_met_ = 0;
  std::unordered_map<const ExprBase*, std::vector<Var>> known_;
};

class RenameBindings : public Mutator {
 protected:
  using Mutator::on;
  Expr on(const Variable& op, const Expr& self) override {
    const Var next = renamed(Var(&op));
    return next.defined() ? Expr(next) : self;
  }
  Expr on(const Load& op, const Expr& self) override {
    return with_buffer<Load>(Mutator::on(op, self));
  }
  Stmt on(const Store& op, const Stmt& self) override {
    return with_buffer<Store>(Mutator::on(op, self));
  }
  Expr on(const Let& op, const Expr&) override { return make(let(op)); }
  Stmt on(const LetStmt& op, const Stmt&) override { return make(let(op)); }
  Stmt on(const For& op, const Stmt&) override {
    For copy = op;
    copy.min = mutate(op.min);
    copy.extent = mutate(op.extent);
    Binding var(*this, copy.var);
    copy.body = mutate(op.body);
    return make(std::move(copy));
  }
  Stmt on(const AttrStmt& op, const Stmt& self) override {
    const Variable* bound = bound_by(op);
    if (bound == nullptr) return Mutator::on(op, self);
    AttrStmt copy = op;
    copy.value = mutate(op.value);
    Var var(bound);
    Binding binding(*this, var);
    copy.node = var;
    copy.body = mutate(op.body);
    return make(std::move(copy));
  }
  Stmt on(const Allocate& op, const Stmt&) override {
    Allocate copy = op;
    copy.extents = mutate(op.extents);
    Binding buffer(*this, copy.buffer);
    copy.body = mutate(op.body);
    return make(std::move(copy));
  }
  Expr on(const Reduce& op, const Expr&) override {
    Reduce copy = op;
    std::deque<Binding> bindings;
    for (IterVar& iv : copy.axis) {
      const Range domain = mutate(iv->domain);
      Var var = iv.var();
      bindings.emplace_back(*this, var);
      iv = IterVar(domain, var, iv->kind);
    }
    copy.combiner.identity = mutate(op.combiner.identity);
    for (Var& v : copy.combiner.lhs) bindings.emplace_back(*this, v);
    for (Var& v : copy.combiner.rhs) bindings.emplace_back(*this, v);
    copy.combiner.result = mutate(op.combiner.result);
    copy.source = mutate(op.source);
    copy.condition = mutate(op.condition);
    return make(std::move(copy));
  }

 private:
  // Replaces `var` by a fresh variable, and renames its uses while this lives.
  class Binding {
   public:
    Binding(RenameBindings& owner, Var& var) : owner_(owner), old_(var) {
      const Expr fresh =
          make(Variable{.name = var.name(), .type = var->type, .element = var->element});
      var = Var(as<Variable>(fresh));
      Var& renamed = owner_.renamed_[old_];
      outer_ = renamed;
      renamed = var;
    }
    Binding(const Binding&) = delete;
    ~Binding() { owner_.renamed_[old_] = outer_; }

   private:
    RenameBindings& owner_;
    Var old_, outer_;
  };
  template <class T>
  T let(const T& op) {
    T copy = op;
    copy.value = mutate(op.value);
    Binding var(*this, copy.var);
    copy.body = mutate(op.body);
    return copy;
  }
  Var renamed(const Var& v) const {
    auto it = renamed_.find(v);
    return it == renamed_.end() ? Var() : it->second;
  }
  template <class T, class H>
  H with_buffer(H node) {
    const Var buffer = renamed(as<T>(node)->buffer);
    return buffer.defined() ? with(node, [&](T& n) { n.buffer = buffer; }) : node;
  }
  // Undefined where the variable is free.
  std::unordered_map<Var, Var, IdentityHash, IdentityEqual> renamed_;
};

std::function<Expr(const Var&)> look_up(const VarMap& map) {
  return [&map](const Var& v) {
    auto it = map.find(v);
    return it == map.end() ? Expr() : it->second;
  };
}

}  // namespace

Expr substitute(const Expr& e, const VarMap& map) {
  if (map.empty()) return e;
  const auto f = look_up(map);
  return Substitute(f).mutate(e);
}
Stmt substitute(const Stmt& s, const VarMap& map) {
  return map.empty() ? s : substitute(s, look_up(map));
}
Stmt substitute(const Stmt& s, const std::function<Expr(const Var&)>& f) {
  return Substitute(f).mutate(s);
}

bool uses(const Expr& e, const Var& var) {
  return any_use(e, [&](const Var& v) { return v.same_as(var); });
}
bool uses(const Stmt& s, const Var& var) {
  return any_use(s, [&](const Var& v) { return v.same_as(var); });
}
bool uses_any(const Expr& e, const VarSet& vars) {
  return any_use(e, [&](const Var& v) { return vars.count(v) != 0; });
}

std::vector<Var> free_vars(const Expr& e) {
  FreeVars walk;
  walk.visit(e);
  return walk.result();
}
std::vector<Var> free_vars(const Stmt& s) {
  FreeVars walk;
  walk.visit(s);
  return walk.result();
}

bool is_pure(const Expr& e) {
  bool pure = true;
  for_each_part(e, [&](const Expr& x) {
    const Call* call = as<Call>(x);
    if (call && call->call_kind != CallKind::PureIntrinsic &&
        call->call_kind != CallKind::PureExtern) {
      pure = false;
    }
  });
  return pure;
}

bool loads_memory(const Expr& e) {
  bool found = false;
  for_each_part(e, [&](const Expr& x) { found |= is<Load>(x); });
  return found;
}

Stmt rename_bindings(const Stmt& s) { return RenameBindings().mutate(s); }

}  // namespace tw
