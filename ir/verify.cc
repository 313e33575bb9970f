// SPDX-License-Identifier: Apache-2.0
#include "ir/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ir/attributes.h"
#include "ir/expr.h"
#include "ir/intrinsics.h"
#include "ir/print.h"
#include "ir/substitute.h"
#include "ir/visit.h"
#include "runtime/error.h"

namespace tw {
namespace {

// The text of a node, cut where it gets long.
template <class H>
std::string excerpt(const H& handle) {
  constexpr size_t kLimit = 400;
  std::string text = to_string(handle);
  if (text.size() > kLimit) text = text.substr(0, kLimit) + " …";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

template <class H>
[[noreturn]] void violated(Property property, const H& node, std::string_view what) {
  raise({.code = ErrorCode::MalformedIr,
         .what = fmt::format("{}: {} in\n{}", to_string(property), what, excerpt(node))});
}
Expr handle_of(const ExprBase& op) { return Expr::of(&op); }
Stmt handle_of(const StmtBase& op) { return Stmt(&op); }

class WellFormed : public Visitor {
 public:
  explicit WellFormed(const std::vector<Var>& free) {
    for (const Var& v : free) free_.insert(v);
  }

 protected:
  using Visitor::on;

  void on(const Variable& op) override {
    if (!is_known(Var(&op))) {
      fail(op, fmt::format("variable '{}' is used outside the scope of its binding", op.name));
    }
  }
  void on(const Load& op) override {
    buffer(op, op.buffer, op.type);
    index(op, op.index);
    Visitor::on(op);
  }
  void on(const Store& op) override {
    buffer(op, op.buffer, op.value.dtype());
    index(op, op.index);
    Visitor::on(op);
  }
  void on(const Let& op) override {
    visit(op.value);
    bind(op, op.var);
    visit(op.body);
    unbind(op.var);
  }
  void on(const LetStmt& op) override {
    visit(op.value);
    bind(op, op.var);
    visit(op.body);
    unbind(op.var);
  }
  void on(const For& op) override {
    if (!op.var.dtype().is_integer() || op.var.dtype().is_vector()) {
      fail(op, fmt::format("a loop over {}", to_string(op.var.dtype())));
    }
    visit(op.min);
    visit(op.extent);
    bind(op, op.var);
    visit(op.body);
    unbind(op.var);
  }
  void on(const AttrStmt& op) override {
    const Variable* bound = bound_by(op);
    if (bound == nullptr) return Visitor::on(op);
    visit(op.value);
    bind(op, Var(bound));
    visit(op.body);
    unbind(Var(bound));
  }
  void on(const Allocate& op) override {
    for (const Expr& e : op.extents) {
      if (!e.defined() || !e.dtype().is_integer() || e.dtype().is_vector()) {
        fail(op, "an extent that is not a scalar integer");
      }
      visit(e);
    }
    bind(op, op.buffer);
    visit(op.body);
    unbind(op.buffer);
  }
  // Several components of one reduction share its axes, so these are bound once for each.
  void on(const Reduce& op) override {
    for (const IterVar& iv : op.axis) {
      visit(iv->domain.min);
      visit(iv->domain.extent);
    }
    std::vector<Var> bound = op.combiner.lhs;
    bound.insert(bound.end(), op.combiner.rhs.begin(), op.combiner.rhs.end());
    for (const IterVar& iv : op.axis) bound.push_back(iv.var());
    for (const Var& v : bound) ++in_scope_[v.operator->()];
    Visitor::on(op);
    for (const Var& v : bound) unbind(v);
    if (op.condition.defined() && !op.condition.dtype().is_bool()) {
      fail(op, "a condition that is not bool");
    }
  }
  void on(const Call& op) override {
    const Intrinsic* known = find_intrinsic(op.name);
    const bool intrinsic =
        op.call_kind == CallKind::PureIntrinsic || op.call_kind == CallKind::Intrinsic;
    if (intrinsic && known != nullptr) {
      if (known->kind != op.call_kind) {
        fail(op, fmt::format("'{}' called as {}", op.name,
                             op.call_kind == CallKind::Intrinsic ? "having an effect" : "pure"));
      }
      if (known->arity >= 0 && static_cast<size_t>(known->arity) != op.args.size()) {
        fail(op, fmt::format("'{}' with {} arguments instead of {}", op.name, op.args.size(),
                             known->arity));
      }
      if (op.name == "if_then_else" &&
          (!op.args[0].dtype().is_bool() || op.args[1].dtype() != op.type ||
           op.args[2].dtype() != op.type)) {
        fail(op, "sides or condition of the wrong type");
      }
      if (op.name == "saturating_cast") {
        const DType from = op.args[0].dtype();
        const auto is_number = [](DType t) { return t.is_integer() || t.is_float(); };
        if (!is_number(op.type) || from.is_handle() || from.lanes != op.type.lanes) {
          fail(op,
               fmt::format("a saturating cast of {} to {}", to_string(from), to_string(op.type)));
        }
      }
    }
    Visitor::on(op);
  }
  void on(const ProducerLoad& op) override {
    indices(op, op.producer, op.value_index, op.indices);
    Visitor::on(op);
  }
  void on(const Provide& op) override {
    indices(op, op.producer, op.value_index, op.indices);
    const DType type = op.producer->output_dtype(op.value_index);
    if (op.value.dtype().element() != type.element()) {
      fail(op, fmt::format("a value of type {} for elements of {}", to_string(op.value.dtype()),
                           to_string(type)));
    }
    Visitor::on(op);
  }
  void on(const Realize& op) override {
    region(op, op.producer, op.value_index, op.bounds);
    Visitor::on(op);
  }
  void on(const Prefetch& op) override {
    region(op, op.producer, op.value_index, op.bounds);
    Visitor::on(op);
  }

 private:
  template <class T>
  [[noreturn]] static void fail(const T& op, std::string_view what) {
    violated(Property::WellFormed, handle_of(op), what);
  }
  bool is_known(const Var& v) const {
    const auto it = in_scope_.find(v.operator->());
    return (it != in_scope_.end() && it->second != 0) || free_.count(v) != 0;
  }
  template <class T>
  void bind(const T& op, const Var& v) {
    const auto [it, first] = in_scope_.emplace(v.operator->(), 0);
    if (!first) fail(op, fmt::format("variable '{}' is bound a second time", v.name()));
    ++it->second;
  }
  void unbind(const Var& v) { --in_scope_[v.operator->()]; }

  template <class T>
  void buffer(const T& op, const Var& buffer, DType accessed) {
    if (!is_known(buffer)) {
      fail(op, fmt::format("buffer '{}' is used outside the scope of its binding", buffer.name()));
    }
    if (!buffer.dtype().is_handle()) {
      fail(op,
           fmt::format("'{}' is not a buffer but {}", buffer.name(), to_string(buffer.dtype())));
    }
    if (accessed.element() != buffer->element.element()) {
      fail(op, fmt::format("'{}' holds {}, accessed as {}", buffer.name(),
                           to_string(buffer->element), to_string(accessed)));
    }
  }
  template <class T>
  void index(const T& op, const Expr& index) {
    if (!index.dtype().is_integer()) {
      fail(op, fmt::format("an index of type {}", to_string(index.dtype())));
    }
  }
  template <class T>
  void output(const T& op, const ProducerRef& p, int value_index) {
    if (value_index < 0 || value_index >= p->num_outputs()) {
      fail(op,
           fmt::format("output {} of '{}', which has {}", value_index, p->name, p->num_outputs()));
    }
  }
  template <class T>
  void rank(const T& op, const ProducerRef& p, int value_index, size_t count) {
    const size_t rank = p->output_shape(value_index).size();
    if (rank != count) {
      fail(op, fmt::format("{} indices for '{}' of rank {}", count, p->name, rank));
    }
  }
  template <class T>
  void indices(const T& op, const ProducerRef& p, int value_index, const std::vector<Expr>& list) {
    output(op, p, value_index);
    rank(op, p, value_index, list.size());
    for (const Expr& e : list) index(op, e);
  }
  template <class T>
  void region(const T& op, const ProducerRef& p, int value_index,
              const std::vector<Range>& bounds) {
    output(op, p, value_index);
    rank(op, p, value_index, bounds.size());
    for (const Range& r : bounds) {
      if (!r.min.defined() || !r.extent.defined()) fail(op, "a bound is missing");
      if (!r.min.dtype().is_integer() || r.min.dtype() != r.extent.dtype()) {
        fail(op, "bounds that are not integers of one type");
      }
    }
  }

  VarSet free_;
  std::unordered_map<const Variable*, int> in_scope_;  // 0: bound before, its scope has ended
};

class Flat : public Visitor {
 protected:
  using Visitor::on;
#define TW_NOT_FLAT(Name)                                                                   \
  void on(const Name& op) override {                                                        \
    violated(Property::Flat, handle_of(op), fmt::format("{} is left", to_string(op.kind))); \
  }
  TW_NOT_FLAT(Provide)
  TW_NOT_FLAT(Realize)
  TW_NOT_FLAT(Prefetch)
  TW_NOT_FLAT(ProducerLoad)
  TW_NOT_FLAT(Reduce)
#undef TW_NOT_FLAT
};

class NoLoops : public Visitor {
 public:
  NoLoops(Property property, ForKind kind) : property_(property), kind_(kind) {}

 protected:
  using Visitor::on;
  void on(const For& op) override {
    if (op.for_kind == kind_) {
      violated(property_, handle_of(op), fmt::format("a loop of kind {}", to_string(kind_)));
    }
    Visitor::on(op);
  }

 private:
  Property property_;
  ForKind kind_;
};

// A parallel loop, and a launch of tasks, start anew: what these allocate belongs to them.
class HoistedStorage : public Visitor {
 protected:
  using Visitor::on;
  void on(const For& op) override {
    const int outer = serial_loops_;
    serial_loops_ = op.for_kind == ForKind::Parallel ? 0 : outer + 1;
    Visitor::on(op);
    serial_loops_ = outer;
  }
  void on(const While& op) override {
    ++serial_loops_;
    Visitor::on(op);
    --serial_loops_;
  }
  void on(const AttrStmt& op) override {
    const int outer = serial_loops_;
    if (attr::is_parallel_launch(op.key)) serial_loops_ = 0;
    Visitor::on(op);
    serial_loops_ = outer;
  }
  void on(const Allocate& op) override {
    bool constant = true;
    for (const Expr& e : op.extents) constant = constant && is_const(e);
    if (constant && serial_loops_ > 0 && op.scope != attr::kTileScope) {
      violated(Property::HoistedStorage, handle_of(op),
               fmt::format("'{}' of constant size is allocated inside a loop", op.buffer.name()));
    }
    Visitor::on(op);
  }

 private:
  int serial_loops_ = 0;
};

// Code generation knows every row of ir/intrinsics.def but those that lower_intrin takes apart.
class Legalised : public Visitor {
 protected:
  using Visitor::on;
  void on(const Call& op) override {
    const bool intrinsic =
        op.call_kind == CallKind::PureIntrinsic || op.call_kind == CallKind::Intrinsic;
    if (intrinsic && find_intrinsic(op.name) == nullptr) {
      violated(Property::Legalised, handle_of(op), fmt::format("unknown intrinsic '{}'", op.name));
    }
    const bool lowered = op.name == "likely" || op.name == "sigmoid" || op.name == "rsqrt" ||
                         op.name == "isnan" || (op.name == "fabs" && !op.dtype.is_float());
    if (intrinsic && lowered) {
      violated(Property::Legalised, handle_of(op), fmt::format("'{}' is left", op.name));
    }
    Visitor::on(op);
  }
  void on(const FloorDiv& op) override {
    violated(Property::Legalised, handle_of(op), "floor division is left");
  }
  void on(const FloorMod& op) override {
    violated(Property::Legalised, handle_of(op), "floor modulo is left");
  }
};

void verify(const Stmt& s, Property property, const std::vector<Var>& free) {
  switch (property) {
    case Property::WellFormed:
      return WellFormed(free).visit(s);
    case Property::Flat:
      return Flat().visit(s);
    case Property::NoVectorLoops:
      return NoLoops(property, ForKind::Vectorized).visit(s);
    case Property::NoUnrollLoops:
      return NoLoops(property, ForKind::Unrolled).visit(s);
    case Property::NoParallelLoops:
      return NoLoops(property, ForKind::Parallel).visit(s);
    case Property::HoistedStorage:
      return HoistedStorage().visit(s);
    case Property::KernelSignature:
      for (const Var& v : free_vars(s)) {
        const auto is_it = [&](const Var& other) { return other.same_as(v); };
        if (std::ranges::any_of(free, is_it)) continue;
        violated(property, s, fmt::format("variable '{}' is not an argument", v.name()));
      }
      return;
    case Property::Legalised:
      return Legalised().visit(s);
  }
}

}  // namespace

std::string_view to_string(Property p) {
  switch (p) {
    case Property::WellFormed:
      return "well-formed";
    case Property::Flat:
      return "flat";
    case Property::NoVectorLoops:
      return "no-vector-loops";
    case Property::NoUnrollLoops:
      return "no-unroll-loops";
    case Property::NoParallelLoops:
      return "no-parallel-loops";
    case Property::HoistedStorage:
      return "hoisted-storage";
    case Property::KernelSignature:
      return "kernel-signature";
    case Property::Legalised:
      return "legalised";
  }
  return "?";
}

void verify(const Stmt& s, const std::vector<Property>& properties,
            const std::vector<Var>& free_vars) {
  for (Property p : properties) verify(s, p, free_vars);
}

}  // namespace tw
