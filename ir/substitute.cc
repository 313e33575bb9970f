// SPDX-License-Identifier: Apache-2.0
#include "ir/substitute.h"

#include <deque>

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
  VariableWalk() : Visitor(Shared::Once) {}

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
  explicit Uses(std::function<bool(const Var&)> matches) : matches_(std::move(matches)) {}
  bool found = false;

 protected:
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

class FreeVars : public VariableWalk {
 public:
  std::vector<Var> result;

 protected:
  void use(const Var& v) override {
    auto it = depth_.find(v);
    if (it != depth_.end() && it->second > 0) return;
    if (seen_.insert(v).second) result.push_back(v);
  }
  void bind(const Var& v) override {
    ++depth_[v];
    meet_again();
  }
  void unbind(const Var& v) override {
    --depth_[v];
    meet_again();
  }

 private:
  std::unordered_map<Var, int, IdentityHash, IdentityEqual> depth_;
  VarSet seen_;
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
  return walk.result;
}
std::vector<Var> free_vars(const Stmt& s) {
  FreeVars walk;
  walk.visit(s);
  return walk.result;
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
