// SPDX-License-Identifier: Apache-2.0
// One bad tensor program each.
#include <gtest/gtest.h>

#include "ir/expr.h"
#include "schedule/te/evaluate.h"
#include "tests/support/expect_error.h"
#include "tests/support/te_run.h"

namespace tw::te {
namespace {

using test::Array;
using test::expect_error;
using test::run;

Tensor vector(const char* name = "A", DType type = float_type(32)) {
  return placeholder({4}, type, name);
}
// compute over four elements with one reduce axis of four.
Tensor with_axis(const std::function<Expr(const Var&, const IterVar&)>& f) {
  const IterVar k = reduce_axis({0, 4}, "k");
  return compute({4}, [&](const std::vector<Var>& i) { return f(i[0], k); }, "C");
}

TEST(TeErrors, ExtentsAreIntegersOfAtLeastZero) {
  const ErrorInfo e =
      expect_error(ErrorCode::BadShape, [] { placeholder({4, -1}, float_type(32), "A"); });
  EXPECT_EQ(e.stage, "A");
  EXPECT_EQ(e.what, "extent 1 of the shape is -1");
  expect_error(ErrorCode::BadShape, [] { placeholder({make_const_float(float_type(32), 2)}); });
  expect_error(ErrorCode::BadShape, [] { placeholder({Expr()}); });
  expect_error(ErrorCode::BadShape, [] { reduce_axis({0, -1}); });
  expect_error(ErrorCode::BadShape, [] {
    compute({vector("n", int_type(32))(0)}, [](const std::vector<Var>&) { return Expr(1); });
  });
}

TEST(TeErrors, ElementsAreNumbersAndVectorsOfThem) {
  expect_error(ErrorCode::TypeMismatch, [] { placeholder({4}, handle_type()); });
  const Tensor lanes = placeholder({4}, int_type(32, 4));
  expect_error(ErrorCode::TypeMismatch, [&] {
    compute({4}, [&](const std::vector<Var>& i) { return vector()(lanes(i[0])); });
  });
  expect_error(ErrorCode::TypeMismatch, [&] {
    const IterVar k = reduce_axis({0, 4}, "k");
    sum(make_zero(int_type(32)), {k}, lanes(k.var()) > 0);
  });
}

TEST(TeErrors, OneIntegerIndexForEachDimension) {
  const ErrorInfo e = expect_error(ErrorCode::IndexCount, [] { vector()(1, 2); });
  EXPECT_EQ(e.what, "2 indices for a tensor of rank 1");
  expect_error(ErrorCode::TypeMismatch, [] { vector()(make_const_float(float_type(32), 1)); });
}

TEST(TeErrors, ReductionsAreWholeBodies) {
  const Tensor a = vector();
  const ErrorInfo e = expect_error(ErrorCode::BadReduction, [&] {
    with_axis([&](const Var&, const IterVar& k) { return sum(a(k.var()), {k}) + 1; });
  });
  EXPECT_EQ(e.what, "a reduction inside an expression");
  EXPECT_NE(e.legal.find("second compute"), std::string::npos);
  expect_error(ErrorCode::BadReduction, [&] {
    with_axis([&](const Var&, const IterVar& k) { return sum(sum(a(k.var()), {k}), {k}); });
  });
}

TEST(TeErrors, ReductionsRunOverReduceAxes) {
  const Tensor a = vector();
  expect_error(ErrorCode::BadReduction, [&] { sum(a(0), {}); });
  const IterVar k = reduce_axis({0, 4}, "k");
  expect_error(ErrorCode::BadReduction, [&] { sum(a(k.var()), {k, k}); });
  const IterVar i({0, 4}, Var("i"), IterKind::DataParallel);
  expect_error(ErrorCode::BadReduction, [&] { sum(a(i.var()), {i}); });
  expect_error(ErrorCode::BadReduction, [&] { compute_op("C", {k}, {sum(a(k.var()), {k})}); });
}

TEST(TeErrors, ReduceAxesHaveValuesInsideOfReductionsOnly) {
  const Tensor a = vector();
  const IterVar k = reduce_axis({0, 4}, "k"), r = reduce_axis({0, 4}, "r");
  const auto refused = [&](const Expr& body, const std::string& axis) {
    const ErrorInfo e = expect_error(ErrorCode::UnboundVariable, [&] {
      compute({4}, [&](const std::vector<Var>&) { return body; }, "C");
    });
    EXPECT_EQ(e.stage, "C");
    EXPECT_EQ(e.axis, axis);
    EXPECT_EQ(e.legal, "te.sum(…, axis=" + axis + "), or an axis of the compute");
  };
  refused(a(k.var()), "k");
  refused(sum(a(k.var()) * a(r.var()), {r}), "k");
  refused(sum(a(r.var()), {r}, k.var() < 2), "k");
  // A variable of its own that a call gives is no axis, nor is an axis that the compute has.
  const Var n("n");
  compute({4}, [&](const std::vector<Var>& i) { return a(i[0]) + cast(float_type(32), n); });
  const IterVar data({0, 4}, k.var(), IterKind::DataParallel);
  compute_op("C", {data}, {a(k.var())});
}

TEST(TeErrors, ReducersFitTheirSources) {
  const IterVar k = reduce_axis({0, 4}, "k");
  const Tensor a = vector(), mask = vector("mask", bool_type());
  expect_error(ErrorCode::TypeMismatch, [&] { sum(mask(k.var()), {k}); });
  expect_error(ErrorCode::TypeMismatch, [&] { sum(a(k.var()), {k}, k.var() + 1); });
  const Var x("x"), y("y");
  const CommReducer add{.lhs = {x}, .rhs = {y}, .result = {x + y}, .identity = {0}};
  expect_error(ErrorCode::BadReduction, [&] { reduce(add, {a(k.var())}, {k}); });
  expect_error(ErrorCode::BadReduction, [&] { reduce(add, {Expr(k.var()), Expr(1)}, {k}); });
}

TEST(TeErrors, OutputsOfOneReductionAreItsComponents) {
  const IterVar k = reduce_axis({0, 4}, "k"), other = reduce_axis({0, 4}, "other");
  const Tensor a = vector();
  const auto outputs = [&](std::vector<Expr> body) {
    compute_many({}, [&](const std::vector<Var>&) { return body; });
  };
  const Expr s = sum(a(k.var()), {k});
  expect_error(ErrorCode::BadReduction, [&] { outputs({s, a(0)}); });
  expect_error(ErrorCode::BadReduction, [&] { outputs({s, s}); });
  const Var lx("lx"), ly("ly"), rx("rx"), ry("ry");
  const CommReducer pair{
      .lhs = {lx, ly}, .rhs = {rx, ry}, .result = {lx + rx, ly + ry}, .identity = {0, 0}};
  const std::vector<Expr> both = reduce(pair, {Expr(1), Expr(2)}, {k});
  expect_error(ErrorCode::BadReduction, [&] { outputs({both[1], both[0]}); });
  expect_error(ErrorCode::BadReduction, [&] { outputs({both[0]}); });
  expect_error(ErrorCode::BadReduction,
               [&] { outputs({both[0], reduce(pair, {Expr(1), Expr(2)}, {other})[1]}); });
}

TEST(TeErrors, ComputesHaveBodiesAndFittingAxisNames) {
  expect_error(ErrorCode::BadArgument, [] {
    compute_many({4}, [](const std::vector<Var>&) { return std::vector<Expr>(); });
  });
  expect_error(ErrorCode::BadArgument,
               [] { compute({4}, [](const std::vector<Var>&) { return Expr(); }); });
  expect_error(ErrorCode::BadArgument, [] {
    compute({4}, [](const std::vector<Var>& i) { return Expr(i[0]); }, "C", "", {}, {"i", "j"});
  });
}

TEST(TeErrors, TextHoldsOnlyWhatOtherProcessesKnow) {
  const Tensor a = vector();
  const auto text_of = [](const Tensor& t) { to_text(make_program({t})); };
  const Var loose("loose"), buffer = buffer_var("buffer", float_type(32));
  const ErrorInfo e = expect_error(ErrorCode::NotTextual, [&] {
    text_of(with_axis([&](const Var& i, const IterVar&) { return a(i) + loose; }));
  });
  EXPECT_EQ(e.stage, "C");
  expect_error(ErrorCode::NotTextual, [&] {
    text_of(with_axis([&](const Var& i, const IterVar&) {
      return call(float_type(32), "my_function", {a(i)}, CallKind::PureExtern);
    }));
  });
  expect_error(ErrorCode::NotTextual, [&] {
    text_of(with_axis([&](const Var& i, const IterVar&) {
      return make(Load{.type = float_type(32), .buffer = buffer, .index = i});
    }));
  });
}

TEST(TeErrors, CountingNeedsConstantShapes) {
  const Var n = var("n");
  const Tensor c = compute({n}, [](const std::vector<Var>& i) { return i[0] * 2; });
  expect_error(ErrorCode::SymbolicExtent, [&] { count_operations(make_program({c})); });
}

// Text, and the place and kind of what is wrong with it.
struct BadText {
  const char* text;
  const char* where;
  ErrorCode code = ErrorCode::ParseError;
};

TEST(TeErrors, ParsingSaysWhere) {
  const BadText cases[] = {
      {"", "1:1"},
      {"hello", "1:1"},
      {"te 2\n", "1:4"},
      {"te 1\nA = placeholder(float32, [4])\n", "3:1"},
      {"te 1\nA = placeholder(float31, [4])", "2:17"},
      {"te 1\nA = placeholder(float32, [4]", "2:29"},
      {"te 1\nA = placeholder(float32, [4]) B", "2:31"},
      {"te 1\nA = placeholder(float32, [n])", "2:27"},
      {"te 1\nA = unknown(float32)", "2:5"},
      {"te 1\nA B", "2:3"},
      {"te 1\noutputs A", "2:9"},
      {"te 1\nA = placeholder(float32, [4])\nA = placeholder(float32, [4])", "3:1"},
      {"te 1\nn = var(int32)\nn = var(int32)", "3:1"},
      {"te 1\nC = compute([i: 4, i: 4], 1)", "2:20"},
      {"te 1\nC = compute([i: 4], )", "2:21"},
      {"te 1\nC = compute([i: 4], (1 + ))", "2:26"},
      {"te 1\nC = compute([i: 4], (1 + 2.0f))", "2:24"},
      {"te 1\nC = compute([i: 4], B(i))", "2:21"},
      {"te 1\nC = compute([i: 4], \"text)", "2:21"},
      {"te 1\nC = compute([i: 4], reduce [k: 4], mean(k))", "2:36"},
      {"te 1\nC = compute([i: 4], i, color=\"red\")", "2:24"},
      {"te 1\nC = compute([i: 4], i, tag=red)", "2:28"},
      {"te 1\nC = compute([i: 4], i, attributes={x: 1y})", "2:39"},
      {"te 1\nA = placeholder(float32, [-1])", "2:1", ErrorCode::BadShape},
      {"te 1\nC = compute([i: 4], reduce [k: 4], sum((1 < k)))", "2:1", ErrorCode::TypeMismatch},
      {"te 1\nA = placeholder(float32, [4])\nC = compute([i: 4], A(i, i))", "3:1",
       ErrorCode::IndexCount},
  };
  for (const BadText& bad : cases) {
    SCOPED_TRACE(bad.text);
    const ErrorInfo e = expect_error(bad.code, [&] { parse_program(bad.text); });
    EXPECT_EQ(e.where, bad.where) << e.what;
  }
}

TEST(TeErrors, EvaluationNamesTheElementThatIsNotThere) {
  const Tensor a = placeholder({3, 4}, float_type(32), "A");
  const Tensor b =
      compute({3, 4}, [&](const std::vector<Var>& i) { return a(i[0], i[1] + 1); }, "B");
  const ErrorInfo e = expect_error(ErrorCode::OutOfBounds, [&] { run(b, {test::sample({3, 4})}); });
  EXPECT_EQ(e.what, "A(0, 4) is read");
  EXPECT_NE(e.legal.find("[3, 4]"), std::string::npos);
}

TEST(TeErrors, EvaluationNeedsFittingArguments) {
  const Tensor a = vector();
  const Program p =
      make_program({compute({4}, [&](const std::vector<Var>& i) { return a(i[0]); }, "B")});
  InterpreterBuffer good = test::to_buffer({1, 2, 3, 4}, float_type(32)), out = good;
  InterpreterBuffer short_one(float_type(32), 3), other(int_type(32), 4), blank(float_type(32), 4);
  expect_error(ErrorCode::ArgumentCount, [&] { evaluate(p, {&good}); });
  expect_error(ErrorCode::ArgumentNull, [&] { evaluate(p, {&good, nullptr}); });
  expect_error(ErrorCode::ArgumentDType, [&] { evaluate(p, {&other, &out}); });
  expect_error(ErrorCode::ArgumentShape, [&] { evaluate(p, {&good, &short_one}); });
  const ErrorInfo e =
      expect_error(ErrorCode::UninitializedRead, [&] { evaluate(p, {&blank, &out}); });
  EXPECT_EQ(e.what, "A(0) is read and was never written");
}

TEST(TeErrors, EvaluationNeedsValuesOfVariables) {
  const Var n = var("n");
  const Tensor a = placeholder({n}, float_type(32), "A");
  const Program p =
      make_program({compute({n}, [&](const std::vector<Var>& i) { return a(i[0]); })});
  InterpreterBuffer x(float_type(32), 4), y(float_type(32), 4);
  expect_error(ErrorCode::UnboundVariable, [&] { evaluate(p, {&x, &y}); });
}

// A zero among the data is none of the program's errors: tests/unit/schedule/te_evaluate_test.cc.
TEST(TeErrors, ADivisorWrittenAsZeroIsRefused) {
  const Tensor a = vector("A", int_type(32));
  expect_error(ErrorCode::DivisionByZero, [&] {
    compute({4}, [&](const std::vector<Var>& i) { return floor_div(a(i[0]), 0); });
  });
}

}  // namespace
}  // namespace tw::te
