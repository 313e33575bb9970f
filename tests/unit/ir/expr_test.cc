// SPDX-License-Identifier: Apache-2.0
#include "ir/expr.h"

#include <gtest/gtest.h>

#include "ir/interpret.h"
#include "ir/print.h"
#include "tests/support/expect_error.h"
#include "tests/support/random_ir.h"

namespace tw {
namespace {

using test::expect_error;

TEST(Expr, FoldsConstantsAndIdentities) {
  const Var i("i");
  EXPECT_EQ(to_string(Expr(2) + 3), "5");
  EXPECT_TRUE((i + 0).same_as(i));
  EXPECT_TRUE((i * 1).same_as(i));
  EXPECT_EQ(to_string(i * 0), "0");
  EXPECT_EQ(to_string(floor_div(-7, 2)), "-4");
  EXPECT_EQ(to_string(floor_mod(-7, 2)), "1");
  EXPECT_EQ(to_string(trunc_div(-7, 2)), "-3");
  EXPECT_EQ(to_string(trunc_mod(-7, 2)), "-1");
  EXPECT_EQ(to_string(make_bool(true) && i < 3), "(i < 3)");
  EXPECT_EQ(to_string(!!(i < 3)), "(i < 3)");
  EXPECT_EQ(to_string(select(make_bool(false), i, 3)), "3");
}

TEST(Expr, KeepsWhatMayDiffer) {
  const Var x("x", float_type(32));
  EXPECT_EQ(to_string(x + 0), "(x + 0.000000f)");  // of -0.0
  EXPECT_EQ(to_string(x * 0), "(x*0.000000f)");    // of NaN
  // Signed overflow is undefined, so it is not folded away.
  EXPECT_EQ(to_string(max_value(int_type(32)) + 1), "(2147483647 + 1)");
  EXPECT_EQ(to_string(max_value(uint_type(8)) + 1), "(uint8)0");
}

TEST(Expr, BringsOperandsToOneType) {
  const Var i("i"), n("n", int_type(64)), x("x", float_type(32)), u("u", uint_type(8));
  EXPECT_EQ(to_string(i + n), "(int64(i) + n)");
  EXPECT_EQ(to_string(n * 2), "(n*(int64)2)");
  EXPECT_EQ(to_string(x + i), "(x + float32(i))");
  EXPECT_EQ(to_string(broadcast(i, 4) + 1), "(x4(i) + x4(1))");
  expect_error(ErrorCode::TypeMismatch, [&] { return i + u; });
  expect_error(ErrorCode::TypeMismatch, [&] { return broadcast(i, 4) + broadcast(i, 8); });
}

// 2⁶⁰ + 2³⁶ + 1 lies just above the middle between two float32 values; by way of a double it would
// be the middle, and go to the lower one.
TEST(Expr, ConstantsAreConvertedWithOneRounding) {
  const int64_t above = (int64_t{1} << 60) + (int64_t{1} << 36) + 1;
  const double upper = 0x1p60 + 0x1p37;
  for (const DType from : {int_type(64), uint_type(64)}) {
    EXPECT_EQ(as_const_float(cast(float_type(32), make_const(from, above))), upper);
    EXPECT_EQ(evaluate(make(Cast{.type = float_type(32), .value = make_const(from, above)})).f,
              upper);
  }
}

TEST(Expr, RefusesDivisionByZero) {
  const Var i("i");
  expect_error(ErrorCode::DivisionByZero, [&] { return floor_div(i, 0); });
  expect_error(ErrorCode::DivisionByZero, [&] { return trunc_mod(i, 0); });
  expect_error(ErrorCode::UnknownIntrinsic, [&] { return call("no_such_function", {i}); });
}

// Folding computes what the interpreter computes.
TEST(Expr, FoldingAgreesWithTheInterpreter) {
  const std::vector<Var> variables = {Var("a"), Var("b"), Var("c", uint_type(8))};
  for (uint64_t seed = 0; seed < 400; ++seed) {
    test::RandomIr raw(seed, variables);
    test::RandomIr folded(seed, variables, {.raw = false});
    const Expr e = raw.integer(5), f = folded.integer(5);
    const InterpreterScope scope = test::random_scope(raw.random(), variables);
    EXPECT_EQ(evaluate(e, scope).i, evaluate(f, scope).i) << to_string(e) << "\n" << to_string(f);
  }
}

}  // namespace
}  // namespace tw
