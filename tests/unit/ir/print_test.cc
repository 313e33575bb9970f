// SPDX-License-Identifier: Apache-2.0
#include "ir/print.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/expr.h"
#include "tests/support/test_producer.h"

namespace tw {
namespace {

using test::producer;

std::string text(const Expr& e) { return to_string(e); }
Expr float_const(double v, DType type = float_type(32)) { return make_const_float(type, v); }

TEST(Print, Constants) {
  EXPECT_EQ(text(-20), "-20");
  EXPECT_EQ(text(make_const(int_type(64), 1)), "(int64)1");
  EXPECT_EQ(text(make_const(uint_type(8), 255)), "(uint8)255");
  EXPECT_EQ(text(make_bool(true)), "(bool)1");
  EXPECT_EQ(text(make(IntImm{.type = handle_type(), .value = 0})), "(handle)0");
  EXPECT_EQ(text(make(StringImm{.value = "a \"b\"\n\\"})), R"("a \"b\"\n\\")");
}

TEST(Print, Floats) {
  EXPECT_EQ(text(float_const(0)), "0.000000f");
  EXPECT_EQ(text(float_const(-0.0)), "-0.000000f");
  EXPECT_EQ(text(float_const(-1.5)), "-1.500000f");
  EXPECT_EQ(text(float_const(0.1)), "0.100000f");
  EXPECT_EQ(text(float_const(1e-7)), "1e-07f");
  EXPECT_EQ(text(float_const(1.0 / 3)), "0.33333334f");
  EXPECT_EQ(text(float_const(1.0 / 3, float_type(64))), "0.3333333333333333");
  EXPECT_EQ(text(float_const(1e300, float_type(64))), "1e+300");
  EXPECT_EQ(text(float_const(2, float_type(64))), "2.000000");
  EXPECT_EQ(text(float_const(0.5, float_type(16))), "0.500000h");
  EXPECT_EQ(text(float_const(0.5, bfloat_type(16))), "0.500000bf");
  EXPECT_EQ(text(float_const(INFINITY)), "(float32)inf");
  EXPECT_EQ(text(float_const(-INFINITY, float_type(64))), "(float64)-inf");
  EXPECT_EQ(text(float_const(NAN, bfloat_type(16))), "(bfloat16)nan");
}

TEST(Print, Operators) {
  const Var a("a"), b("b"), p("p", bool_type());
  EXPECT_EQ(text((a * 7 + b) * 9 + -20), "((((a*7) + b)*9) + -20)");
  EXPECT_EQ(text(a - b), "(a - b)");
  EXPECT_EQ(text(make(Div{.a = a, .b = b})), "(a/b)");
  EXPECT_EQ(text(make(Mod{.a = a, .b = b})), "(a % b)");
  EXPECT_EQ(text(floor_div(a, b)), "floordiv(a, b)");
  EXPECT_EQ(text(floor_mod(a, b)), "floormod(a, b)");
  EXPECT_EQ(text(min(a, max(b, 2))), "min(a, max(b, 2))");
  EXPECT_EQ(text(2 <= a && a < 9 || !p), "(((2 <= a) && (a < 9)) || !p)");
  EXPECT_EQ(text(a == b), "(a == b)");
  EXPECT_EQ(text(select(p, a, b)), "select(p, a, b)");
  EXPECT_EQ(text(cast(float_type(32), a)), "float32(a)");
  EXPECT_EQ(text(make(Let{.var = b, .value = a, .body = b * b})), "(let b = a in (b*b))");
}

TEST(Print, Vectors) {
  const Var i("i");
  const Var A = buffer_var("A", float_type(32));
  const Expr ramp = make(Ramp{.base = i, .stride = 1, .lanes = 4});
  EXPECT_EQ(text(ramp), "ramp(i, 1, 4)");
  EXPECT_EQ(text(broadcast(i, 4)), "x4(i)");
  EXPECT_EQ(text(make(Shuffle{.vectors = {ramp, i}, .indices = {4, 0}})),
            "shuffle([ramp(i, 1, 4), i], [4, 0])");
  const Expr load = make(Load{.type = float_type(32), .buffer = A, .index = ramp});
  EXPECT_EQ(text(load), "A[ramp(i, 1, 4)]");
  EXPECT_EQ(text(with(load, [&](Load& l) { l.predicate = ramp < 9; })),
            "(A[ramp(i, 1, 4)] if (ramp(i, 1, 4) < x4(9)))");
  EXPECT_EQ(text(with(load, [&](Load& l) { l.type = int_type(32); })), "A<int32>[ramp(i, 1, 4)]");
}

TEST(Print, Calls) {
  const Var i("i"), x("x", float_type(32));
  EXPECT_EQ(text(call("exp", {x})), "exp(x)");
  EXPECT_EQ(text(likely(i < 3)), "likely((i < 3))");
  EXPECT_EQ(text(if_then_else(i < 3, x, 0)), "tvm_if_then_else((i < 3), x, 0.000000f)");
  EXPECT_EQ(text(call("isnan", {x})), "isnan(x)");
  EXPECT_EQ(text(call(int_type(32), "reinterpret", {x}, CallKind::PureIntrinsic)),
            "reinterpret<int32>(x)");
  EXPECT_EQ(text(call(int_type(64), "tensor_shape", {0, 1}, CallKind::PureIntrinsic)),
            "tensor_shape(0, 1)");
  EXPECT_EQ(text(call(float_type(32), "expf", {x}, CallKind::PureExtern)),
            "call_pure_extern<float32>(\"expf\", x)");
  EXPECT_EQ(text(call(int_type(32), "flush", {}, CallKind::Extern)),
            "call_extern<int32>(\"flush\")");
  EXPECT_EQ(text(call(float_type(32), "my_intrinsic", {x}, CallKind::PureIntrinsic)),
            "call_pure_intrinsic<float32>(\"my_intrinsic\", x)");
}

TEST(Print, Producers) {
  const Var i("i");
  const ProducerRef A = producer("A", {{float_type(32), {8, 8}}});
  const ProducerRef T = producer("T", {{float_type(32), {8}}, {int_type(32), {8}}});
  const Expr load = make(ProducerLoad{.producer = A, .indices = {i, 0}});
  EXPECT_EQ(text(load), "A(i, 0)");
  EXPECT_EQ(text(make(ProducerLoad{.producer = T, .value_index = 1, .indices = {i}})), "T.v1(i)");
  const Stmt provide = make(Provide{.producer = A, .value = load, .indices = {i, 1}});
  EXPECT_EQ(to_string(make(Realize{.producer = A,
                                   .bounds = {{0, 8}, {i, 1}},
                                   .body = make(Produce{.producer = A, .body = provide})})),
            "realize A<global>([0, 8], [i, 1]) {\n"
            "  produce A {\n"
            "    A(i, 1) = A(i, 0)\n"
            "  }\n"
            "}\n");
  EXPECT_EQ(to_string(make(Prefetch{.producer = T, .value_index = 1, .bounds = {{0, 8}}})),
            "prefetch T.v1([0, 8])\n");
  EXPECT_EQ(to_string(make(Prefetch{.producer = A, .bounds = {{0, 8}, {i, 1}}, .for_write = true})),
            "prefetch_write A([0, 8], [i, 1])\n");
}

TEST(Print, Reductions) {
  const Var i("i"), k("k"), x("x", float_type(32)), y("y", float_type(32));
  const ProducerRef A = producer("A", {{float_type(32), {8, 8}}});
  const Expr sum = make(
      Reduce{.combiner = {.lhs = {x}, .rhs = {y}, .result = {x + y}, .identity = {float_const(0)}},
             .source = {make(ProducerLoad{.producer = A, .indices = {i, k}})},
             .axis = {IterVar({0, 8}, k, IterKind::Reduction)}});
  EXPECT_EQ(text(sum),
            "reduce(identity=[0.000000f], lhs=[x], rhs=[y], result=[(x + y)], "
            "axis=[k in (0, 8)], source=[A(i, k)], value_index=0)");
  EXPECT_EQ(text(with(sum, [&](Reduce& r) { r.condition = k < i; })),
            "reduce(identity=[0.000000f], lhs=[x], rhs=[y], result=[(x + y)], "
            "axis=[k in (0, 8)], source=[A(i, k)], where=(k < i), value_index=0)");
}

TEST(Print, Statements) {
  const Var i("i"), n("n");
  const Var A = buffer_var("A", float_type(32)), B = buffer_var("B", float_type(32));
  const Stmt store = make(Store{.buffer = A, .value = float_const(1), .index = i});
  const Stmt loop = make(For{.var = i, .min = 0, .extent = n, .body = store});
  EXPECT_EQ(to_string(loop),
            "for (i, 0, n) {\n"
            "  A[i] = 1.000000f\n"
            "}\n");
  EXPECT_EQ(to_string(make(Allocate{.buffer = B,
                                    .type = float_type(32),
                                    .extents = {7, n * 2},
                                    .scope = "local",
                                    .body = block({loop, loop})})),
            "// attr [B] storage_scope = \"local\"\n"
            "allocate B[float32 * 7 * (n*2)]\n"
            "for (i, 0, n) {\n"
            "  A[i] = 1.000000f\n"
            "}\n"
            "for (i, 0, n) {\n"
            "  A[i] = 1.000000f\n"
            "}\n");
  EXPECT_EQ(to_string(make(
                IfThenElse{.condition = likely(i < n), .then_case = store, .else_case = loop})),
            "if (likely((i < n))) {\n"
            "  A[i] = 1.000000f\n"
            "} else {\n"
            "  for (i, 0, n) {\n"
            "    A[i] = 1.000000f\n"
            "  }\n"
            "}\n");
  EXPECT_EQ(
      to_string(make(LetStmt{
          .var = i,
          .value = n,
          .body = make(AssertStmt{
              .condition = i < 3,
              .message = make(StringImm{.value = "too large"}),
              .body = make(AttrStmt{
                  .node = i, .key = "pragma_unroll", .value = make_bool(true), .body = store})})})),
      "let i = n\n"
      "assert((i < 3), \"too large\")\n"
      "// attr [i] pragma_unroll = (bool)1\n"
      "A[i] = 1.000000f\n");
  const Expr ramp = make(Ramp{.base = i, .stride = 1, .lanes = 4});
  EXPECT_EQ(to_string(make(Store{.buffer = A,
                                 .value = broadcast(float_const(1), 4),
                                 .index = ramp,
                                 .predicate = ramp < n})),
            "A[ramp(i, 1, 4)] = x4(1.000000f) if (ramp(i, 1, 4) < x4(n))\n");
}

// Where what has no braces ends before its block does.
TEST(Print, BracesShowWhereAnAttributeEnds) {
  const Stmt one = make(Evaluate{.value = 1}), two = make(Evaluate{.value = 2});
  const auto attribute = [](const Stmt& body) {
    return make(AttrStmt{.node = 0, .key = "key", .value = 3, .body = body});
  };
  EXPECT_EQ(to_string(block({attribute(one), two})),
            "{\n"
            "  // attr [0] key = 3\n"
            "  1\n"
            "}\n"
            "2\n");
  EXPECT_EQ(to_string(attribute(block({one, two}))),
            "// attr [0] key = 3\n"
            "1\n"
            "2\n");
}

TEST(Print, NamesAreUnique) {
  const Var i("i"), other("i"), taken("i_1"), reserved("for"), type("float32"), odd("a b"),
      empty("");
  const Expr e = make(Add{.a = make(Add{.a = i, .b = other}), .b = make(Add{.a = taken, .b = i})});
  EXPECT_EQ(text(e), "((i + i_1) + (i_1_1 + i))");
  EXPECT_EQ(text(reserved + type), "(for_1 + float32_1)");
  EXPECT_EQ(text(odd + empty), "(a_b + v)");
  // Producers stand where functions do; a buffer may be called like its producer.
  const ProducerRef exp = producer("exp", {{float_type(32), {8}}});
  const Var buffer = buffer_var("exp", float_type(32));
  EXPECT_EQ(to_string(make(Produce{
                .producer = exp,
                .body = make(Store{.buffer = buffer, .value = float_const(1), .index = i})})),
            "produce exp_1 {\n"
            "  exp[i] = 1.000000f\n"
            "}\n");
}

TEST(Print, Declarations) {
  const Var i("i"), n("n");
  const Var A = buffer_var("A", float_type(32));
  const ProducerRef B = producer("B", {{float_type(32), {n, 3}}});
  const ProducerRef T = producer("T", {{float_type(32), {8}}, {int_type(64), {}}});
  const Stmt store =
      make(Store{.buffer = A,
                 .value = make(ProducerLoad{.producer = B, .indices = {i, 0}}) +
                          make(ProducerLoad{.producer = T, .value_index = 0, .indices = {i}}),
                 .index = i});
  EXPECT_EQ(
      to_string(make(For{.var = i, .min = 0, .extent = 8, .body = store}), {.declarations = true}),
      "declare A: float32*\n"
      "declare n: int32\n"
      "declare B: float32[n, 3]\n"
      "declare T: (float32[8], int64[])\n"
      "for (i, 0, 8) {\n"
      "  A[i] = (B(i, 0) + T.v0(i))\n"
      "}\n");
}

}  // namespace
}  // namespace tw
