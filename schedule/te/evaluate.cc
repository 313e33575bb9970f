// SPDX-License-Identifier: Apache-2.0
// Every body is compiled once to closures over the slots of its operation's variables; elements of
// intermediate tensors are computed when they are first read, and kept.
#include "schedule/te/evaluate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/expr.h"
#include "runtime/error.h"
#include "schedule/te/evaluation.h"

namespace tw::te {

using scalar::of_float;
using scalar::of_int;

// ---------------------------------------------------------------------------------------------
// Elements

void TensorState::out_of_bounds(const std::vector<Code>& indices) const {
  std::vector<int64_t> position;
  for (const Code& c : indices) position.push_back(c().i);
  raise({.code = ErrorCode::OutOfBounds,
         .what = fmt::format("{}({}) is read", name, fmt::join(position, ", ")),
         .stage = name,
         .legal = fmt::format("positions inside the shape [{}]", fmt::join(shape, ", "))});
}

void TensorState::uninitialized(int64_t flat) const {
  std::vector<int64_t> position;
  for (size_t d = 0; d < shape.size(); ++d) {
    position.push_back(flat / strides[d]);
    flat %= strides[d];
  }
  raise(
      {.code = ErrorCode::UninitializedRead,
       .what = fmt::format("{}({}) is read and was never written", name, fmt::join(position, ", ")),
       .stage = name,
       .legal = "arguments whose elements are all written"});
}

void TensorState::read(int64_t flat) {
  if (known[static_cast<size_t>(flat)]) return;
  if (!producer) uninitialized(flat);
  producer->compute(flat, value_index);
}

// ---------------------------------------------------------------------------------------------
// Expressions

Code EvaluationCompiler::variable(const Variable& op) {
  const Var var(&op);
  if (const auto it = slots_.find(var); it != slots_.end()) {
    return {op.dtype, [s = it->second.get()] { return *s; }};
  }
  const Value* value = run_.scalar(var);
  if (!value) {
    raise({.code = ErrorCode::UnboundVariable,
           .what = fmt::format("variable '{}' has no value", op.name),
           .legal = "a value for each variable of the shapes, and for no axis of another compute"});
  }
  const Scalar given = value->type.is_float() ? of_float(value->f) : of_int(value->i);
  return {op.dtype, [v = scalar::convert(value->type, op.dtype, given)] { return v; }};
}

Code EvaluationCompiler::binary(const Expr& e, const Expr& ea, const Expr& eb) {
  const Code a = compile(ea), b = compile(eb);
  const DType operand = ea.dtype(), result = e.dtype();
  const NodeKind kind = e->kind;
  // What reductions and indices consist of, without a second dispatch.
  if (operand == float_type(32) && kind == NodeKind::Add) {
    return {result, [a, b] { return of_float(static_cast<float>(a().f + b().f)); }};
  }
  if (operand == float_type(32) && kind == NodeKind::Mul) {
    return {result, [a, b] { return of_float(static_cast<float>(a().f * b().f)); }};
  }
  if (operand == int_type(32) && kind == NodeKind::Add) {
    return {result, [a, b] { return of_int(static_cast<int32_t>(a().i + b().i)); }};
  }
  if (operand == int_type(32) && kind == NodeKind::Mul) {
    return {result, [a, b] { return of_int(static_cast<int32_t>(a().i * b().i)); }};
  }
  return {result, [a, b, kind, operand] {
            const Scalar x = a();
            return scalar::binary(kind, operand, x, b());
          }};
}

Code EvaluationCompiler::choice(const Expr& condition, const Expr& yes, const Expr& no, bool lazy) {
  const Code c = compile(condition), a = compile(yes), b = compile(no);
  if (lazy) return {a.type, [c, a, b] { return c().i ? a() : b(); }};
  return {a.type, [c, a, b] {
            const bool chosen = c().i != 0;
            const Scalar t = a(), f = b();
            return chosen ? t : f;
          }};
}

Code EvaluationCompiler::intrinsic(const Call& op) {
  if (op.name == "if_then_else") return choice(op.args[0], op.args[1], op.args[2], true);
  const Intrinsic* known = find_intrinsic(op.name);
  if (!known) {
    raise({.code = ErrorCode::UnknownIntrinsic,
           .what = fmt::format("a call of '{}'", op.name),
           .legal = "the intrinsics of ir/intrinsics.def"});
  }
  std::vector<Code> args;
  std::vector<DType> types;
  for (const Expr& a : op.args) {
    args.push_back(compile(a));
    types.push_back(a.dtype());
  }
  return {op.type, [known, type = op.type, args, types] {
            Scalar values[4];
            TW_CHECK(args.size() <= std::size(values), "an intrinsic of more than four scalars");
            for (size_t k = 0; k < args.size(); ++k) values[k] = args[k]();
            return scalar::apply(*known, type, values, types.data(), static_cast<int>(args.size()));
          }};
}

Code EvaluationCompiler::read(const ProducerLoad& op) {
  TensorState* t = &run_.tensor(op.producer.get(), op.value_index);
  std::vector<Code> indices;
  for (const Expr& i : op.indices) indices.push_back(compile(i));
  TW_CHECK(indices.size() == t->shape.size(), "the number of indices is not the rank");
  return {t->type, [t, indices] {
            int64_t flat = 0;
            for (size_t d = 0; d < indices.size(); ++d) {
              const int64_t position = indices[d]().i;
              if (position < 0 || position >= t->shape[d]) t->out_of_bounds(indices);
              flat += position * t->strides[d];
            }
            t->read(flat);
            return t->elements[static_cast<size_t>(flat)];
          }};
}

Code EvaluationCompiler::compile(const Expr& e) {
  switch (e->kind) {
    case NodeKind::Variable:
      return variable(*as<Variable>(e));
    case NodeKind::IntImm:
      return {e.dtype(), [v = of_int(as<IntImm>(e)->value)] { return v; }};
    case NodeKind::FloatImm:
      return {e.dtype(), [v = of_float(as<FloatImm>(e)->value)] { return v; }};
    case NodeKind::Cast: {
      const Code v = compile(as<Cast>(e)->value);
      return {e.dtype(), [v, to = e.dtype()] { return scalar::convert(v.type, to, v()); }};
    }
#define TW_BINARY(Name) \
  case NodeKind::Name:  \
    return binary(e, as<Name>(e)->a, as<Name>(e)->b);
      TW_BINARY(Add)
      TW_BINARY(Sub)
      TW_BINARY(Mul)
      TW_BINARY(Div)
      TW_BINARY(Mod)
      TW_BINARY(FloorDiv)
      TW_BINARY(FloorMod)
      TW_BINARY(Min)
      TW_BINARY(Max)
      TW_BINARY(Equal)
      TW_BINARY(NotEqual)
      TW_BINARY(Less)
      TW_BINARY(LessEqual)
      TW_BINARY(Greater)
      TW_BINARY(GreaterEqual)
#undef TW_BINARY
    case NodeKind::And: {
      const Code a = compile(as<And>(e)->a), b = compile(as<And>(e)->b);
      return {e.dtype(), [a, b] { return of_int(a().i && b().i); }};
    }
    case NodeKind::Or: {
      const Code a = compile(as<Or>(e)->a), b = compile(as<Or>(e)->b);
      return {e.dtype(), [a, b] { return of_int(a().i || b().i); }};
    }
    case NodeKind::Not:
      return {e.dtype(), [a = compile(as<Not>(e)->a)] { return of_int(!a().i); }};
    case NodeKind::Select: {
      const Select* op = as<Select>(e);
      return choice(op->condition, op->true_value, op->false_value, false);
    }
    case NodeKind::Call:
      return intrinsic(*as<Call>(e));
    case NodeKind::Let: {
      const Let* op = as<Let>(e);
      const Code value = compile(op->value);
      Scalar* bound = slot(op->var);
      const Code body = compile(op->body);
      return {e.dtype(), [value, bound, body] {
                *bound = value();
                return body();
              }};
    }
    case NodeKind::ProducerLoad:
      return read(*as<ProducerLoad>(e));
    default:
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("a {} in the body of a compute", to_string(e->kind)),
             .legal = "scalar expressions of axes and tensors"});
  }
}

void Evaluation::add(const Operation& op) {
  std::vector<TensorState*> outputs;
  EvaluationCompiler shapes(*this);
  for (int k = 0; k < op->num_outputs(); ++k) {
    auto t = std::make_unique<TensorState>();
    t->name = op->num_outputs() == 1 ? op->name : fmt::format("{}.v{}", op->name, k);
    t->type = op->output_dtype(k);
    t->value_index = k;
    int64_t size = 1;
    for (const Expr& extent : op->output_shape(k)) {
      t->shape.push_back(shapes.compile(extent)().i);
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
  operations_.push_back(op->evaluator(*this));
  for (TensorState* t : outputs) t->producer = operations_.back().get();
}

namespace {

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
  Evaluation run(scalars);
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
      t.elements[static_cast<size_t>(i)] = {.i = arguments[k]->raw(i).i};
      t.known[static_cast<size_t>(i)] = 1;
    }
  }
  for (size_t k = 0; k < arguments.size(); ++k) {
    TensorState& t = state(program.arguments[k]);
    if (!t.producer) continue;
    for (int64_t i = 0; i < arguments[k]->size(); ++i) {
      t.read(i);
      arguments[k]->set_raw(i, {.i = t.elements[static_cast<size_t>(i)].i});
    }
  }
}

}  // namespace tw::te
