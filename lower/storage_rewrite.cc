// SPDX-License-Identifier: Apache-2.0
// storage_rewrite: buffers move out of loops, as far as the enclosing parallel loop, and those that
// are never live together share memory.
//
// before:                                   after:
//   produce B {                               // attr [A] storage_scope = "global"
//     for (y, 0, 4) {                         allocate A[float32 * 8]
//       allocate A[float32 * 8]               produce B {
//       …A…                                     for (y, 0, 4) {
//     }                                           …A…
//   }                                           }
//                                             }
//
// Only "global" buffers of one element type and constant size share: "local" ones are to become
// registers, each on its own. A result may also take over the memory of an operand that dies in the
// same loop nest when every element is read only where it is replaced.
#include <algorithm>
#include <map>
#include <optional>

#include "ir/attributes.h"
#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "lower/passes.h"

namespace tw::pass {
namespace {

// A buffer that can move. Positions count leaf statements and the two ends of loops.
struct Buffer {
  const Allocate* allocate = nullptr;
  const For* home = nullptr;  // the parallel loop whose body it moves to; null: the kernel's body
  size_t depth = 0;           // loops around the allocation
  int64_t elements = -1;      // -1: not constant
  int first = -1, last = -1;  // live from, to
  Stmt first_in, last_in;     // the statements, at the allocation's level, of those positions
  int storage = -1;
};

struct Storage {
  Var var;
  DType type;
  std::vector<Expr> extents;
  std::string scope;
  const For* home = nullptr;
  int64_t elements = -1;
  int last = -1;  // position of the last use by any buffer in it
};

std::optional<int64_t> count_elements(const std::vector<Expr>& extents) {
  int64_t n = 1;
  for (const Expr& e : extents) {
    auto c = as_const_int(e);
    if (!c) return std::nullopt;
    n *= *c;
  }
  return n;
}

// Finds the buffers that can move and when each is live.
class Liveness : public Visitor {
 public:
  std::vector<Buffer> buffers;
  std::map<const Variable*, size_t> index;  // look-ups only

 protected:
  using Visitor::on;

  void on(const Allocate& op) override {
    if (op.scope == attr::kTileScope) return Visitor::on(op);  // a register is free after its scope
    Buffer b;
    b.allocate = &op;
    b.elements = count_elements(op.extents).value_or(-1);
    b.depth = loops_.size();
    b.home = homes_.empty() ? nullptr : homes_.back();
    for (const Expr& e : op.extents) {
      for (const Var& v : free_vars(e)) {
        if (bound_.count(v) != 0) return Visitor::on(op);  // of a size known only here
      }
    }
    index[op.buffer.operator->()] = buffers.size();
    buffers.push_back(b);
    Visitor::on(op);
  }

  void on(const For& op) override {
    visit(op.min);
    visit(op.extent);
    // Inside another one it will be serial, and with one iteration no loop at all.
    const bool parallel = op.for_kind == ForKind::Parallel && homes_.empty() && !is_one(op.extent);
    VarSet outer;
    if (parallel) {
      homes_.push_back(&op);
      outer = std::exchange(bound_, {});
    }
    // What the home's own variables give is known where a buffer moves to.
    if (!parallel) bound_.insert(op.var);
    in_loop(op, [&] { visit(op.body); });
    if (parallel) {
      homes_.pop_back();
      bound_ = std::move(outer);
    }
  }
  void on(const While& op) override {
    in_loop(op, [&] { Visitor::on(op); });
  }
  void on(const LetStmt& op) override {
    visit(op.value);
    bound_.insert(op.var);
    visit(op.body);
  }
  void on(const Store& op) override {
    leaf(op, [&] { touch(op.buffer); });
  }
  void on(const Evaluate& op) override {
    leaf(op, [] {});
  }
  void on(const Load& op) override {
    touch(op.buffer);
    Visitor::on(op);
  }
  // A buffer passed to a call.
  void on(const Variable& op) override { touch(Var(&op)); }

 private:
  struct Loop {
    Stmt stmt;
    int begin;
    std::vector<size_t> touched;  // buffers from outside the loop, live during all of it
  };

  template <class T, class F>
  void leaf(const T& op, F f) {
    current_ = Stmt(&op);
    ++position_;
    f();
    Visitor::on(op);
    current_ = {};
  }

  // What one round of a loop leaves in memory another may read.
  template <class T, class F>
  void in_loop(const T& op, F rounds) {
    loops_.push_back({Stmt(&op), position_++, {}});
    rounds();
    const Loop loop = std::move(loops_.back());
    loops_.pop_back();
    const int end = position_++;
    for (size_t b : loop.touched) touch_span(b, loop.begin, end, loop.stmt);
  }

  void touch(const Var& var) {
    auto it = index.find(var.operator->());
    if (it == index.end()) return;
    touch_span(it->second, position_, position_, current_);
  }
  void touch_span(size_t b, int begin, int end, const Stmt& in) {
    Buffer& buffer = buffers[b];
    if (loops_.size() > buffer.depth) {
      std::vector<size_t>& touched = loops_.back().touched;
      if (std::find(touched.begin(), touched.end(), b) == touched.end()) touched.push_back(b);
      return;
    }
    if (buffer.first < 0) {
      buffer.first = begin;
      buffer.first_in = in;
    }
    buffer.last = end;
    buffer.last_in = in;
  }

  int position_ = 0;
  std::vector<Loop> loops_;
  std::vector<const For*> homes_;
  VarSet bound_;  // since the current home
  Stmt current_;
};

// Whether one nest reads `source` only to replace the same element of `target`, once each.
class InPlace : public Visitor {
 public:
  InPlace(Var source, Var target) : source_(std::move(source)), target_(std::move(target)) {}

  bool check(const Stmt& nest) {
    visit(nest);
    return ok_ && stores_ == 1;
  }

 protected:
  using Visitor::on;
  void on(const For& op) override {
    loops_.push_back(&op);
    Visitor::on(op);
    loops_.pop_back();
  }
  void on(const Variable& op) override {
    ok_ &= &op != source_.operator->() && &op != target_.operator->();
  }
  void on(const Load& op) override {
    if (op.buffer.same_as(target_)) ok_ = false;
    if (op.buffer.same_as(source_)) ok_ &= here_.defined() && equal(op.index, here_);
    Visitor::on(op);
  }
  void on(const Store& op) override {
    if (op.buffer.same_as(source_)) ok_ = false;
    const bool target = op.buffer.same_as(target_);
    if (target) {
      ++stores_;
      ok_ &= one_to_one(op.index);
      here_ = op.index;
      visit(op.value);
      here_ = {};
      visit(op.index);
      visit(op.predicate);
    } else {
      Visitor::on(op);
    }
  }
  void on(const While& op) override {
    ok_ = false;  // how often an element is replaced is not known
    Visitor::on(op);
  }
  void on(const Let& op) override {
    ok_ = false;  // the element may be read before the value is complete
    Visitor::on(op);
  }

 private:
  // The index is a sum of loop variables in which each takes larger steps than all smaller ones
  // together.
  bool one_to_one(const Expr& index) {
    std::map<const Variable*, int64_t> steps;
    int64_t lane_step = 0;
    int lanes = 1;
    if (const Ramp* r = as<Ramp>(index)) {
      lane_step = as_const_int(r->stride).value_or(0);
      lanes = r->lanes;
      if (lane_step <= 0 || !linear(r->base, 1, steps)) return false;
    } else if (index.dtype().is_vector() || !linear(index, 1, steps)) {
      return false;
    }
    std::vector<std::pair<int64_t, int64_t>> terms;  // step, extent
    if (lanes > 1) terms.push_back({lane_step, lanes});
    for (const For* loop : loops_) {
      auto extent = as_const_int(loop->extent);
      if (!extent) return false;
      if (*extent <= 1) continue;
      auto it = steps.find(loop->var.operator->());
      if (it == steps.end() || it->second == 0) return false;
      terms.push_back({std::abs(it->second), *extent});
    }
    std::sort(terms.begin(), terms.end());
    int64_t reach = 0;
    for (auto [step, extent] : terms) {
      if (step <= reach) return false;
      reach += step * (extent - 1);
    }
    return true;
  }
  static bool linear(const Expr& e, int64_t scale, std::map<const Variable*, int64_t>& steps) {
    if (const Variable* v = as<Variable>(e)) {
      steps[v] += scale;
      return true;
    }
    if (is_const(e)) return true;
    if (const Add* a = as<Add>(e)) return linear(a->a, scale, steps) && linear(a->b, scale, steps);
    if (const Sub* a = as<Sub>(e)) return linear(a->a, scale, steps) && linear(a->b, -scale, steps);
    if (const Mul* m = as<Mul>(e)) {
      if (auto c = as_const_int(m->b)) return linear(m->a, scale * *c, steps);
      if (auto c = as_const_int(m->a)) return linear(m->b, scale * *c, steps);
    }
    return false;
  }

  Var source_, target_;
  Expr here_;  // index of the store to the target that is being walked
  int stores_ = 0;
  bool ok_ = true;
  std::vector<const For*> loops_;
};

// Decides which buffers share one storage: by order of first use, into the storage that fits best
// among those that are free by then.
std::vector<Storage> plan(std::vector<Buffer>& buffers) {
  std::vector<size_t> order;
  for (size_t i = 0; i < buffers.size(); ++i) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers[a].first < buffers[b].first; });
  std::vector<Storage> storages;
  std::vector<size_t> last_buffer;  // of each storage
  for (size_t i : order) {
    Buffer& b = buffers[i];
    const Allocate& a = *b.allocate;
    const bool shares = a.scope == "global" && b.elements > 0 && b.first >= 0;
    int best = -1;
    for (size_t s = 0; shares && s < storages.size(); ++s) {
      const Storage& old = storages[s];
      if (old.scope != "global" || old.elements <= 0 || old.home != b.home || old.type != a.type ||
          old.last < 0) {
        continue;
      }
      bool free = old.last < b.first;
      const Buffer& previous = buffers[last_buffer[s]];
      if (!free && previous.last_in.defined() && previous.last_in.same_as(b.first_in) &&
          previous.elements == b.elements && previous.depth == b.depth) {
        free = InPlace(previous.allocate->buffer, a.buffer).check(b.first_in);
      }
      if (!free) continue;
      // The smallest that is large enough, else the largest.
      const auto better = [&](const Storage& x, const Storage& y) {
        const bool fx = x.elements >= b.elements, fy = y.elements >= b.elements;
        if (fx != fy) return fx;
        return fx ? x.elements < y.elements : x.elements > y.elements;
      };
      if (best < 0 || better(old, storages[static_cast<size_t>(best)])) best = static_cast<int>(s);
    }
    if (best < 0) {
      best = static_cast<int>(storages.size());
      storages.push_back({.var = a.buffer,
                          .type = a.type,
                          .extents = a.extents,
                          .scope = a.scope,
                          .home = b.home,
                          .elements = b.elements,
                          .last = b.last});
      last_buffer.push_back(i);
    } else {
      Storage& s = storages[static_cast<size_t>(best)];
      if (b.elements > s.elements) {
        s.elements = b.elements;
        s.extents = a.extents;
      }
      s.last = b.last;
      last_buffer[static_cast<size_t>(best)] = i;
    }
    b.storage = best;
  }
  return storages;
}

class Rewrite : public Mutator {
 public:
  Rewrite(const Liveness& live, const std::vector<Storage>& storages) : storages_(storages) {
    for (const Buffer& b : live.buffers) {
      moved_[b.allocate->buffer.operator->()] = storages[static_cast<size_t>(b.storage)].var;
    }
  }

  Stmt allocate_at(const For* home, Stmt body) const {
    for (auto s = storages_.rbegin(); s != storages_.rend(); ++s) {
      if (s->home != home) continue;
      body = make(Allocate{.buffer = s->var,
                           .type = s->type,
                           .extents = s->extents,
                           .scope = s->scope,
                           .body = body});
    }
    return body;
  }

 protected:
  using Mutator::on;
  Expr on(const Variable& op, const Expr& self) override {
    auto it = moved_.find(&op);
    return it == moved_.end() ? self : it->second;
  }
  Expr on(const Load& op, const Expr& self) override {
    const Expr e = Mutator::on(op, self);
    auto it = moved_.find(op.buffer.operator->());
    if (it == moved_.end() || it->second.same_as(op.buffer)) return e;
    return with(e, [&](Load& l) { l.buffer = it->second; });
  }
  Stmt on(const Store& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    auto it = moved_.find(op.buffer.operator->());
    if (it == moved_.end() || it->second.same_as(op.buffer)) return s;
    return with(s, [&](Store& n) { n.buffer = it->second; });
  }
  Stmt on(const Allocate& op, const Stmt& self) override {
    return moved_.count(op.buffer.operator->()) != 0 ? mutate(op.body) : Mutator::on(op, self);
  }
  Stmt on(const For& op, const Stmt& self) override {
    const Stmt s = Mutator::on(op, self);
    const Stmt body = allocate_at(&op, as<For>(s)->body);
    return body.same_as(as<For>(s)->body) ? s : with(s, [&](For& f) { f.body = body; });
  }

 private:
  const std::vector<Storage>& storages_;
  std::map<const Variable*, Var> moved_;  // look-ups only
};

}  // namespace

Kernel storage_rewrite(Kernel kernel, const PassContext&) {
  Liveness live;
  live.visit(kernel.body);
  if (live.buffers.empty()) return kernel;
  const std::vector<Storage> storages = plan(live.buffers);
  const Rewrite rewrite(live, storages);
  kernel.body = rewrite.allocate_at(nullptr, Rewrite(rewrite).mutate(kernel.body));
  return kernel;
}

}  // namespace tw::pass
