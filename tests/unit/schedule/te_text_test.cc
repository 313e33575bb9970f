// SPDX-License-Identifier: Apache-2.0
#include "schedule/te/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "ir/expr.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "schedule/topi/topi.h"
#include "tests/support/comma_locale.h"
#include "tests/support/te_run.h"

namespace tw::te {
namespace {

Program matmul(int m, int n, int k, const std::vector<std::string>& names = {"A", "B", "C", "k"},
               DType type = float_type(32)) {
  const Tensor a = placeholder({m, k}, type, names[0]), b = placeholder({k, n}, type, names[1]);
  const IterVar r = reduce_axis({0, k}, names[3]);
  const Tensor c = compute(
      {m, n},
      [&](const std::vector<Var>& i) { return sum(a(i[0], r.var()) * b(r.var(), i[1]), {r}); },
      names[2], "", {}, {"i", "j"});
  return make_program({c});
}

// Prints, parses, prints again; gives the text.
std::string round_trip(const Program& p) {
  const std::string text = to_text(p);
  const Program again = parse_program(text);
  EXPECT_EQ(to_text(again), text);
  EXPECT_EQ(workload_hash(again), workload_hash(p));
  return text;
}

TEST(TeText, PrintsAProgramAsItIsRead) {
  EXPECT_EQ(round_trip(matmul(128, 3072, 768)),
            "te 1\n"
            "A = placeholder(float32, [128, 768])\n"
            "B = placeholder(float32, [768, 3072])\n"
            "C = compute([i: 128, j: 3072], reduce [k: 768], sum((A(i, k)*B(k, j))))\n"
            "arguments A B C\n"
            "outputs C\n");
}

// The program that we are part of may have called setlocale.
TEST(TeText, NumbersAreReadAlikeInEveryLocale) {
  const Tensor a = placeholder({4}, float_type(32), "A");
  const Tensor b =
      compute({4},
              [&](const std::vector<Var>& i) {
                const auto number = [](double v) { return make_const_float(float_type(32), v); };
                return a(i[0]) * number(1.5) + number(1e-7);
              },
              "B", "", {{"slope", 0.25}});
  const Program p = make_program({b});
  const std::string text = to_text(p);
  EXPECT_NE(text.find("1.500000f"), std::string::npos) << text;
  const test::CommaLocale locale;
  if (!locale.works()) GTEST_SKIP() << "no localedef";
  EXPECT_EQ(round_trip(p), text);
  EXPECT_EQ(std::get<double>(parse_program(text).outputs[0].op()->attributes.at("slope")), 0.25);
  EXPECT_EQ(*as_const_float(parse_expr("-2.5e1")), -25);
}

TEST(TeText, SymbolicShapesDeclareTheirVariables) {
  const Var n = var("n"), m = var("m", int_type(64));
  const Tensor a = placeholder({n, m}, float_type(32), "A");
  const Tensor b = compute(
      {n * 2, m}, [&](const std::vector<Var>& i) { return a(floor_div(i[0], 2), i[1]) + n; }, "B");
  EXPECT_EQ(round_trip(make_program({b})),
            "te 1\n"
            "n = var(int32)\n"
            "m = var(int64)\n"
            "A = placeholder(float32, [n, m])\n"
            "B = compute([i0: (n*2), i1: m], (A(floordiv(i0, 2), i1) + float32(n)))\n"
            "arguments A B\n"
            "outputs B\n");
}

TEST(TeText, SeveralOutputsAndGeneralReducers) {
  const Tensor a = placeholder({4, 8}, float_type(32), "A");
  const std::string text = round_trip(make_program({topi::argmax(a, {1})}));
  EXPECT_EQ(text,
            "te 1\n"
            "A = placeholder(float32, [4, 8])\n"
            "A_red_temp = compute([i0: 4], reduce [k1: 8], "
            "reduce(identity=[2147483647, (float32)-inf], "
            "lhs=[lhs_index, lhs_value], rhs=[rhs_index, rhs_value], "
            "result=[select((((lhs_value > rhs_value) || ((lhs_value == rhs_value) && "
            "(lhs_index < rhs_index))) || (isnan(lhs_value) && (!isnan(rhs_value) || "
            "(lhs_index < rhs_index)))), lhs_index, rhs_index), "
            "select((((lhs_value > rhs_value) || ((lhs_value == rhs_value) && "
            "(lhs_index < rhs_index))) || (isnan(lhs_value) && (!isnan(rhs_value) || "
            "(lhs_index < rhs_index)))), lhs_value, rhs_value)], source=[k1, A(i0, k1)]), "
            "tag=\"comm_reduce_idx\")\n"
            "A_red = compute([i0: 4], A_red_temp.v0(i0), tag=\"comm_reduce_idx\")\n"
            "arguments A A_red\n"
            "outputs A_red\n");
  const std::vector<Tensor> both = compute_many(
      {4},
      [&](const std::vector<Var>& i) -> std::vector<Expr> {
        return {a(i[0], 0), cast(int_type(8), a(i[0], 1))};
      },
      "pair");
  EXPECT_EQ(round_trip(make_program({both[1], both[0]})),
            "te 1\n"
            "A = placeholder(float32, [4, 8])\n"
            "pair = compute([i0: 4], [A(i0, 0), int8(A(i0, 1))])\n"
            "arguments A pair.v1 pair.v0\n"
            "outputs pair.v1 pair.v0\n");
}

TEST(TeText, ConditionsAndStartsOfReductions) {
  const Tensor a = placeholder({9}, float_type(32), "A"), m = placeholder({9}, bool_type(), "mask");
  const IterVar k = reduce_axis({2, 5}, "k");
  const Tensor s =
      compute({}, [&](const std::vector<Var>&) { return max(a(k.var()), {k}, m(k.var())); }, "S");
  EXPECT_EQ(round_trip(make_program({s})),
            "te 1\n"
            "A = placeholder(float32, [9])\n"
            "mask = placeholder(bool, [9])\n"
            "S = compute([], reduce [k: (2, 5)], max(A(k), where=mask(k)))\n"
            "arguments A mask S\n"
            "outputs S\n");
}

TEST(TeText, TagsAndAttributesAreKept) {
  const Tensor a = placeholder({4}, float_type(32), "A");
  const Tensor b =
      compute({4}, [&](const std::vector<Var>& i) { return a(i[0]); }, "B", "a \"tag\"",
              {{"axis", int64_t{-1}},
               {"layout", "NCHW\n"},
               {"pads", std::vector<int64_t>{1, -2}},
               {"none", std::vector<int64_t>{}},
               {"rate", 0.1},
               {"scale", 2.0},
               {"two words", int64_t{2}},
               {"most", std::numeric_limits<double>::infinity()}});
  const std::string text = round_trip(make_program({b}));
  EXPECT_NE(text.find("B = compute([i0: 4], A(i0), tag=\"a \\\"tag\\\"\", attributes={axis: -1, "
                      "layout: \"NCHW\\n\", most: inf, none: [], pads: [1, -2], rate: 0.1, "
                      "scale: 2.0, \"two words\": 2})"),
            std::string::npos)
      << text;
  const Program again = parse_program(text);
  EXPECT_EQ(again.outputs[0].op()->attributes, b.op()->attributes);
  EXPECT_EQ(again.outputs[0].op()->tag, "a \"tag\"");
}

TEST(TeText, EveryOperatorAndIntrinsicRoundTrips) {
  const Tensor f = placeholder({4}, float_type(32), "F"), g = placeholder({4}, float_type(16), "G");
  const Tensor i = placeholder({4}, int_type(32), "I"), u = placeholder({4}, uint_type(64), "U");
  const auto body = [&](const std::vector<Var>& axis) -> std::vector<Expr> {
    const Var& x = axis[0];
    const Var t("t", float_type(32));
    return {f(x) + 1,
            f(x) - make_const_float(float_type(32), 0.5) * f(x),
            div(f(x), f(x) * f(x)),
            trunc_mod(i(x), 3 + i(x)),
            floor_mod(i(x), 3),
            floor_div(i(x), 3),
            min(i(x), 7),
            max(f(x), f(x) * 2),
            f(x) == 1,
            f(x) != 1,
            i(x) < 2,
            i(x) <= 2,
            i(x) > 2,
            i(x) >= 2,
            i(x) > 1 && i(x) < 3,
            i(x) > 1 || !(i(x) < 3 && f(x) > 0),
            select(i(x) > 0, f(x), -f(x)),
            if_then_else(x > 0, f(x - 1), make_const_float(float_type(32), 1e-30)),
            call("exp", {f(x)}),
            call("fma", {f(x), f(x), f(x)}),
            call("isnan", {f(x)}),
            call("shift_left", {i(x), Expr(2)}),
            likely(i(x) > 2),
            cast(bfloat_type(16), f(x)),
            g(x) * make_const_float(float_type(16), 0.1),
            u(x) + max_value(uint_type(64)),
            cast(float_type(64), f(x)) * make_const_float(float_type(64), 0.1),
            call(int_type(32), "reinterpret", {f(x)}, CallKind::PureIntrinsic),
            make(Let{.var = t, .value = f(x), .body = t * t}),
            make_const_float(float_type(32), -std::numeric_limits<double>::infinity()),
            f(floor_mod(i(x), 4)),
            make_bool(true)};
  };
  round_trip(make_program({compute_many({4}, body, "all")[0]}));
}

TEST(TeText, NamesThatClashOrCannotBeWrittenAreMadeUnique) {
  const Var n = var("n");
  const Tensor a = placeholder({n, 3}, float_type(32), "x"),
               b = placeholder({3}, float_type(32), "x");
  const Tensor c =
      compute({n, 3}, [&](const std::vector<Var>& i) { return a(i[0], i[1]) + b(i[1]); }, "exp", "",
              {}, {"n", "n"});
  const Tensor d = compute({n, 3}, [&](const std::vector<Var>& i) { return c(i[0], i[1]); },
                           "no name", "", {}, {"float32", ""});
  EXPECT_EQ(round_trip(make_program({d})),
            "te 1\n"
            "n = var(int32)\n"
            "x = placeholder(float32, [n, 3])\n"
            "x_1 = placeholder(float32, [3])\n"
            "exp_1 = compute([n_1: n, n_2: 3], (x(n_1, n_2) + x_1(n_2)))\n"
            "no_name = compute([float32_1: n, v: 3], exp_1(float32_1, v))\n"
            "arguments x x_1 no_name\n"
            "outputs no_name\n");
}

TEST(TeText, ReadsWhatPeopleWrite) {
  const Program p = parse_program(
      "# a comment\n\n"
      "te 1\n"
      "  A = placeholder( float32 , [2 ,3] )\n"
      "  s = compute( [ i : 2 ] , reduce [k: 3] , sum( 2.0f*A(i,k) + 1.0f ) )\n"
      "outputs s\n"
      "arguments s A");
  ASSERT_EQ(p.arguments.size(), 2u);
  EXPECT_EQ(p.arguments[0].name(), "s");
  InterpreterBuffer a = test::to_buffer({1, 2, 3, 4, 5, 6}, float_type(32));
  InterpreterBuffer s(float_type(32), 2);
  evaluate(p, {&s, &a});
  EXPECT_EQ(test::from_buffer(s), (std::vector<double>{15, 33}));
}

TEST(TeText, ArgumentsThatNothingReadsAreKept) {
  const Tensor a = placeholder({4}, float_type(32), "A"), b = placeholder({5}, float_type(32), "B");
  const Tensor c = compute({4}, [&](const std::vector<Var>& i) { return a(i[0]); }, "C");
  const std::string text = round_trip({.arguments = {b, c, a}, .outputs = {c}});
  EXPECT_NE(text.find("arguments B C A\n"), std::string::npos) << text;
}

TEST(TeText, OperatorsOfTopiRoundTrip) {
  const auto tensor = [](const std::vector<Expr>& shape, const char* name) {
    return placeholder(shape, float_type(32), name);
  };
  const Tensor x = tensor({2, 4, 9, 7}, "x"), v = tensor({4}, "v");
  const Tensor conv = topi::nn::conv2d_nchw(x, tensor({6, 2, 3, 3}, "w"), {2, 1}, {1}, {1}, 2);
  for (const Tensor& t :
       {topi::nn::relu(conv), topi::nn::softmax(x, 1), topi::nn::layer_norm(x, {}, {}, {2, 3}),
        topi::nn::batch_norm(x, v, v, v, v), topi::reshape(x, {3, -1}),
        topi::nn::pool2d(x, {3}, {2}, {1}, {1}, topi::nn::PoolType::Average, topi::nn::Rounding::Up,
                         false),
        topi::concatenate({x, x}, 1), topi::argmin(x), topi::all(topi::greater(x, v(0)))}) {
    round_trip(make_program({t}));
  }
}

TEST(WorkloadHash, DisregardsNamesTagsAndAttributes) {
  const uint64_t h = workload_hash(matmul(8, 9, 10));
  EXPECT_EQ(workload_hash(matmul(8, 9, 10)), h);
  EXPECT_EQ(workload_hash(matmul(8, 9, 10, {"x", "x", "y", "reduction"})), h);
  const Tensor a = placeholder({4});
  const auto body = [&](const std::vector<Var>& i) { return a(i[0]); };
  EXPECT_EQ(workload_hash(make_program({compute({4}, body)})),
            workload_hash(make_program({compute({4}, body, "B", "tag", {{"k", "v"}}, {"x"})})));
}

TEST(WorkloadHash, TellsShapesTypesBodiesAndArgumentOrderApart) {
  const Program p = matmul(8, 9, 10);
  std::vector<Program> others = {matmul(9, 8, 10), matmul(8, 9, 11),
                                 matmul(8, 9, 10, {"A", "B", "C", "k"}, float_type(64)), p};
  std::swap(others.back().arguments[0], others.back().arguments[1]);
  const Tensor a = placeholder({4}), b = placeholder({4});
  const auto program = [](const Tensor& x, auto f) {
    return make_program(
        {compute({4}, [&](const std::vector<Var>& i) { return f(x(i[0]), i[0]); })});
  };
  others.push_back(program(a, [](const Expr& e, const Var&) { return e + 1; }));
  others.push_back(program(a, [](const Expr& e, const Var&) { return e + 2; }));
  others.push_back(program(a, [](const Expr& e, const Var&) { return e - 1; }));
  others.push_back(program(a, [&](const Expr& e, const Var& i) { return e + a(i); }));
  others.push_back(program(a, [&](const Expr& e, const Var& i) { return e + b(i); }));
  std::vector<uint64_t> hashes = {workload_hash(p)};
  for (const Program& other : others) {
    const uint64_t h = workload_hash(other);
    EXPECT_EQ(std::count(hashes.begin(), hashes.end(), h), 0) << to_text(other);
    hashes.push_back(h);
  }
}

// The value itself is part of the format: logs of other machines hold it.
TEST(WorkloadHash, IsTheSameOnEveryMachine) {
  EXPECT_EQ(workload_id(matmul(128, 3072, 768)), "d94e8ed7ca34a82e");
  EXPECT_EQ(workload_id(matmul(1, 1, 1)).size(), 16u);
}

TEST(CountOperations, CountsWorkOnDataAndNotOnIndices) {
  EXPECT_EQ(count_operations(matmul(128, 3072, 768)), 2.0 * 128 * 3072 * 768);
  EXPECT_EQ(count_operations(matmul(4, 5, 6, {"A", "B", "C", "k"}, int_type(8))), 2.0 * 4 * 5 * 6);
  const Tensor x = placeholder({1, 8, 14, 14}), w = placeholder({16, 8, 3, 3});
  const Tensor conv = topi::nn::conv2d_nchw(x, w, {1}, {1});
  EXPECT_EQ(count_operations(make_program({conv})), 2.0 * 16 * 14 * 14 * 8 * 9);  // padding is free
  EXPECT_EQ(count_operations(make_program({topi::nn::relu(conv)})),
            2.0 * 16 * 14 * 14 * 8 * 9 + 16 * 14 * 14);
  EXPECT_EQ(count_operations(make_program({topi::nn::softmax(placeholder({2, 10}))})),
            20 + 40 + 20 + 40);  // max, subtract and exp, sum, divide
  EXPECT_EQ(count_operations(make_program({topi::transpose(x)})), 0);
}

TEST(TeText, AConstantIsPartOfTheProgram) {
  const auto program = [](bool constant) {
    const Tensor a = placeholder({4}, float_type(32), "A"),
                 w = placeholder({4}, float_type(32), "W", constant);
    return make_program({compute({4}, [&](const auto& i) { return a(i[0]) * w(i[0]); }, "B")});
  };
  EXPECT_NE(round_trip(program(true)).find("W = placeholder(float32, [4], constant)\n"),
            std::string::npos);
  EXPECT_NE(workload_hash(program(true)), workload_hash(program(false)));
  EXPECT_TRUE(is_constant(constants_of(parse_program(to_text(program(true)))).at(0)));
  EXPECT_TRUE(constants_of(program(false)).empty());
}

}  // namespace
}  // namespace tw::te
