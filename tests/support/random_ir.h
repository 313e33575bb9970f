// SPDX-License-Identifier: Apache-2.0
// Random well-typed expressions and statements, the same for the same seed. Expressions never
// divide by zero and shift in range, so the interpreter can evaluate every one of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/expr.h"
#include "ir/interpret.h"
#include "ir/node.h"

namespace tw::test {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t x = state_ += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  // Uniform in [least, greatest].
  int64_t between(int64_t least, int64_t greatest) {
    return least + static_cast<int64_t>(bits() % static_cast<uint64_t>(greatest - least + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<size_t>(between(0, static_cast<int64_t>(list.size()) - 1))];
  }

 private:
  uint64_t state_;
};

struct RandomIrOptions {
  int64_t constant_limit = 20;  // absolute value of most constants
  bool raw = true;              // build nodes as they are, without the folding of ir/expr.h
  bool trunc_division = true;
  bool floor_division = true;
  bool intrinsics = true;  // if_then_else, likely, bit operations, fabs
  bool casts = true;
  bool lets = true;
  int lanes = 1;  // of the expressions asked for
};

// Expressions over given variables. `depth` bounds the height of the tree.
class RandomIr {
 public:
  RandomIr(uint64_t seed, std::vector<Var> variables, RandomIrOptions options = {})
      : random_(seed), variables_(std::move(variables)), options_(options) {}

  Random& random() { return random_; }
  std::vector<Var>& variables() { return variables_; }

  Expr expr(DType type, int depth) {
    if (type.is_bool()) return boolean(type.lanes, depth);
    return type.is_float() ? floating(type, depth) : integer(type, depth);
  }
  Expr integer(int depth) { return integer(int_type(32, options_.lanes), depth); }
  Expr boolean(int depth) { return boolean(options_.lanes, depth); }

  Expr integer(DType type, int depth) {
    if (depth <= 0 || random_.chance(8)) return leaf(type);
    const auto sub = [&] { return integer(type, depth - 1); };
    for (;;) {
      switch (random_.between(0, 15)) {
        case 0:
        case 1:
          return binary(NodeKind::Add, sub(), sub());
        case 2:
          return binary(NodeKind::Sub, sub(), sub());
        case 3:
          return binary(NodeKind::Mul, sub(), random_.chance(70) ? constant(type) : sub());
        case 4:
          return binary(NodeKind::Min, sub(), sub());
        case 5:
          return binary(NodeKind::Max, sub(), sub());
        case 6:
        case 7:
          if (!options_.floor_division) break;
          return binary(random_.chance(50) ? NodeKind::FloorDiv : NodeKind::FloorMod, sub(),
                        divisor(type));
        case 8:
          if (!options_.trunc_division) break;
          return binary(random_.chance(50) ? NodeKind::Div : NodeKind::Mod, sub(), divisor(type));
        case 9: {
          const Expr condition = boolean(type.lanes, depth - 1);
          return make(Select{.condition = condition, .true_value = sub(), .false_value = sub()});
        }
        case 10: {
          if (!options_.intrinsics) break;
          const Expr condition = boolean(1, depth - 1);
          const Expr chosen = sub();
          return tw::call(type, "if_then_else", {condition, chosen, sub()},
                          CallKind::PureIntrinsic);
        }
        case 11: {
          if (!options_.intrinsics) break;
          switch (random_.between(0, 6)) {
            case 6: {
              if (!options_.casts || type.element().is_bool()) break;
              const Expr value = random_.chance(60)
                                     ? integer(other_integer(type), depth - 1)
                                     : floating(float_type(32, type.lanes), depth - 1);
              return tw::call(type, "saturating_cast", {value}, CallKind::PureIntrinsic);
            }
            case 0:
              return tw::call("bitwise_and", {sub(), sub()});
            case 1:
              return tw::call("bitwise_or", {sub(), sub()});
            case 2:
              return tw::call("bitwise_xor", {sub(), sub()});
            case 3:
              return tw::call("bitwise_not", {sub()});
            case 4:
              return tw::call("shift_right", {sub(), shift_amount(type)});
            default:
              return tw::call("fabs", {sub()});
          }
        }
        case 12:
          if (!options_.casts) break;
          return make(Cast{.type = type,
                           .value = random_.chance(70) ? integer(other_integer(type), depth - 1)
                                                       : boolean(type.lanes, depth - 1)});
        case 13: {
          if (!options_.lets) break;
          const Var v(name("t"), type);
          const Expr value = sub();
          variables_.push_back(v);
          const Expr body = sub();
          variables_.pop_back();
          return make(Let{.var = v, .value = value, .body = body});
        }
        case 14:
          if (type.lanes == 1) break;
          return random_.chance(60) ? make(Ramp{.base = integer(type.element(), depth - 1),
                                                .stride = constant(type.element()),
                                                .lanes = type.lanes})
                                    : make(Broadcast{.value = integer(type.element(), depth - 1),
                                                     .lanes = type.lanes});
        default:
          return leaf(type);
      }
    }
  }

  Expr boolean(int lanes, int depth) {
    if (depth <= 0) return lanes_of(make_bool(random_.chance(50)), lanes);
    const DType type =
        random_.chance(80) || !options_.casts ? int_type(32, lanes) : float_type(32, lanes);
    switch (random_.between(0, 9)) {
      case 0:
        return binary(NodeKind::And, boolean(lanes, depth - 1), boolean(lanes, depth - 1));
      case 1:
        return binary(NodeKind::Or, boolean(lanes, depth - 1), boolean(lanes, depth - 1));
      case 2:
        return make(Not{.a = boolean(lanes, depth - 1)});
      case 3:
        if (options_.intrinsics) {
          return tw::call(bool_type(lanes), "likely", {boolean(lanes, depth - 1)},
                          CallKind::PureIntrinsic);
        }
        [[fallthrough]];
      default: {
        const NodeKind kind = random_.pick<NodeKind>({NodeKind::Equal, NodeKind::NotEqual,
                                                      NodeKind::Less, NodeKind::LessEqual,
                                                      NodeKind::Greater, NodeKind::GreaterEqual});
        const Expr left = expr(type, depth - 1);
        return binary(kind, left, expr(type, depth - 1));
      }
    }
  }

  Expr floating(DType type, int depth) {
    if (depth <= 0 || random_.chance(10)) return leaf(type);
    const auto sub = [&] { return floating(type, depth - 1); };
    switch (random_.between(0, 7)) {
      case 0:
        return binary(NodeKind::Add, sub(), sub());
      case 1:
        return binary(NodeKind::Sub, sub(), sub());
      case 2:
        return binary(NodeKind::Mul, sub(), sub());
      case 3:
        return binary(NodeKind::Div, sub(), float_constant(type));
      case 4:
        return binary(random_.chance(50) ? NodeKind::Min : NodeKind::Max, sub(), sub());
      case 5: {
        const Expr condition = boolean(type.lanes, depth - 1);
        return make(Select{.condition = condition, .true_value = sub(), .false_value = sub()});
      }
      case 6:
        if (options_.intrinsics) {
          return tw::call(random_.pick<std::string>({"fabs", "floor", "tanh", "sigmoid"}), {sub()});
        }
        return leaf(type);
      default:
        if (!options_.casts) return leaf(type);
        return make(Cast{.type = type, .value = integer(int_type(32, type.lanes), depth - 1)});
    }
  }

  // A flat statement that stores to, and loads from, buffers that it allocates; every element is
  // written before it is read. `output` of `size` elements is written in full.
  Stmt statement(const Var& output, int64_t size, int depth) {
    std::vector<Stmt> stmts;
    const Var temporary = buffer_var(name("temporary"), output->element);
    const int64_t length = random_.between(2, 9);
    stmts.push_back(fill(temporary, length, depth));
    readable_.push_back({temporary, length});
    if (random_.chance(40)) stmts.push_back(fill(temporary, length, depth));
    stmts.push_back(fill(output, size, depth));
    readable_.push_back({output, size});
    for (int64_t k = random_.between(0, 2); k > 0; --k)
      stmts.push_back(update(output, size, depth));
    readable_.clear();
    return make(Allocate{.buffer = temporary,
                         .type = output->element,
                         .extents = {make_const(int_type(32), length)},
                         .scope = random_.chance(50) ? "local" : "global",
                         .body = block(stmts)});
  }

 private:
  struct Readable {
    Var buffer;
    int64_t size;
  };

  std::string name(const char* base) { return std::string(base) + std::to_string(names_++ % 3); }
  static Expr lanes_of(const Expr& e, int lanes) { return broadcast(e, lanes); }

  Expr binary(NodeKind kind, const Expr& a, const Expr& b) {
    if (!options_.raw) return make_binary(kind, a, b);
    switch (kind) {
#define TW_RAW(Name)   \
  case NodeKind::Name: \
    return make(Name{.a = a, .b = b});
      // clang-format off
      TW_RAW(Add)
      TW_RAW(Sub)
      TW_RAW(Mul)
      TW_RAW(Div)
      TW_RAW(Mod)
      TW_RAW(FloorDiv)
      TW_RAW(FloorMod)
      TW_RAW(Min)
      TW_RAW(Max)
      TW_RAW(Equal)
      TW_RAW(NotEqual)
      TW_RAW(Less)
      TW_RAW(LessEqual)
      TW_RAW(Greater)
      TW_RAW(GreaterEqual)
      TW_RAW(And)
      // clang-format on
#undef TW_RAW
      default:
        return make(Or{.a = a, .b = b});
    }
  }

  Expr constant(DType type) {
    const int64_t limit = options_.constant_limit;
    return make_const(type, random_.between(type.is_uint() ? 0 : -limit, limit));
  }
  Expr divisor(DType type) {
    int64_t v = random_.between(1, options_.constant_limit);
    if (!type.is_uint() && random_.chance(20)) v = -v;
    return make_const(type, v);
  }
  Expr shift_amount(DType type) {
    return make_const(type, random_.between(0, std::min<int64_t>(type.bits - 1, 7)));
  }
  Expr float_constant(DType type) {
    double v = static_cast<double>(random_.between(-64, 64)) / 8.0;
    if (random_.chance(20)) v = static_cast<double>(random_.between(1, 1 << 30)) * 1e-7;
    return make_const_float(type, v == 0 ? 1.5 : v);
  }
  DType other_integer(DType type) {
    const DType other = random_.pick<DType>(
        {int_type(32), int_type(64), int_type(8), int_type(16), uint_type(8), uint_type(32)});
    return other.with_lanes(type.lanes);
  }
  Expr leaf(DType type) {
    if (!readable_.empty() && random_.chance(30)) {
      const Readable& r = random_.pick(readable_);
      if (r.buffer->element == type.element()) {
        return make(Load{.type = type, .buffer = r.buffer, .index = inside(r.size, type.lanes)});
      }
    }
    std::vector<Var> fitting;
    for (const Var& v : variables_) {
      if (v.dtype() == type || v.dtype() == type.element()) fitting.push_back(v);
    }
    if (!fitting.empty() && random_.chance(75)) {
      const Var v = random_.pick(fitting);
      return v.dtype() == type ? Expr(v) : broadcast(v, type.lanes);
    }
    return type.is_float() ? float_constant(type) : constant(type);
  }
  // An index in [0, size).
  Expr inside(int64_t size, int lanes) {
    const auto saved = std::exchange(readable_, {});
    const DType type = int_type(32, lanes);
    const Expr e = make(FloorMod{.a = integer(type, 2), .b = make_const(type, size)});
    readable_ = saved;
    return e;
  }

  Stmt store(const Var& buffer, const Expr& index, int depth) {
    const DType type = buffer->element.with_lanes(index.dtype().lanes);
    return make(Store{.buffer = buffer, .value = expr(type, depth), .index = index});
  }
  Stmt loop(const Var& i, int64_t extent, ForKind kind, const Stmt& body) {
    return make(For{
        .var = i, .min = 0, .extent = static_cast<int>(extent), .for_kind = kind, .body = body});
  }
  // The same rounds as of a loop, counted in memory.
  Stmt counted(const Var& i, int64_t rounds, const Stmt& body) {
    const Var counter = buffer_var(name("counter"), i.dtype());
    const Expr count = make(Load{.type = i.dtype(), .buffer = counter, .index = 0});
    const auto set = [&](const Expr& value) {
      return make(Store{.buffer = counter, .value = value, .index = 0});
    };
    const Stmt next = block({body, set(i + 1)});
    const Stmt round = make(LetStmt{.var = i, .value = count, .body = next});
    const Expr more = count < static_cast<int>(rounds);
    return make(Allocate{.buffer = counter,
                         .type = i.dtype(),
                         .extents = {1},
                         .scope = random_.chance(50) ? "local" : "global",
                         .body = block({set(0), make(While{.condition = more, .body = round})})});
  }
  // Writes every element once: by one loop, by two with a guard, or in vectors with a predicate.
  // It does not read the same buffer, so the order of its iterations is free.
  Stmt fill(const Var& buffer, int64_t size, int depth) {
    const std::vector<Readable> readable = readable_;
    std::erase_if(readable_, [&](const Readable& r) { return r.buffer.same_as(buffer); });
    const Var i(name("i")), j(name("j.inner"));
    const ForKind kind = random_.pick<ForKind>(
        {ForKind::Serial, ForKind::Parallel, ForKind::Unrolled, ForKind::Vectorized});
    const size_t outer = variables_.size();
    variables_.push_back(i);
    Stmt result;
    if (random_.chance(40)) {
      result = loop(i, size, kind, decorate(store(buffer, i, depth), depth));
    } else if (random_.chance(50)) {
      const int64_t factor = random_.between(2, 4);
      variables_.push_back(j);
      const Expr index = i * static_cast<int>(factor) + j;
      const Stmt body = make(IfThenElse{.condition = likely(index < static_cast<int>(size)),
                                        .then_case = store(buffer, index, depth)});
      result = loop(i, (size + factor - 1) / factor, ForKind::Serial, loop(j, factor, kind, body));
    } else {
      const int lanes = 4;
      const Expr index = make(Ramp{.base = i * lanes, .stride = 1, .lanes = lanes});
      Stmt body = store(buffer, index, depth);
      body = with(body, [&](Store& s) {
        s.predicate = make(Less{.a = index, .b = make_const(int_type(32, lanes), size)});
      });
      result = loop(i, (size + lanes - 1) / lanes, ForKind::Serial, body);
    }
    variables_.resize(outer);
    readable_ = readable;
    return result;
  }
  Stmt update(const Var& buffer, int64_t size, int depth) {
    const Var i(name("k"));
    variables_.push_back(i);
    Stmt body = store(buffer, inside(size, 1), depth);
    if (random_.chance(30)) {
      body = make(
          IfThenElse{.condition = boolean(1, depth - 1),
                     .then_case = body,
                     .else_case = random_.chance(50) ? store(buffer, inside(size, 1), 1) : Stmt()});
    }
    body = decorate(body, depth);
    const int64_t rounds = random_.between(1, 4);
    body = random_.chance(25) ? counted(i, rounds, body) : loop(i, rounds, ForKind::Serial, body);
    variables_.pop_back();
    return body;
  }
  // Statements around another that leave its meaning as it is.
  Stmt decorate(const Stmt& body, int depth) {
    switch (random_.between(0, 9)) {
      case 0:
        return make(LetStmt{
            .var = Var(name("unused")), .value = integer(int_type(32), depth - 1), .body = body});
      case 1:
        return make(AttrStmt{.node = make_const(int_type(32), 0),
                             .key = "pragma_unroll_explicit",
                             .value = make_bool(true),
                             .body = body});
      case 2:
        return make(AssertStmt{.condition = make(LessEqual{.a = 0, .b = 1}),
                               .message = make(StringImm{.value = "zero is \"not\" above one"}),
                               .body = body});
      case 3:
        return block({body, make(Evaluate{.value = integer(int_type(32), 2)})});
      default:
        return body;
    }
  }

  Random random_;
  std::vector<Var> variables_;
  RandomIrOptions options_;
  std::vector<Readable> readable_;
  int names_ = 0;
};

// Values for scalar variables: floats in [-8, 8] in steps of 1/8, integers within `limit`.
inline InterpreterScope random_scope(Random& random, const std::vector<Var>& variables,
                                     int64_t limit = 20) {
  InterpreterScope scope;
  for (const Var& v : variables) {
    Value value{.type = v.dtype()};
    if (v.dtype().is_float()) {
      value.f = static_cast<double>(random.between(-64, 64)) / 8.0;
    } else if (v.dtype().is_bool()) {
      value.i = random.between(0, 1);
    } else {
      value.i = random.between(v.dtype().is_uint() ? 0 : -limit, limit);
    }
    scope.values[v] = value;
  }
  return scope;
}

}  // namespace tw::test
