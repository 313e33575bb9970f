// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>

#include "ir/attributes.h"
#include "ir/interpret_program.h"
#include "ir/visit.h"
#include "runtime/error.h"

namespace tw::interpreter {
namespace {

// Each `on` leaves the code of its node in `result_`.
class Compiler : public Visitor {
 public:
  Compiler(const InterpreterScope& scope, Program& program) : scope_(scope), program_(program) {}

  template <class H>
  const Code* compile(const H& handle) {
    if (!handle.defined()) return nullptr;
    visit(handle);
    return result_;
  }
  int new_slot(const Var& v) {
    const int slot = program_.frame_size;
    program_.frame_size += v.dtype().lanes;
    slots_[v.operator->()] = slot;
    return slot;
  }

 protected:
  using Visitor::on;

  void on(const Variable& op) override {
    const int slot = slot_of(Var(&op));
    Code& c = add(slot < 0 ? Op::Unbound : Op::Slot, op.dtype);
    c.slot = slot;
    c.name = op.name;
  }
  void on(const IntImm& op) override { add(Op::Constant, op.dtype).value.i = op.value; }
  void on(const FloatImm& op) override { add(Op::Constant, op.dtype).value.f = op.value; }
  void on(const StringImm& op) override { add(Op::Constant, op.dtype).name = op.value; }
  void on(const Cast& op) override {
    const Code* a = compile(op.value);
    Code& c = add(Op::Convert, op.dtype);
    c.operand = op.value.dtype();
    c.a = a;
  }

#define BINARY_NODE(Name) \
  void on(const Name& op) override { binary(op.kind, op.a, op.b, op.dtype); }
#include "ir/binary_nodes.def"
#undef BINARY_NODE

  void on(const Not& op) override {
    const Code* a = compile(op.a);
    add(Op::Not, op.dtype).a = a;
  }
  void on(const Select& op) override {
    three(Op::Select, op.dtype, op.condition, op.true_value, op.false_value);
  }
  void on(const Load& op) override {
    Code& c = buffer_access(Op::Load, op.buffer, op.dtype);
    c.a = compile(op.index);
    c.b = compile(op.predicate);
    result_ = &c;
  }
  void on(const Ramp& op) override { three(Op::Ramp, op.dtype, op.base, op.stride, Expr()); }
  void on(const Broadcast& op) override {
    three(Op::Broadcast, op.dtype, op.value, Expr(), Expr());
  }
  void on(const Shuffle& op) override {
    Code& c = with_args(Op::Shuffle, op.dtype, op.vectors);
    std::vector<std::pair<int, int>> all;
    for (size_t k = 0; k < op.vectors.size(); ++k) {
      for (int lane = 0; lane < op.vectors[k].dtype().lanes; ++lane) {
        all.emplace_back(static_cast<int>(k), lane);
      }
    }
    for (int i : op.indices) c.lanes.push_back(all[static_cast<size_t>(i)]);
  }
  void on(const Call& op) override {
    const Intrinsic* known = find_intrinsic(op.name);
    const bool is_intrinsic =
        op.call_kind == CallKind::PureIntrinsic || op.call_kind == CallKind::Intrinsic;
    if (known == nullptr || !is_intrinsic) {
      with_args(Op::Extern, op.dtype, op.args).name = op.name;
      return;
    }
    if (known->arity >= 0 && static_cast<size_t>(known->arity) != op.args.size()) {
      raise({.code = ErrorCode::MalformedIr,
             .what = fmt::format("'{}' called with {} arguments", op.name, op.args.size()),
             .legal = fmt::format("{} arguments", known->arity)});
    }
    if (op.name == "if_then_else") {
      three(Op::IfThenElse, op.dtype, op.args[0], op.args[1], op.args[2]);
      return;
    }
    if (op.name == "likely") return visit(op.args[0]);
    if (op.name == "tensorized") {
      add(Op::Constant, op.dtype);
      return;
    }
    Op code = known->kind == CallKind::Intrinsic ? Op::Effect : Op::Intrinsic;
    if (scalar::is_argument(*known)) code = Op::Argument;
    Code& c = with_args(code, op.dtype, op.args);
    c.intrinsic = known;
    c.name = op.name;
    for (const Expr& a : op.args) c.arg_types.push_back(a.dtype());
  }
  void on(const Let& op) override {
    let(op.var, op.value, op.body, op.dtype).op = reads_own_lane(op) ? Op::LetLane : Op::Let;
  }
  void on(const Reduce& op) override {
    auto r = std::make_unique<Reduction>();
    std::vector<Var> bound = op.combiner.lhs;
    bound.insert(bound.end(), op.combiner.rhs.begin(), op.combiner.rhs.end());
    for (const IterVar& iv : op.axis) bound.push_back(iv.var());
    for (const IterVar& iv : op.axis) {
      const Code* min = compile(iv->domain.min);
      r->axes.push_back({-1, min, compile(iv->domain.extent)});
    }
    r->identity = compile_all(op.combiner.identity);
    const auto saved = save(bound);
    for (const Var& v : op.combiner.lhs) r->lhs.push_back(new_slot(v));
    for (const Var& v : op.combiner.rhs) r->rhs.push_back(new_slot(v));
    for (size_t i = 0; i < op.axis.size(); ++i) r->axes[i].slot = new_slot(op.axis[i].var());
    r->result = compile_all(op.combiner.result);
    r->source = compile_all(op.source);
    r->condition = compile(op.condition);
    r->value_index = static_cast<size_t>(op.value_index);
    restore(saved);
    add(Op::Reduce, op.dtype).reduction = std::move(r);
  }
  void on(const ProducerLoad& op) override {
    Code& c = region_access(Op::RegionLoad, op.producer, op.value_index, op.dtype);
    c.args = compile_all(op.indices);
    result_ = &c;
  }

  void on(const LetStmt& op) override { let(op.var, op.value, op.body, DType{}); }
  void on(const AttrStmt& op) override {
    if (op.key == attr::kBufferBind) return bind_buffer(op);
    const Variable* task = bound_by(op);
    if (task == nullptr) return visit(op.body);
    const Code* extent = compile(op.value);
    const Code& zero = add(Op::Constant, op.value.dtype());
    const auto saved = save({Var(task)});
    const int slot = new_slot(Var(task));
    const Code* body = compile(op.body);
    restore(saved);
    Code& c = add(Op::For, task->type);
    c.slot = slot;
    c.for_kind = ForKind::Parallel;
    c.a = &zero;
    c.b = extent;
    c.c = body;
  }
  void on(const AssertStmt& op) override {
    const Code* body = compile(op.body);
    three(Op::Assert, DType{}, op.condition, op.message, Expr()).c = body;
  }
  void on(const For& op) override {
    const Code* min = compile(op.min);
    const Code* extent = compile(op.extent);
    const auto saved = save({op.var});
    const int slot = new_slot(op.var);
    const Code* body = compile(op.body);
    restore(saved);
    Code& c = add(Op::For, op.var.dtype());
    c.slot = slot;
    c.for_kind = op.for_kind;
    c.a = min;
    c.b = extent;
    c.c = body;
  }
  void on(const While& op) override {
    const Code* condition = compile(op.condition);
    const Code* body = compile(op.body);
    Code& c = add(Op::While, DType{});
    c.a = condition;
    c.b = body;
  }
  void on(const Allocate& op) override {
    const auto extents = compile_all(op.extents);
    const auto saved = save({op.buffer});
    const int slot = new_slot(op.buffer);
    const Code* body = compile(op.body);
    restore(saved);
    Code& c = add(Op::Allocate, op.type);
    c.slot = slot;
    c.name = op.buffer.name();
    c.args = extents;
    c.a = body;
  }
  void on(const Store& op) override {
    Code& c = buffer_access(Op::Store, op.buffer, op.value.dtype());
    c.a = compile(op.index);
    c.b = compile(op.value);
    c.c = compile(op.predicate);
    result_ = &c;
  }
  void on(const Provide& op) override {
    Code& c = region_access(Op::RegionStore, op.producer, op.value_index, op.value.dtype());
    c.a = compile(op.value);
    c.args = compile_all(op.indices);
    result_ = &c;
  }
  void on(const Realize& op) override {
    std::vector<const Code*> bounds;
    for (const Range& r : op.bounds) {
      bounds.push_back(compile(r.min));
      bounds.push_back(compile(r.extent));
    }
    int& entry = region_of(op.producer, op.value_index);
    const int outer = entry;
    const int region = program_.region_count++;
    entry = region;
    const Code* body = compile(op.body);
    regions_[{op.producer.get(), op.value_index}] = outer;
    Code& c = add(Op::Realize, op.producer->output_dtype(op.value_index));
    c.slot = region;
    c.name = op.producer->name;
    c.args = bounds;
    c.a = body;
  }
  void on(const Produce& op) override { visit(op.body); }
  void on(const Prefetch&) override { add(Op::Nothing, DType{}); }
  void on(const Block& op) override {
    std::vector<const Code*> stmts;
    for (const Stmt& s : op.stmts) stmts.push_back(compile(s));
    add(Op::Block, DType{}).args = std::move(stmts);
  }
  void on(const IfThenElse& op) override {
    const Code* condition = compile(op.condition);
    const Code* then_case = compile(op.then_case);
    const Code* else_case = compile(op.else_case);
    Code& c = add(Op::IfThenElse, DType{});
    c.a = condition;
    c.b = then_case;
    c.c = else_case;
  }
  void on(const Evaluate& op) override {
    const Call* call = as<Call>(op.value);
    if (call != nullptr && call->name == "launch") return launch(*call);
    const Code* a = compile(op.value);
    add(Op::Evaluate, op.value.dtype()).a = a;
  }

 private:
  // The body of the device kernel inside bindings of its parameters.
  void launch(const Call& op) {
    const auto function = scope_.functions.find(as<StringImm>(op.args[0])->value);
    if (function == scope_.functions.end()) {
      raise({.code = ErrorCode::UnknownFunction,
             .what = fmt::format("there is no kernel '{}' to launch",
                                 as<StringImm>(op.args[0])->value)});
    }
    const std::vector<Var>& parameters = function->second.parameters;
    if (op.args.size() < parameters.size() + 1) {
      raise({.code = ErrorCode::MalformedIr,
             .what = fmt::format("'{}' is launched with {} arguments", function->first,
                                 op.args.size() - 1),
             .legal = fmt::format("{}", parameters.size())});
    }
    std::vector<const Code*> values;
    for (size_t k = 0; k < parameters.size(); ++k) values.push_back(compile(op.args[k + 1]));
    const auto saved = save(parameters);
    std::vector<int> slots;
    for (const Var& v : parameters) slots.push_back(new_slot(v));
    const Code* body = compile(function->second.body);
    restore(saved);
    for (size_t k = parameters.size(); k-- > 0;) {
      Code& c = add(Op::Let, DType{});
      c.operand = parameters[k].dtype();
      c.slot = slots[k];
      c.a = values[k];
      c.b = body;
      body = &c;
    }
    result_ = body;
  }
  // A variable for the memory of a tensor that is realized whole.
  void bind_buffer(const AttrStmt& op) {
    const Var buffer(bound_by(op));
    const ProducerLoad& tensor = *as<ProducerLoad>(op.value);
    const int region = region_of(tensor.producer, tensor.value_index);
    const auto saved = save({buffer});
    const int slot = new_slot(buffer);
    const Code* body = compile(op.body);
    restore(saved);
    Code& c = add(Op::BindBuffer, tensor.dtype);
    c.name = tensor.producer->name;
    c.slot = slot;
    c.region = region;
    c.a = body;
  }

  Code& add(Op op, DType type) {
    Code& c = program_.codes.emplace_back();
    c.op = op;
    c.type = type;
    result_ = &c;
    return c;
  }
  Code& three(Op op, DType type, const Expr& x, const Expr& y, const Expr& z) {
    const Code* a = compile(x);
    const Code* b = compile(y);
    const Code* c = compile(z);
    Code& code = add(op, type);
    code.a = a;
    code.b = b;
    code.c = c;
    return code;
  }
  void binary(NodeKind kind, const Expr& x, const Expr& y, DType type) {
    const bool int32 = type.element() == int_type(32);
    Op op = Op::Binary;
    if (int32 && kind == NodeKind::Add) op = Op::AddInt32;
    if (int32 && kind == NodeKind::Sub) op = Op::SubInt32;
    if (int32 && kind == NodeKind::Mul) op = Op::MulInt32;
    if (kind == NodeKind::And) op = Op::And;
    if (kind == NodeKind::Or) op = Op::Or;
    Code& c = three(op, type, x, y, Expr());
    c.kind = kind;
    c.operand = x.dtype();
  }
  std::vector<const Code*> compile_all(const std::vector<Expr>& list) {
    std::vector<const Code*> result;
    for (const Expr& e : list) result.push_back(compile(e));
    return result;
  }
  Code& with_args(Op op, DType type, const std::vector<Expr>& list) {
    auto args = compile_all(list);
    Code& c = add(op, type);
    c.args = std::move(args);
    return c;
  }
  // Then lanes that a mask leaves out need no value: they may be of memory that nobody has written.
  static bool reads_own_lane(const Let& op) {
    const int lanes = op.var.dtype().lanes;
    bool own = lanes > 1;
    for_each_part(op.body, [&](const Expr& part) {
      own &= !is<Shuffle>(part) && (part.dtype().lanes == lanes || part.dtype().lanes == 1);
    });
    return own;
  }
  template <class Body>
  Code& let(const Var& var, const Expr& value, const Body& body, DType type) {
    const Code* a = compile(value);
    const auto saved = save({var});
    const int slot = new_slot(var);
    const Code* b = compile(body);
    restore(saved);
    Code& c = add(Op::Let, type);
    c.operand = var.dtype();
    c.slot = slot;
    c.a = a;
    c.b = b;
    return c;
  }

  // Slots of variables that are about to be bound, and their return.
  using Saved = std::vector<std::pair<const Variable*, int>>;
  Saved save(const std::vector<Var>& vars) {
    Saved saved;
    for (const Var& v : vars) {
      auto it = slots_.find(v.operator->());
      saved.emplace_back(v.operator->(), it == slots_.end() ? kNone : it->second);
    }
    return saved;
  }
  void restore(const Saved& saved) {
    for (const auto& [v, slot] : saved) {
      if (slot == kNone) {
        slots_.erase(v);
      } else {
        slots_[v] = slot;
      }
    }
  }
  // The slot of a bound variable or of one that the scope gives; -1 when there is none.
  int slot_of(const Var& v) {
    auto it = slots_.find(v.operator->());
    if (it != slots_.end()) return it->second;
    scalar::Scalar value = {.i = 0};
    if (v.dtype().is_handle()) {
      auto buffer = scope_.buffers.find(v);
      if (buffer == scope_.buffers.end()) return -1;
      value.i = reinterpret_cast<int64_t>(buffer->second);
    } else {
      auto known = scope_.values.find(v);
      if (known == scope_.values.end()) return -1;
      if (v.dtype().is_float()) {
        value.f = known->second.f;
      } else {
        value.i = known->second.i;
      }
    }
    // Free variables keep their slot for the whole program.
    const int slot = new_slot(v);
    program_.inputs.push_back({slot, value});
    return slot;
  }
  Code& buffer_access(Op op, const Var& buffer, DType type) {
    const int slot = slot_of(buffer);
    Code& c = add(slot < 0 ? Op::Unbound : op, type);
    c.slot = slot;
    c.name = buffer.name();
    return c;
  }

  int& region_of(const ProducerRef& p, int value_index) {
    const auto key = std::make_pair(p.get(), value_index);
    auto it = regions_.find(key);
    if (it != regions_.end()) return it->second;
    auto given = scope_.producers.find(key);
    if (given == scope_.producers.end()) return regions_[key] = kNone;
    const int region = program_.region_count++;
    regions_[key] = region;
    auto extents = compile_all(p->output_shape(value_index));
    program_.region_inputs.push_back({region, given->second, std::move(extents)});
    return regions_[key];
  }
  Code& region_access(Op op, const ProducerRef& p, int value_index, DType type) {
    const int region = region_of(p, value_index);
    Code& c = add(region == kNone ? Op::Unbound : op, type);
    c.slot = region;
    c.name = p->num_outputs() == 1 ? p->name : fmt::format("{}.v{}", p->name, value_index);
    return c;
  }

  static constexpr int kNone = -1;
  const InterpreterScope& scope_;
  Program& program_;
  const Code* result_ = nullptr;
  std::unordered_map<const Variable*, int> slots_;
  std::map<std::pair<const Producer*, int>, int> regions_;  // look-ups only
};

}  // namespace

void compile(const Expr& e, const InterpreterScope& scope, const std::vector<Var>& parameters,
             Program& program) {
  Compiler compiler(scope, program);
  for (const Var& v : parameters) compiler.new_slot(v);
  program.root = compiler.compile(e);
}

void compile(const Stmt& s, const InterpreterScope& scope, Program& program) {
  program.root = Compiler(scope, program).compile(s);
}

}  // namespace tw::interpreter
