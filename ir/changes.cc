// SPDX-License-Identifier: Apache-2.0
#include "ir/changes.h"

#include <set>
#include <utility>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"

namespace tw {
namespace {

using Output = std::pair<const Producer*, int>;

// The memory that an expression reads.
struct Memory {
  VarSet buffers;
  std::set<Output> outputs;  // look-ups only
  bool empty() const { return buffers.empty() && outputs.empty(); }
};

Memory read_by(const Expr& e) {
  Memory memory;
  for_each_part(e, [&](const Expr& part) {
    if (const Load* load = as<Load>(part)) memory.buffers.insert(load->buffer);
    if (const ProducerLoad* load = as<ProducerLoad>(part))
      memory.outputs.emplace(load->producer.get(), load->value_index);
  });
  return memory;
}

// Whether statements write some of it. What is called, or gets the memory of a tensor under another
// name, may write anything.
class Writes : public Visitor {
 public:
  explicit Writes(const Memory& memory) : memory_(memory) {}
  bool found = false;

 protected:
  using Visitor::on;
  void on(const Store& op) override {
    found |= memory_.buffers.contains(op.buffer);
    Visitor::on(op);
  }
  void on(const Provide& op) override {
    found |= memory_.outputs.contains({op.producer.get(), op.value_index});
    Visitor::on(op);
  }
  void on(const AttrStmt& op) override {
    found |= op.key == attr::kBufferBind && !memory_.outputs.empty();
    Visitor::on(op);
  }
  void on(const Call& op) override {
    found |= op.call_kind == CallKind::Extern || op.call_kind == CallKind::Intrinsic;
    Visitor::on(op);
  }

 private:
  const Memory& memory_;
};

class HoldBounds : public Mutator {
 protected:
  using Mutator::on;
  Stmt on(const For& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    const For& loop = *as<For>(s);
    if (!may_change(loop.min, loop.body)) return s;
    const Var first(op.var.name() + ".first", op.var.dtype());
    return make(
        LetStmt{.var = first, .value = loop.min, .body = with(s, [&](For& f) { f.min = first; })});
  }
};

}  // namespace

bool may_change(const Expr& e, const Stmt& body) {
  const Memory memory = read_by(e);
  if (memory.empty()) return false;
  Writes writes(memory);
  writes.visit(body);
  return writes.found;
}

Expr lasting(const Expr& condition, const Stmt& body) {
  if (!may_change(condition, body)) return condition;
  const Call* call = as<Call>(condition);
  if (call != nullptr && call->name == "likely") return lasting(call->args[0], body);
  const And* both = as<And>(condition);
  if (both == nullptr) return {};
  const Expr a = lasting(both->a, body), b = lasting(both->b, body);
  return a.defined() && b.defined() ? a && b : a.defined() ? a : b;
}

Range lasting(const Range& range, const Stmt& body) {
  const auto held = [&](const Expr& e) -> Expr {
    return may_change(e, body) ? Expr(Var("bound", e.dtype())) : e;
  };
  return {held(range.min), held(range.extent)};
}

Stmt hold_changing_bounds(const Stmt& s) { return HoldBounds().mutate(s); }

}  // namespace tw
