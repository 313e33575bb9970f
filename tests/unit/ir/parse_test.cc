// SPDX-License-Identifier: Apache-2.0
#include "ir/parse.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/attributes.h"
#include "ir/equal.h"
#include "ir/expr.h"
#include "ir/interpret.h"
#include "ir/print.h"
#include "tests/support/expect_error.h"
#include "tests/support/test_producer.h"

namespace tw {
namespace {

using test::expect_error;
using test::producer;

template <class H, class Parse>
void expect_round_trip(const H& original, Parse parse) {
  const std::string text = to_string(original, {.declarations = true});
  const H parsed = parse(text);
  EXPECT_TRUE(equal(original, parsed, {.map_free_vars = true})) << text;
  EXPECT_EQ(structural_hash(original), structural_hash(parsed)) << text;
  EXPECT_EQ(to_string(parsed, {.declarations = true}), text);
}
void expect_round_trip(const Expr& e) {
  expect_round_trip(e, [](const std::string& text) { return parse_expr(text); });
}
void expect_round_trip(const Stmt& s) {
  expect_round_trip(s, [](const std::string& text) { return parse_stmt(text); });
}

// The part of the seeds' lowered convolution that they print in full.
constexpr char kSeed[] = R"(// attr [pad_temp] storage_scope = "global"
allocate pad_temp[float32 * 7 * 3 * 11 * 13]
// attr [compute] storage_scope = "global"
allocate compute[float32 * 7 * 3 * 7 * 9]
produce pad_temp {
  parallel (i0.i1.fused, 0, 21) {
    for (i2, 0, 11) {
      for (i3, 0, 13) {
        pad_temp[((((i0.i1.fused*11) + i2)*13) + i3)] = tvm_if_then_else(((((2 <= i2) && (i2 < 9)) && (2 <= i3)) && (i3 < 11)), input0[(((((i0.i1.fused*7) + i2)*9) + i3) + -20)], 0.000000f)
      }
    }
  }
}
produce compute {
  parallel (nn.ff.fused, 0, 21) {
    for (yy.init, 0, 7) {
      for (xx.inner.init.s, 0, 16) {
        if (likely((xx.inner.init.s < 9))) {
          compute[((((nn.ff.fused*7) + yy.init)*9) + xx.inner.init.s)] = 0.000000f
        }
      }
    }
  }
}
)";

TEST(Parse, ReadsTheSeedsAndPrintsThemBack) {
  const std::string declarations =
      "declare input0: float32*\n"
      "declare pad_temp: float32[7, 3, 11, 13]\n"
      "declare compute: float32[7, 3, 7, 9]\n";
  const Stmt s = parse_stmt(declarations + kSeed);
  EXPECT_EQ(to_string(s), kSeed);
  EXPECT_EQ(to_string(s, {.declarations = true}), declarations + kSeed);

  // And it means something: the padding is zero around the input.
  const Allocate* outer = as<Allocate>(s);
  const Allocate* inner = as<Allocate>(outer->body);
  const Produce* pad = as<Produce>(as<Block>(inner->body)->stmts[0]);
  InterpreterBuffer input(float_type(32), 7 * 3 * 7 * 9), padded(float_type(32), 7 * 3 * 11 * 13);
  for (int64_t k = 0; k < input.size(); ++k) {
    input.set(k, {.type = float_type(32), .f = static_cast<double>(k + 1)});
  }
  InterpreterScope scope;
  for (const Var& v : free_vars(pad->body)) {
    scope.buffers[v] = v.name() == "input0" ? &input : &padded;
  }
  interpret(pad->body, scope);
  EXPECT_EQ(padded.at(0).f, 0);
  EXPECT_EQ(padded.at(2 * 13 + 2).f, 1);
  EXPECT_EQ(padded.at((11 + 8) * 13 + 10).f, 2 * 7 * 9);
}

TEST(Parse, RoundTripsEveryExpression) {
  const Var i("i"), same("i"), n("n", int_type(64)), x("x", float_type(32)), p("p", bool_type());
  const Var A = buffer_var("A", float_type(32)), V = buffer_var("V", float_type(32, 4));
  const ProducerRef T = producer("T", {{float_type(32), {i, 8}}, {int_type(32), {}}});
  const Expr ramp = make(Ramp{.base = i, .stride = -2, .lanes = 4});
  const Expr load =
      make(Load{.type = float_type(32), .buffer = A, .index = ramp, .predicate = ramp < 4});
  expect_round_trip(i + same * 3 - 7);
  expect_round_trip(make(IntImm{.type = int_type(32), .value = INT32_MIN}));
  expect_round_trip(make(IntImm{.type = int_type(64), .value = INT64_MIN}));
  expect_round_trip(make(IntImm{.type = uint_type(64), .value = -1}));
  expect_round_trip(make(IntImm{.type = handle_type(), .value = 0}));
  for (DType t : {float_type(16), float_type(32), float_type(64), bfloat_type(16)}) {
    for (double v : {0.0, -0.0, 1.0 / 3, 1e-8, -65504.0, 5.9604644775390625e-08, 1e30, 1e300,
                     double(INFINITY), -double(INFINITY), double(NAN), 0.1, 4.9e-324}) {
      expect_round_trip(make(FloatImm{.type = t, .value = v}));
    }
  }
  expect_round_trip(make(StringImm{.value = std::string("quote \" back \\ \n\t\x01 bell", 20)}));
  expect_round_trip(load);
  expect_round_trip(load + load);
  expect_round_trip(with(load, [](Load& l) { l.type = int_type(16); }));
  expect_round_trip(make(Load{.type = float_type(32), .buffer = V, .index = i}));
  expect_round_trip(make(Shuffle{.vectors = {load, load}, .indices = {7, 0, 3}}));
  expect_round_trip(select(p, x, 1) + if_then_else(p && i < 3, x, 2));
  expect_round_trip(call("isnan", {x}) || !p || likely(p));
  expect_round_trip(call(int_type(32), "reinterpret", {x}, CallKind::PureIntrinsic));
  expect_round_trip(call(int_type(32, 4), "f", {x}, CallKind::Extern));
  expect_round_trip(call(handle_type(), "tensor_data", {3}, CallKind::PureIntrinsic));
  expect_round_trip(make(Let{.var = i, .value = 3, .body = i + i}));
  expect_round_trip(make(Let{.var = n, .value = cast(int_type(64), i), .body = n + n}));
  expect_round_trip(make(ProducerLoad{.producer = T, .value_index = 1}));
  expect_round_trip(cast(float_type(16), floor_div(n, 3)) + cast(float_type(16), floor_mod(n, 3)));
  expect_round_trip(min(trunc_div(i, same), max(trunc_mod(i, same), 3)));
}

TEST(Parse, RoundTripsReductions) {
  const Var i("i"), k("k"), j("j");
  const Var a("a", float_type(32)), b("b", int_type(32)), c("c", float_type(32)), d("d");
  const ProducerRef A = producer("A", {{float_type(32), {8, 8}}});
  // argmax: two components.
  const Expr take = a >= c;
  const Expr e = make(Reduce{
      .combiner = {.lhs = {a, b},
                   .rhs = {c, d},
                   .result = {select(take, a, c), select(take, b, d)},
                   .identity = {min_value(float_type(32)), -1}},
      .source = {make(ProducerLoad{.producer = A, .indices = {i, k}}), k},
      .axis = {IterVar({0, 8}, k, IterKind::Reduction), IterVar({i, 2}, j, IterKind::Ordered)},
      .condition = k + j < 9,
      .value_index = 1});
  expect_round_trip(e);
}

TEST(Parse, RoundTripsEveryStatement) {
  const Var i("i"), n("n"), h("h", handle_type()), task("task");
  const Var A = buffer_var("A", float_type(32)), B = buffer_var("B", int_type(8));
  const ProducerRef T = producer("T", {{float_type(32), {n}}, {float_type(32), {n}}});
  const Stmt one = make(Evaluate{.value = 1}), negative = make(Evaluate{.value = -1});
  const Stmt store = make(Store{
      .buffer = A, .value = make_const_float(float_type(32), 1), .index = i, .predicate = i < n});
  for (ForKind kind :
       {ForKind::Serial, ForKind::Parallel, ForKind::Vectorized, ForKind::Unrolled}) {
    expect_round_trip(make(For{.var = i, .min = 1, .extent = n, .for_kind = kind, .body = store}));
  }
  // Lines that begin like the rest of the one above.
  expect_round_trip(block({make(Evaluate{.value = n}), make(Evaluate{.value = n + i}), negative,
                           make(Evaluate{.value = n}), store,
                           make(IfThenElse{.condition = i < n, .then_case = one})}));
  expect_round_trip(make(IfThenElse{.condition = i < n, .then_case = one, .else_case = negative}));
  const Stmt allocate = make(Allocate{.buffer = B,
                                      .type = float_type(32, 4),
                                      .extents = {n, make_const(int_type(64), 4)},
                                      .scope = "local",
                                      .body = block({one, store})});
  expect_round_trip(allocate);
  expect_round_trip(block({allocate, one}));
  expect_round_trip(
      make(LetStmt{.var = A,
                   .value = call(handle_type(), "tensor_data", {0}, CallKind::PureIntrinsic),
                   .body = store}));
  expect_round_trip(make(LetStmt{.var = h, .value = Expr(A), .body = one}));
  expect_round_trip(make(AttrStmt{.key = "odd key", .body = one}));
  expect_round_trip(make(AttrStmt{.node = A, .key = "storage_scope", .value = 3, .body = one}));
  expect_round_trip(make(AttrStmt{.node = task,
                                  .key = attr::kParallelLaunch,
                                  .value = n,
                                  .body = make(Evaluate{.value = task})}));
  expect_round_trip(block({make(AssertStmt{.condition = i < n}), one}));
  expect_round_trip(
      make(AssertStmt{.condition = i < n, .message = make(StringImm{.value = "m"}), .body = one}));
  const Stmt provide = make(Provide{.producer = T,
                                    .value_index = 1,
                                    .value = make(ProducerLoad{.producer = T, .indices = {i}}),
                                    .indices = {i}});
  expect_round_trip(make(Realize{
      .producer = T,
      .value_index = 1,
      .bounds = {{i, n}},
      .scope = "local.2",
      .body = make(Produce{
          .producer = T,
          .body = block({make(Prefetch{.producer = T, .bounds = {{0, 4}}}),
                         make(Prefetch{.producer = T, .bounds = {{0, 4}}, .for_write = true}),
                         provide})})}));
}

// A loop variable that several loops share stays one variable.
TEST(Parse, OneNameIsOneVariable) {
  const Var i("i");
  const Stmt loop = make(For{.var = i, .min = 0, .extent = 4, .body = make(Evaluate{.value = i})});
  expect_round_trip(block({loop, loop}));
  expect_round_trip(block({make(Evaluate{.value = i}), loop}));
}

TEST(Parse, TakesTextWrittenByHand) {
  const Stmt s = parse_stmt(R"(
      declare A: float32*   // comments are dropped
      declare n: int32
      for (i, 0, n) { if (i*2 + 1 < n && !(i == 3)) { A[i*2+1] = A[i] * 0.5f } })");
  EXPECT_EQ(to_string(s),
            "for (i, 0, n) {\n"
            "  if (((((i*2) + 1) < n) && !(i == 3))) {\n"
            "    A[((i*2) + 1)] = (A[i]*0.500000f)\n"
            "  }\n"
            "}\n");
}

TEST(Parse, AScopeSaysWhatNamesMean) {
  const Var k("k"), n("n");
  ParseScope scope;
  scope.variables = {{"i", k}, {"n", n}};
  scope.producers = {{"A", producer("other", {{int_type(32), {8}}})}};
  scope.line = 7;
  scope.column = 5;
  EXPECT_TRUE(equal(parse_expr("(i + n)", scope), make(Add{.a = k, .b = n})));
  EXPECT_EQ(to_string(parse_expr("A((let i = n in i) + i)", scope)),
            "other(((let k = n in k) + k))");
  EXPECT_EQ(expect_error(ErrorCode::ParseError, [&] { parse_expr("i +\n j", scope); }).where,
            "8:2");
  EXPECT_EQ(expect_error(ErrorCode::ParseError, [&] { parse_expr("i + j", scope); }).where, "7:9");
}

struct Bad {
  const char* text;
  const char* where;
  const char* what;
};

TEST(Parse, SaysWhereAndWhat) {
  const Bad cases[] = {
      {"", "1:1", "found the end of the text"},
      {"for (i, 0, 4) {", "1:16", "found the end of the text"},
      {"for (i, 0, 4) {\n}", "2:1", "found '}'"},
      {"A[0] = 1", "1:1", "unknown variable 'A'"},
      {"A(0) = 1", "1:1", "unknown producer 'A'"},
      {"declare x: float3\nx", "1:12", "unknown data type 'float3'"},
      {"declare for: int32\n1", "1:9", "'for' is a reserved word"},
      {"declare i: int32\ndeclare i: float32\n1", "2:9", "variable of type int32 already"},
      {"for (i, 0, 4) {\n  i\n}\ni", "4:1", "unknown variable 'i'"},
      {"declare x: float32\n(x + 1)", "2:4", "operands of type float32 and int32"},
      {"declare x: float32\nx = 1", "2:3", "cannot be stored to"},
      {"(int8)300", "1:7", "300 does not fit int8"},
      {"99999999999", "1:1", "99999999999 does not fit int32"},
      {"1.5q", "1:1", "unknown suffix 'q'"},
      {"\"open", "1:1", "a string without its end"},
      {"1 $ 2", "1:3", "unknown character '$'"},
      {"exp(1.0f, 2.0f)", "1:1", "'exp' with 2 arguments"},
      {"1\n}", "2:1", "found '}'"},
      {"ramp(0, 1, 1)", "1:1", "fewer than two lanes"},
      {"assert(1)", "1:1", "condition is not a scalar bool"},
      {"// attr [x] storage_scope = \"local\"\n1", "2:1", "found '1'"},
      {"declare A: float32[4]\ndeclare A: float32[4]\n1", "2:9", "cannot name a producer"},
  };
  for (const Bad& bad : cases) {
    const ErrorInfo info = expect_error(ErrorCode::ParseError, [&] { parse_stmt(bad.text); });
    EXPECT_EQ(info.where, bad.where) << bad.text;
    EXPECT_NE(info.what.find(bad.what), std::string::npos) << bad.text << "\n" << info.what;
  }
  EXPECT_EQ(expect_error(ErrorCode::ParseError, [] { parse_expr("1 2"); }).where, "1:3");
  EXPECT_EQ(expect_error(ErrorCode::ParseError, [] { parse_expr(std::string(100'000, '(')); }).what,
            "nested too deeply");
}

TEST(Parse, WhileLoops) {
  const std::string text = R"(while (((C[0] < n) && likely((C[1] != 0)))) {
  let next = C[C[0]]
  C[0] = next
  while ((C[1] > next)) {
    C[1] = (C[1] - 1)
  }
}
C[0] = 1
)";
  const Stmt s = parse_stmt("declare C: int32*\ndeclare n: int32\n" + text);
  EXPECT_EQ(to_string(s), text);
  expect_round_trip(s);
  expect_error(ErrorCode::ParseError, [] { parse_stmt("while (1) {\n  0\n}\n"); });
  expect_error(ErrorCode::ParseError, [] { parse_stmt("while ((bool)1) {\n}\n"); });
}

}  // namespace
}  // namespace tw
