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

Scalar TensorState::read(int64_t flat, int lane) {
  const size_t at = place(flat, lane);
  if (!known[at] && producer) producer->compute(flat, value_index);
  if (!known[at]) uninitialized(flat);
  return values[at];
}

// ---------------------------------------------------------------------------------------------
// Expressions

Code EvaluationCompiler::variable(const Variable& op, int lane) {
  const Var var(&op);
  if (slots_.contains(var)) return {op.dtype.element(), [s = slot(var, lane)] { return *s; }};
  const Value* value = run_.scalar(var);
  if (!value) {
    raise({.code = ErrorCode::UnboundVariable,
           .what = fmt::format("variable '{}' has no value", op.name),
           .legal = "a value for each variable of the shapes, and for no axis of another compute"});
  }
  const Scalar given = value->type.is_float() ? of_float(value->f) : of_int(value->i);
  return {op.dtype, [v = scalar::convert(value->type, op.dtype, given)] { return v; }};
}

Code EvaluationCompiler::binary(const Expr& e, const Expr& ea, const Expr& eb, int lane) {
  const Code a = compile(ea, lane), b = compile(eb, lane);
  const DType operand = a.type, result = e.dtype().element();
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

Code EvaluationCompiler::choice(const Expr& condition, const Expr& yes, const Expr& no, bool lazy,
                                int lane) {
  const Code c = compile(condition, lane), a = compile(yes, lane), b = compile(no, lane);
  if (lazy) return {a.type, [c, a, b] { return c().i ? a() : b(); }};
  return {a.type, [c, a, b] {
            const bool chosen = c().i != 0;
            const Scalar t = a(), f = b();
            return chosen ? t : f;
          }};
}

Code EvaluationCompiler::intrinsic(const Call& op, int lane) {
  if (op.name == "if_then_else") return choice(op.args[0], op.args[1], op.args[2], true, lane);
  const Intrinsic* known = find_intrinsic(op.name);
  if (!known) {
    raise({.code = ErrorCode::UnknownIntrinsic,
           .what = fmt::format("a call of '{}'", op.name),
           .legal = "the intrinsics of ir/intrinsics.def"});
  }
  std::vector<Code> args;
  std::vector<DType> types;
  for (const Expr& a : op.args) {
    args.push_back(compile(a, lane));
    types.push_back(a.dtype().element());
  }
  return {op.type.element(), [known, type = op.type.element(), args, types] {
            Scalar values[4];
            TW_CHECK(args.size() <= std::size(values), "an intrinsic of more than four scalars");
            for (size_t k = 0; k < args.size(); ++k) values[k] = args[k]();
            return scalar::apply(*known, type, values, types.data(), static_cast<int>(args.size()));
          }};
}

Code EvaluationCompiler::read(const ProducerLoad& op, int lane) {
  TensorState* t = &run_.tensor(op.producer.get(), op.value_index);
  std::vector<Code> indices;
  for (const Expr& i : op.indices) indices.push_back(compile(i));
  TW_CHECK(indices.size() == t->shape.size(), "the number of indices is not the rank");
  return {t->type, [t, indices, lane] {
            int64_t flat = 0;
            for (size_t d = 0; d < indices.size(); ++d) {
              const int64_t position = indices[d]().i;
              if (position < 0 || position >= t->shape[d]) t->out_of_bounds(indices);
              flat += position * t->strides[d];
            }
            return t->read(flat, lane);
          }};
}

Code EvaluationCompiler::shuffle(const Shuffle& op, int lane) {
  int from = op.indices[static_cast<size_t>(lane)];
  size_t k = 0;
  while (from >= op.vectors[k].dtype().lanes) from -= op.vectors[k++].dtype().lanes;
  return compile(op.vectors[k], from);
}

Code EvaluationCompiler::let(const Let& op, int lane) {
  std::vector<Code> values;
  for (int k = 0; k < op.var.dtype().lanes; ++k) values.push_back(compile(op.value, k));
  Scalar* bound = slot(op.var);
  const Code body = compile(op.body, lane);
  return {body.type, [values, bound, body] {
            for (size_t k = 0; k < values.size(); ++k) bound[k] = values[k]();
            return body();
          }};
}

Code EvaluationCompiler::compile(const Expr& e, int lane) {
  const DType type = e.dtype().element();
  if (!e.dtype().is_vector()) lane = 0;
  switch (e->kind) {
    case NodeKind::Variable:
      return variable(*as<Variable>(e), lane);
    case NodeKind::IntImm:
      return {type, [v = of_int(as<IntImm>(e)->value)] { return v; }};
    case NodeKind::FloatImm:
      return {type, [v = of_float(as<FloatImm>(e)->value)] { return v; }};
    case NodeKind::Cast: {
      const Code v = compile(as<Cast>(e)->value, lane);
      return {type, [v, to = type] { return scalar::convert(v.type, to, v()); }};
    }
#define TW_BINARY(Name) \
  case NodeKind::Name:  \
    return binary(e, as<Name>(e)->a, as<Name>(e)->b, lane);
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
      const Code a = compile(as<And>(e)->a, lane), b = compile(as<And>(e)->b, lane);
      return {type, [a, b] { return of_int(a().i && b().i); }};
    }
    case NodeKind::Or: {
      const Code a = compile(as<Or>(e)->a, lane), b = compile(as<Or>(e)->b, lane);
      return {type, [a, b] { return of_int(a().i || b().i); }};
    }
    case NodeKind::Not:
      return {type, [a = compile(as<Not>(e)->a, lane)] { return of_int(!a().i); }};
    case NodeKind::Select: {
      const Select* op = as<Select>(e);
      return choice(op->condition, op->true_value, op->false_value, false, lane);
    }
    case NodeKind::Call:
      return intrinsic(*as<Call>(e), lane);
    case NodeKind::Let:
      return let(*as<Let>(e), lane);
    case NodeKind::Broadcast:
      return compile(as<Broadcast>(e)->value);
    case NodeKind::Ramp: {
      const Code base = compile(as<Ramp>(e)->base), stride = compile(as<Ramp>(e)->stride);
      return {type, [base, stride, type, lane] {
                return of_int(scalar::wrap(type, base().i + lane * stride().i));
              }};
    }
    case NodeKind::Shuffle:
      return shuffle(*as<Shuffle>(e), lane);
    case NodeKind::ProducerLoad:
      return read(*as<ProducerLoad>(e), lane);
    default:
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("a {} in the body of a compute", to_string(e->kind)),
             .legal = "expressions of axes and tensors"});
  }
}

void Evaluation::add(const Operation& op) {
  std::vector<TensorState*> outputs;
  EvaluationCompiler shapes(*this);
  for (int k = 0; k < op->num_outputs(); ++k) {
    auto t = std::make_unique<TensorState>();
    t->name = op->num_outputs() == 1 ? op->name : fmt::format("{}.v{}", op->name, k);
    t->type = op->output_dtype(k).element();
    t->lanes = op->output_dtype(k).lanes;
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
    t->values.resize(static_cast<size_t>(size * t->lanes));
    t->known.resize(t->values.size());
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
  if (buffer->size() != static_cast<int64_t>(t.values.size())) {
    raise({.code = ErrorCode::ArgumentShape,
           .what = fmt::format("{} elements", buffer->size()),
           .where = t.name,
           .legal = fmt::format("the {} elements of the shape [{}]{}", t.values.size(),
                                fmt::join(t.shape, ", "),
                                t.lanes > 1 ? fmt::format(" of {} lanes each", t.lanes) : "")});
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
      t.set(i / t.lanes, static_cast<int>(i % t.lanes), {.i = arguments[k]->raw(i).i});
    }
  }
  for (size_t k = 0; k < arguments.size(); ++k) {
    TensorState& t = state(program.arguments[k]);
    if (!t.producer) continue;
    for (int64_t i = 0; i < arguments[k]->size(); ++i) {
      const Scalar value = t.read(i / t.lanes, static_cast<int>(i % t.lanes));
      arguments[k]->set_raw(i, {.i = value.i});
    }
  }
}

}  // namespace tw::te
