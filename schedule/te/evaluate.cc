// SPDX-License-Identifier: Apache-2.0
// Every body is compiled once to closures over the slots of its operation's variables; elements of
// intermediate tensors are computed when they are first read, and kept.
#include "schedule/te/evaluate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <functional>
#include <memory>

#include "ir/expr.h"
#include "runtime/element.h"
#include "runtime/error.h"

namespace tw::te {
namespace {

// What a variable holds. Integers and bools live in `i`, floating values, rounded to their type,
// in `f`.
struct Slot {
  int64_t i = 0;
  double f = 0;
};
using IntCode = std::function<int64_t()>;
using FloatCode = std::function<double()>;
// Code that gives a scalar; `type` decides which of the two is set.
struct Code {
  DType type;
  IntCode i;
  FloatCode f;
  void into(Slot& slot) const {
    if (type.is_float()) {
      slot.f = f();
    } else {
      slot.i = i();
    }
  }
};

double rounded(DType type, double v) {
  if (type == float_type(32)) return static_cast<float>(v);
  return type == float_type(64) ? v : round_to(type, v);
}

int64_t wrapped(DType type, int64_t v) {
  if (type == int_type(32)) return static_cast<int32_t>(v);
  return type.bits == 64 && type.is_integer() ? v : wrap_to(type, v);
}

double int_to_float(DType from, DType to, int64_t v) {
  if (from.is_uint() && v < 0) return rounded(to, static_cast<double>(static_cast<uint64_t>(v)));
  unsigned char bytes[8];
  store_int(bytes, to, v);
  return load_as_double(bytes, to);
}

int64_t float_to_int(DType to, double v) {
  if (to.is_bool()) return v != 0;
  unsigned char bytes[8];
  store_double(bytes, to, v);
  return load_as_int(bytes, to);
}

[[noreturn]] void divided_by_zero() {
  raise({.code = ErrorCode::DivisionByZero, .what = "integer division by zero"});
}

int64_t divide(NodeKind kind, DType type, int64_t a, int64_t b) {
  if (b == 0) divided_by_zero();
  if (type.is_uint()) {
    const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
    const bool quotient = kind == NodeKind::Div || kind == NodeKind::FloorDiv;
    return static_cast<int64_t>(quotient ? ua / ub : ua % ub);
  }
  // The one quotient that overflows; unsigned negation wraps.
  const auto negated = [](int64_t v) { return static_cast<int64_t>(-static_cast<uint64_t>(v)); };
  const bool inexact = b != -1 && a % b != 0 && ((a < 0) != (b < 0));
  switch (kind) {
    case NodeKind::Div: return b == -1 ? negated(a) : a / b;
    case NodeKind::Mod: return b == -1 ? 0 : a % b;
    case NodeKind::FloorDiv: return b == -1 ? negated(a) : a / b - (inexact ? 1 : 0);
    default: return b == -1 ? 0 : a % b + (inexact ? b : 0);
  }
}

class OperationState;

// The elements of one tensor, row-major, and which of them are known.
struct TensorState {
  std::string name;
  DType type;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  std::vector<Slot> elements;
  std::vector<char> known;
  OperationState* producer = nullptr;  // null: what is not known cannot be
  int value_index = 0;

  void read(int64_t flat);

  [[noreturn]] void out_of_bounds(const std::vector<Code>& indices) const {
    std::vector<int64_t> position;
    for (const Code& c : indices) position.push_back(c.i());
    raise({.code = ErrorCode::OutOfBounds,
           .what = fmt::format("{}({}) is read", name, fmt::join(position, ", ")),
           .stage = name,
           .legal = fmt::format("positions inside the shape [{}]", fmt::join(shape, ", "))});
  }
  [[noreturn]] void uninitialized(int64_t flat) const {
    std::vector<int64_t> position;
    for (size_t d = 0; d < shape.size(); ++d) {
      position.push_back(flat / strides[d]);
      flat %= strides[d];
    }
    raise({.code = ErrorCode::UninitializedRead,
           .what = fmt::format("{}({}) is read and was never written", name,
                               fmt::join(position, ", ")),
           .stage = name,
           .legal = "arguments whose elements are all written"});
  }
};

// All tensors of a run.
class Run {
 public:
  explicit Run(const InterpreterScope& scalars) : scalars_(scalars) {}
  void add(const Operation& op);
  TensorState& tensor(const Producer* producer, int value_index) {
    const auto it = tensors_.find({producer, value_index});
    TW_CHECK(it != tensors_.end(), "a body reads what is not in the program");
    return *it->second;
  }
  const Value* scalar(const Var& var) const {
    const auto it = scalars_.values.find(var);
    return it == scalars_.values.end() ? nullptr : &it->second;
  }

 private:
  const InterpreterScope& scalars_;
  std::map<std::pair<const Producer*, int>, std::unique_ptr<TensorState>> tensors_;
  std::vector<std::unique_ptr<OperationState>> operations_;
};

// Turns expressions into closures. Each operation has its own slots, because two operations may
// use one reduce axis while one of them is being computed for the other.
class Compiler {
 public:
  explicit Compiler(Run& run) : run_(run) {}

  Slot* slot(const Var& var) {
    auto& s = slots_[var];
    if (!s) s = std::make_unique<Slot>();
    return s.get();
  }
  Code compile(const Expr& e);
  IntCode index(const Expr& e) { return compile(e).i; }

 private:
  Code variable(const Variable& op, const Expr& e);
  template <class F, class I>
  Code arithmetic(const Expr& ea, const Expr& eb, F on_floats, I on_ints);
  template <class F>
  Code comparison(const Expr& ea, const Expr& eb, F compare);
  Code cast_code(const Cast& op);
  Code choice(const Expr& condition, const Expr& yes, const Expr& no, bool lazy);
  Code intrinsic(const Call& op, const Expr& e);
  Code read(const ProducerLoad& op);
  static Code constant(DType type, Slot value) {
    if (type.is_float()) return {type, {}, [v = value.f] { return v; }};
    return {type, [v = value.i] { return v; }, {}};
  }

  Run& run_;
  std::unordered_map<Var, std::unique_ptr<Slot>, IdentityHash, IdentityEqual> slots_;
};

// One operation, ready to compute any of its points.
class OperationState {
 public:
  OperationState(Run& run, const ComputeNode& op, std::vector<TensorState*> outputs);
  void compute(int64_t flat, int value_index);

 private:
  struct ReduceLoop {
    Slot* slot;
    IntCode min, extent;
  };
  void place(int64_t flat);
  void reduce_from(size_t depth);
  void combine();

  Compiler compiler_;
  std::vector<TensorState*> outputs_;
  std::vector<Slot*> axes_;
  std::vector<Code> bodies_;  // no reduction
  // A reduction
  std::vector<ReduceLoop> loops_;
  IntCode condition_;
  std::vector<Code> identities_, sources_, results_;
  std::vector<Slot*> lhs_, rhs_;
  std::vector<Slot> next_;
};

void TensorState::read(int64_t flat) {
  if (known[static_cast<size_t>(flat)]) return;
  if (!producer) uninitialized(flat);
  producer->compute(flat, value_index);
}

// ---------------------------------------------------------------------------------------------
// Expressions

Code Compiler::variable(const Variable& op, const Expr& e) {
  const Var var(as<Variable>(e));
  if (const auto it = slots_.find(var); it != slots_.end()) {
    Slot* s = it->second.get();
    if (op.dtype.is_float()) return {op.dtype, {}, [s] { return s->f; }};
    return {op.dtype, [s] { return s->i; }, {}};
  }
  const Value* value = run_.scalar(var);
  if (!value) {
    raise({.code = ErrorCode::UnboundVariable,
           .what = fmt::format("variable '{}' has no value", op.name),
           .legal = "a value for each variable of the shapes, and for no axis of another compute"});
  }
  return constant(op.dtype, {.i = value->i, .f = value->f});
}

template <class F, class I>
Code Compiler::arithmetic(const Expr& ea, const Expr& eb, F on_floats, I on_ints) {
  const Code a = compile(ea), b = compile(eb);
  const DType t = a.type;
  if (t == float_type(32)) {
    return {t, {}, [a = a.f, b = b.f, on_floats] {
              return static_cast<double>(static_cast<float>(on_floats(a(), b())));
            }};
  }
  if (t.is_float()) {
    return {t, {}, [t, a = a.f, b = b.f, on_floats] { return rounded(t, on_floats(a(), b())); }};
  }
  return {t, [t, a = a.i, b = b.i, on_ints] { return wrapped(t, on_ints(a(), b())); }, {}};
}

template <class F>
Code Compiler::comparison(const Expr& ea, const Expr& eb, F compare) {
  const Code a = compile(ea), b = compile(eb);
  const DType result = bool_type();
  if (a.type.is_float()) {
    return {result, [a = a.f, b = b.f, compare] { return int64_t{compare(a(), b())}; }, {}};
  }
  if (a.type.is_uint()) {
    return {result, [a = a.i, b = b.i, compare] {
              return int64_t{compare(static_cast<uint64_t>(a()), static_cast<uint64_t>(b()))};
            }, {}};
  }
  return {result, [a = a.i, b = b.i, compare] { return int64_t{compare(a(), b())}; }, {}};
}

Code Compiler::cast_code(const Cast& op) {
  const Code v = compile(op.value);
  const DType from = v.type, to = op.type;
  if (to.is_float() && from.is_float()) {
    return {to, {}, [to, v = v.f] { return rounded(to, v()); }};
  }
  if (to.is_float()) return {to, {}, [from, to, v = v.i] { return int_to_float(from, to, v()); }};
  if (from.is_float()) return {to, [to, v = v.f] { return float_to_int(to, v()); }, {}};
  if (to.is_bool()) return {to, [v = v.i] { return int64_t{v() != 0}; }, {}};
  return {to, [to, v = v.i] { return wrapped(to, v()); }, {}};
}

Code Compiler::choice(const Expr& condition, const Expr& yes, const Expr& no, bool lazy) {
  const IntCode c = compile(condition).i;
  const Code a = compile(yes), b = compile(no);
  if (a.type.is_float()) {
    if (lazy) return {a.type, {}, [c, a = a.f, b = b.f] { return c() ? a() : b(); }};
    return {a.type, {}, [c, a = a.f, b = b.f] {
              const double t = a(), f = b();
              return c() ? t : f;
            }};
  }
  if (lazy) return {a.type, [c, a = a.i, b = b.i] { return c() ? a() : b(); }, {}};
  return {a.type, [c, a = a.i, b = b.i] {
            const int64_t t = a(), f = b();
            return c() ? t : f;
          }, {}};
}

Code Compiler::intrinsic(const Call& op, const Expr& e) {
  if (op.name == "if_then_else") return choice(op.args[0], op.args[1], op.args[2], true);
  if (op.name == "likely") return compile(op.args[0]);
  std::vector<Code> args;
  for (const Expr& a : op.args) args.push_back(compile(a));
  // The call itself is kept alive by `e`.
  auto apply = [e, args, values = std::vector<Value>(args.size())]() mutable {
    for (size_t k = 0; k < args.size(); ++k) {
      values[k].type = args[k].type;
      (args[k].type.is_float() ? void(values[k].f = args[k].f()) : void(values[k].i = args[k].i()));
    }
    return apply_intrinsic(*as<Call>(e), values);
  };
  if (op.type.is_float()) return {op.type, {}, [apply]() mutable { return apply().f; }};
  return {op.type, [apply]() mutable { return apply().i; }, {}};
}

Code Compiler::read(const ProducerLoad& op) {
  TensorState* t = &run_.tensor(op.producer.get(), op.value_index);
  std::vector<Code> indices;
  for (const Expr& i : op.indices) indices.push_back(compile(i));
  const auto element = [t, indices]() -> const Slot& {
    int64_t flat = 0;
    for (size_t d = 0; d < indices.size(); ++d) {
      const int64_t position = indices[d].i();
      if (position < 0 || position >= t->shape[d]) t->out_of_bounds(indices);
      flat += position * t->strides[d];
    }
    t->read(flat);
    return t->elements[static_cast<size_t>(flat)];
  };
  if (t->type.is_float()) return {t->type, {}, [element] { return element().f; }};
  return {t->type, [element] { return element().i; }, {}};
}

Code Compiler::compile(const Expr& e) {
  // Integer overflow wraps here; the IR leaves that of signed types undefined.
  const auto u = [](int64_t v) { return static_cast<uint64_t>(v); };
  const auto s = [](uint64_t v) { return static_cast<int64_t>(v); };
  const DType type = e.dtype();
  switch (e->kind) {
    case NodeKind::Variable: return variable(*as<Variable>(e), e);
    case NodeKind::IntImm: return constant(type, {.i = as<IntImm>(e)->value});
    case NodeKind::FloatImm: return constant(type, {.f = as<FloatImm>(e)->value});
    case NodeKind::Cast: return cast_code(*as<Cast>(e));
    case NodeKind::Add:
      return arithmetic(as<Add>(e)->a, as<Add>(e)->b, std::plus<>(),
                        [=](int64_t a, int64_t b) { return s(u(a) + u(b)); });
    case NodeKind::Sub:
      return arithmetic(as<Sub>(e)->a, as<Sub>(e)->b, std::minus<>(),
                        [=](int64_t a, int64_t b) { return s(u(a) - u(b)); });
    case NodeKind::Mul:
      return arithmetic(as<Mul>(e)->a, as<Mul>(e)->b, std::multiplies<>(),
                        [=](int64_t a, int64_t b) { return s(u(a) * u(b)); });
    case NodeKind::Div:
      return arithmetic(
          as<Div>(e)->a, as<Div>(e)->b, std::divides<>(),
          [type](int64_t a, int64_t b) { return divide(NodeKind::Div, type, a, b); });
    case NodeKind::Mod:
      return arithmetic(
          as<Mod>(e)->a, as<Mod>(e)->b, [](double a, double b) { return std::fmod(a, b); },
          [type](int64_t a, int64_t b) { return divide(NodeKind::Mod, type, a, b); });
    case NodeKind::FloorDiv:
      return arithmetic(
          as<FloorDiv>(e)->a, as<FloorDiv>(e)->b,
          [](double a, double b) { return std::floor(a / b); },
          [type](int64_t a, int64_t b) { return divide(NodeKind::FloorDiv, type, a, b); });
    case NodeKind::FloorMod:
      return arithmetic(
          as<FloorMod>(e)->a, as<FloorMod>(e)->b,
          [](double a, double b) { return a - std::floor(a / b) * b; },
          [type](int64_t a, int64_t b) { return divide(NodeKind::FloorMod, type, a, b); });
    case NodeKind::Min:
      return arithmetic(as<Min>(e)->a, as<Min>(e)->b,
                        [](double a, double b) { return a < b ? a : b; },
                        [type, u](int64_t a, int64_t b) {
                          return (type.is_uint() ? u(a) < u(b) : a < b) ? a : b;
                        });
    case NodeKind::Max:
      return arithmetic(as<Max>(e)->a, as<Max>(e)->b,
                        [](double a, double b) { return a > b ? a : b; },
                        [type, u](int64_t a, int64_t b) {
                          return (type.is_uint() ? u(a) > u(b) : a > b) ? a : b;
                        });
    case NodeKind::Equal: return comparison(as<Equal>(e)->a, as<Equal>(e)->b, std::equal_to<>());
    case NodeKind::NotEqual:
      return comparison(as<NotEqual>(e)->a, as<NotEqual>(e)->b, std::not_equal_to<>());
    case NodeKind::Less: return comparison(as<Less>(e)->a, as<Less>(e)->b, std::less<>());
    case NodeKind::LessEqual:
      return comparison(as<LessEqual>(e)->a, as<LessEqual>(e)->b, std::less_equal<>());
    case NodeKind::Greater: return comparison(as<Greater>(e)->a, as<Greater>(e)->b, std::greater<>());
    case NodeKind::GreaterEqual:
      return comparison(as<GreaterEqual>(e)->a, as<GreaterEqual>(e)->b, std::greater_equal<>());
    case NodeKind::And:  // both sides are evaluated, as in the IR they may be
      return arithmetic(as<And>(e)->a, as<And>(e)->b, std::multiplies<>(), std::bit_and<>());
    case NodeKind::Or:
      return arithmetic(as<Or>(e)->a, as<Or>(e)->b, std::plus<>(), std::bit_or<>());
    case NodeKind::Not: return {type, [a = compile(as<Not>(e)->a).i] { return int64_t{!a()}; }, {}};
    case NodeKind::Select: {
      const Select* op = as<Select>(e);
      return choice(op->condition, op->true_value, op->false_value, false);
    }
    case NodeKind::Call: return intrinsic(*as<Call>(e), e);
    case NodeKind::Let: {
      const Let* op = as<Let>(e);
      const Code value = compile(op->value);
      Slot* bound = slot(op->var);
      const Code body = compile(op->body);
      const auto bind = [value, bound] { value.into(*bound); };
      if (type.is_float()) return {type, {}, [bind, f = body.f] { return bind(), f(); }};
      return {type, [bind, i = body.i] { return bind(), i(); }, {}};
    }
    case NodeKind::ProducerLoad: return read(*as<ProducerLoad>(e));
    default:
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("a {} in the body of a compute", to_string(e->kind)),
             .legal = "scalar expressions of axes and tensors"});
  }
}

// ---------------------------------------------------------------------------------------------
// Operations

OperationState::OperationState(Run& run, const ComputeNode& op, std::vector<TensorState*> outputs)
    : compiler_(run), outputs_(std::move(outputs)) {
  for (const IterVar& a : op.axis) axes_.push_back(compiler_.slot(a.var()));
  if (!op.is_reduction()) {
    for (const Expr& e : op.body) bodies_.push_back(compiler_.compile(e));
    return;
  }
  const Reduce* reduce = as<Reduce>(op.body[0]);
  for (const IterVar& r : reduce->axis) {
    loops_.push_back({.slot = compiler_.slot(r.var()),
                      .min = compiler_.index(r->domain.min),
                      .extent = compiler_.index(r->domain.extent)});
  }
  if (reduce->condition.defined()) condition_ = compiler_.index(reduce->condition);
  const CommReducer& combiner = reduce->combiner;
  for (size_t k = 0; k < reduce->source.size(); ++k) {
    identities_.push_back(compiler_.compile(combiner.identity[k]));
    sources_.push_back(compiler_.compile(reduce->source[k]));
    lhs_.push_back(compiler_.slot(combiner.lhs[k]));
    rhs_.push_back(compiler_.slot(combiner.rhs[k]));
  }
  for (const Expr& r : combiner.result) results_.push_back(compiler_.compile(r));
  next_.resize(results_.size());
}

void OperationState::place(int64_t flat) {
  for (size_t d = 0; d < axes_.size(); ++d) {
    const int64_t stride = outputs_[0]->strides[d];
    axes_[d]->i = flat / stride;
    flat %= stride;
  }
}

void OperationState::combine() {
  if (condition_ && !condition_()) return;
  for (size_t k = 0; k < sources_.size(); ++k) sources_[k].into(*rhs_[k]);
  for (size_t k = 0; k < results_.size(); ++k) results_[k].into(next_[k]);
  for (size_t k = 0; k < results_.size(); ++k) *lhs_[k] = next_[k];
}

void OperationState::reduce_from(size_t depth) {
  if (depth == loops_.size()) return combine();
  const ReduceLoop& loop = loops_[depth];
  const int64_t min = loop.min(), end = min + loop.extent();
  for (int64_t v = min; v < end; ++v) {
    loop.slot->i = v;
    reduce_from(depth + 1);
  }
}

void OperationState::compute(int64_t flat, int value_index) {
  place(flat);
  const auto at = static_cast<size_t>(flat);
  if (loops_.empty()) {
    TensorState& out = *outputs_[static_cast<size_t>(value_index)];
    bodies_[static_cast<size_t>(value_index)].into(out.elements[at]);
    out.known[at] = 1;
    return;
  }
  for (size_t k = 0; k < identities_.size(); ++k) identities_[k].into(*lhs_[k]);
  reduce_from(0);
  for (size_t k = 0; k < outputs_.size(); ++k) {
    outputs_[k]->elements[at] = *lhs_[k];
    outputs_[k]->known[at] = 1;
  }
}

void Run::add(const Operation& op) {
  std::vector<TensorState*> outputs;
  Compiler shapes(*this);
  for (int k = 0; k < op->num_outputs(); ++k) {
    auto t = std::make_unique<TensorState>();
    t->name = op->num_outputs() == 1 ? op->name : fmt::format("{}.v{}", op->name, k);
    t->type = op->output_dtype(k);
    t->value_index = k;
    int64_t size = 1;
    for (const Expr& extent : op->output_shape(k)) {
      t->shape.push_back(shapes.compile(extent).i());
      if (t->shape.back() < 0) {
        raise({.code = ErrorCode::BadShape,
               .what = fmt::format("an extent is {}", t->shape.back()),
               .stage = op->name,
               .legal = "values of the variables that give extents of at least 0"});
      }
    }
    t->strides.resize(t->shape.size());
    for (size_t d = t->shape.size(); d-- > 0;) {
      t->strides[d] = size;
      size *= t->shape[d];
    }
    t->elements.resize(static_cast<size_t>(size));
    t->known.resize(static_cast<size_t>(size));
    outputs.push_back(t.get());
    tensors_[{op.get(), k}] = std::move(t);
  }
  if (const auto* compute = as_op<ComputeNode>(op)) {
    operations_.push_back(std::make_unique<OperationState>(*this, *compute, outputs));
    for (TensorState* t : outputs) t->producer = operations_.back().get();
  }
}

void check_argument(const TensorState& t, const InterpreterBuffer* buffer) {
  if (!buffer) {
    raise({.code = ErrorCode::ArgumentNull, .what = "an argument is null", .where = t.name});
  }
  if (buffer->element() != t.type) {
    raise({.code = ErrorCode::ArgumentDType,
           .what = fmt::format("elements of type {}", to_string(buffer->element())),
           .where = t.name,
           .legal = to_string(t.type)});
  }
  if (buffer->size() != static_cast<int64_t>(t.elements.size())) {
    raise({.code = ErrorCode::ArgumentShape,
           .what = fmt::format("{} elements", buffer->size()),
           .where = t.name,
           .legal = fmt::format("the elements of the shape [{}]", fmt::join(t.shape, ", "))});
  }
}

}  // namespace

void evaluate(const Program& program, const std::vector<InterpreterBuffer*>& arguments,
              const InterpreterScope& scalars) {
  if (arguments.size() != program.arguments.size()) {
    raise({.code = ErrorCode::ArgumentCount,
           .what = fmt::format("{} arguments", arguments.size()),
           .legal = fmt::format("the {} arguments of the program", program.arguments.size())});
  }
  std::vector<Tensor> roots = program.outputs;
  roots.insert(roots.end(), program.arguments.begin(), program.arguments.end());
  Run run(scalars);
  for (const Operation& op : operations(roots)) run.add(op);

  const auto state = [&](const Tensor& t) -> TensorState& {
    return run.tensor(t.op().get(), t.value_index());
  };
  for (size_t k = 0; k < arguments.size(); ++k) {
    TensorState& t = state(program.arguments[k]);
    check_argument(t, arguments[k]);
    if (t.producer) continue;
    for (int64_t i = 0; i < arguments[k]->size(); ++i) {
      if (!arguments[k]->written(i)) continue;
      const Value v = arguments[k]->at(i);
      t.elements[static_cast<size_t>(i)] = {.i = v.i, .f = v.f};
      t.known[static_cast<size_t>(i)] = 1;
    }
  }
  for (size_t k = 0; k < arguments.size(); ++k) {
    TensorState& t = state(program.arguments[k]);
    if (!t.producer) continue;
    for (int64_t i = 0; i < arguments[k]->size(); ++i) {
      t.read(i);
      const Slot& s = t.elements[static_cast<size_t>(i)];
      arguments[k]->set(i, {.type = t.type, .i = s.i, .f = s.f});
    }
  }
}

}  // namespace tw::te
