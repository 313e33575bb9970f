// SPDX-License-Identifier: Apache-2.0
// The meaning of operations on scalars, seen through the interpreter.
#include "ir/scalar.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/expr.h"
#include "ir/interpret.h"
#include "ir/parse.h"
#include "tests/support/expect_error.h"

namespace tw {
namespace {

using test::expect_error;

int64_t integer(const char* text) { return evaluate(parse_expr(text)).i; }
double floating(const char* text) { return evaluate(parse_expr(text)).f; }

TEST(Scalar, Division) {
  EXPECT_EQ(integer("(-7/2)"), -3);
  EXPECT_EQ(integer("(-7 % 2)"), -1);
  EXPECT_EQ(integer("floordiv(-7, 2)"), -4);
  EXPECT_EQ(integer("floormod(-7, 2)"), 1);
  EXPECT_EQ(integer("floordiv(7, -2)"), -4);
  EXPECT_EQ(integer("floormod(7, -2)"), -1);
  EXPECT_EQ(integer("floordiv(-8, 2)"), -4);
  EXPECT_EQ(integer("((uint64)18446744073709551615/(uint64)2)"), INT64_MAX);
  EXPECT_EQ(integer("floormod((uint8)250, (uint8)7)"), 5);
  for (const char* text : {"(1/0)", "(1 % 0)", "floordiv(-1, 0)", "floormod(-1, 0)",
                           "((uint8)1/(uint8)0)", "floormod((uint64)1, (uint64)0)"}) {
    EXPECT_EQ(integer(text), 0) << text;
  }
  EXPECT_EQ(integer("floordiv((int8)-128, (int8)-1)"), -128);
  EXPECT_EQ(integer("floormod((int8)-128, (int8)-1)"), 0);
  EXPECT_EQ(floating("(1.0f/0.0f)"), INFINITY);
}

TEST(Scalar, IntegersWrap) {
  EXPECT_EQ(integer("(2147483647 + 1)"), INT32_MIN);
  EXPECT_EQ(integer("(-2147483648/-1)"), INT32_MIN);
  EXPECT_EQ(integer("((int64)-9223372036854775808/(int64)-1)"), INT64_MIN);
  EXPECT_EQ(integer("floormod((int64)-9223372036854775808, (int64)-1)"), 0);
  EXPECT_EQ(integer("((int8)100 + (int8)100)"), -56);
  EXPECT_EQ(integer("((uint8)3 - (uint8)5)"), 254);
  EXPECT_EQ(integer("((uint32)65536*(uint32)65536)"), 0);
  EXPECT_EQ(integer("(65536*65536)"), 0);
  EXPECT_TRUE(integer("((uint64)18446744073709551615 > (uint64)1)"));
  EXPECT_EQ(integer("max((uint64)18446744073709551615, (uint64)1)"), -1);
}

TEST(Scalar, Bools) {
  EXPECT_EQ(integer("bitwise_not((bool)1)"), 0);
  EXPECT_EQ(integer("bitwise_not((bool)0)"), 1);
  EXPECT_EQ(integer("((bool)1 + (bool)1)"), 1);
  EXPECT_EQ(integer("((bool)1 - (bool)1)"), 0);
  EXPECT_EQ(integer("((bool)0 - (bool)1)"), 1);
}

TEST(Scalar, FloatsRoundAfterEachOperation) {
  EXPECT_EQ(floating("(16777216.0f + 1.0f)"), 16777216.0);
  EXPECT_EQ(floating("(16777216.0 + 1.0)"), 16777217.0);
  EXPECT_EQ(floating("(2048.0h + 1.0h)"), 2048.0);
  EXPECT_EQ(floating("(4097.0f * 4097.0f)"), 16785408.0);
  EXPECT_EQ(floating("(4097.0 * 4097.0)"), 16785409.0);
  EXPECT_EQ(floating("(65504.0h + 65504.0h)"), INFINITY);
  EXPECT_EQ(floating("(256.0bf + 1.0bf)"), 256.0);
  // One rounding, where a product rounded first would give zero.
  EXPECT_EQ(floating("fma(1.00048828125f, 0.99951171875f, -1.0f)"),
            static_cast<double>(std::fma(1.00048828125f, 0.99951171875f, -1.0f)));
  EXPECT_EQ(floating("exp(1.0f)"), static_cast<double>(static_cast<float>(std::exp(1.0))));
}

TEST(Scalar, MinAndMaxOfNan) {
  EXPECT_EQ(floating("min((float32)nan, 1.0f)"), 1.0);
  EXPECT_TRUE(std::isnan(floating("min(1.0f, (float32)nan)")));
  EXPECT_EQ(floating("max((float32)nan, 1.0f)"), 1.0);
}

TEST(Scalar, Casts) {
  EXPECT_EQ(integer("int32(-2.9f)"), -2);
  EXPECT_EQ(integer("uint8(300)"), 44);
  EXPECT_EQ(integer("int8(uint8(200))"), -56);
  EXPECT_EQ(integer("int64(-1)"), -1);
  EXPECT_EQ(integer("uint32(-1)"), 4294967295);
  EXPECT_EQ(integer("bool(2)"), 1);
  EXPECT_EQ(integer("bool(0.5f)"), 1);
  EXPECT_EQ(integer("int32((bool)1)"), 1);
  EXPECT_EQ(floating("float64((uint64)18446744073709551615)"), 18446744073709551616.0);
  EXPECT_EQ(floating("float32((int64)16777217)"), 16777216.0);
  EXPECT_EQ(integer("int64((float64)inf)"), 9223372036854774784);
  EXPECT_EQ(integer("int32((float32)nan)"), 0);
  EXPECT_EQ(integer("uint64(1e19)"), static_cast<int64_t>(10000000000000000000u));
}

TEST(Scalar, SaturatingCasts) {
  EXPECT_EQ(integer("saturating_cast<int8>(300)"), 127);
  EXPECT_EQ(integer("saturating_cast<int8>(-300)"), -128);
  EXPECT_EQ(integer("saturating_cast<uint8>(-1)"), 0);
  EXPECT_EQ(integer("saturating_cast<uint8>(256)"), 255);
  EXPECT_EQ(integer("saturating_cast<int8>((uint8)200)"), 127);
  EXPECT_EQ(integer("saturating_cast<uint64>(-1)"), 0);
  EXPECT_EQ(integer("saturating_cast<int64>((uint64)18446744073709551615)"), INT64_MAX);
  EXPECT_EQ(integer("saturating_cast<uint32>((uint64)18446744073709551615)"), UINT32_MAX);
  EXPECT_EQ(integer("saturating_cast<int32>((float32)nan)"), 0);
  EXPECT_EQ(integer("saturating_cast<int32>((float32)inf)"), INT32_MAX);
  EXPECT_EQ(integer("saturating_cast<int32>(2147483648.0f)"), INT32_MAX);
  EXPECT_EQ(integer("saturating_cast<int32>(-2147483904.0f)"), INT32_MIN);
  EXPECT_EQ(integer("saturating_cast<int64>(9223372036854775808.0)"), INT64_MAX);
  EXPECT_EQ(integer("saturating_cast<int64>(-1e30)"), INT64_MIN);
  EXPECT_EQ(integer("saturating_cast<uint64>(1e30)"), -1);
  EXPECT_EQ(integer("saturating_cast<uint64>(1e19)"), static_cast<int64_t>(10000000000000000000u));
  EXPECT_EQ(integer("saturating_cast<uint8>(-0.5f)"), 0);
  EXPECT_EQ(integer("saturating_cast<int8>(-128.9f)"), -128);
  EXPECT_EQ(floating("saturating_cast<float32>(3)"), 3.0);
}

TEST(Scalar, Intrinsics) {
  EXPECT_EQ(integer("bitwise_and(12, 10)"), 8);
  EXPECT_EQ(integer("bitwise_or(12, 10)"), 14);
  EXPECT_EQ(integer("bitwise_xor(12, 10)"), 6);
  EXPECT_EQ(integer("bitwise_not((uint8)1)"), 254);
  EXPECT_EQ(integer("shift_left((int8)1, (int8)7)"), -128);
  EXPECT_EQ(integer("shift_right(-8, 1)"), -4);
  EXPECT_EQ(integer("shift_right((uint32)4294967288, (uint32)1)"), 2147483644);
  EXPECT_EQ(integer("popcount((int8)-1)"), 8);
  EXPECT_EQ(integer("popcount((int64)-1)"), 64);
  EXPECT_EQ(integer("reinterpret<int32>(1.0f)"), 0x3f800000);
  EXPECT_EQ(floating("reinterpret<float32>(1065353216)"), 1.0);
  EXPECT_EQ(integer("reinterpret<uint16>(1.0bf)"), 0x3f80);
  EXPECT_EQ(integer("fabs(-5)"), 5);
  EXPECT_EQ(integer("pow(3, 5)"), 243);
  EXPECT_EQ(integer("pow(3, -1)"), 0);
  EXPECT_EQ(integer("pow(0, -1)"), 0);
  EXPECT_EQ(integer("pow(-1, -3)"), -1);
  EXPECT_EQ(integer("pow((uint8)3, (uint8)200)"), 161);  // modulo 256
  EXPECT_EQ(integer("fma(3, 4, 5)"), 17);
  EXPECT_EQ(integer("isnan((float32)nan)"), 1);
  EXPECT_EQ(integer("isinf(1.0f)"), 0);
  EXPECT_EQ(integer("likely((bool)1)"), 1);
  EXPECT_EQ(floating("round(-2.5f)"), -3.0);
  EXPECT_EQ(floating("nearbyint(-2.5f)"), -2.0);
  EXPECT_EQ(floating("floor(-2.5f)"), -3.0);
  EXPECT_EQ(floating("ceil(-2.5f)"), -2.0);
  EXPECT_EQ(floating("trunc(-2.5f)"), -2.0);
  EXPECT_EQ(floating("sigmoid(0.0f)"), 0.5);
  EXPECT_EQ(floating("rsqrt(4.0f)"), 0.5);
  EXPECT_EQ(floating("atan2(1.0, -1.0)"), std::atan2(1.0, -1.0));
  EXPECT_EQ(floating("fmod(-1e30, 7.0)"), std::fmod(-1e30, 7.0));
  expect_error(ErrorCode::BadArgument, [] { integer("shift_left(1, 32)"); });
  expect_error(ErrorCode::TypeMismatch, [] { integer("exp(1)"); });
  expect_error(ErrorCode::TypeMismatch, [] { floating("bitwise_not(1.0f)"); });
}

TEST(Scalar, ApplyIntrinsic) {
  const Value two = {.type = float_type(32), .f = 2};
  const auto call = [](const char* name, DType type) {
    Call c;
    c.name = name;
    c.type = type;
    return c;
  };
  EXPECT_EQ(apply_intrinsic(call("exp2", float_type(32)), {two}).f, 4.0);
  EXPECT_EQ(apply_intrinsic(call("isnan", bool_type()), {two}).type, bool_type());
  EXPECT_EQ(apply_intrinsic(call("if_then_else", float_type(32)),
                            {{.type = bool_type(), .i = 0}, two, {.type = float_type(32), .f = 3}})
                .f,
            3.0);
  expect_error(ErrorCode::UnknownIntrinsic,
               [&] { apply_intrinsic(call("no_such", float_type(32)), {two}); });
  expect_error(ErrorCode::UnknownIntrinsic,
               [&] { apply_intrinsic(call("tensor_data", handle_type()), {two}); });
  expect_error(ErrorCode::BadArgument,
               [&] { apply_intrinsic(call("pow", float_type(32)), {two}); });
}

}  // namespace
}  // namespace tw
