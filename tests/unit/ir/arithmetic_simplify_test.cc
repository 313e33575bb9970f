// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/arithmetic/analyzer.h"
#include "ir/expr.h"
#include "ir/print.h"

namespace tw {
namespace {

class Simplify : public ::testing::Test {
 protected:
  Var x{"x"}, y{"y"}, z{"z"}, f{"f"}, n{"n"}, m{"m"};
  Var i{"i"}, j{"j"}, k{"k"};  // in [0, 11), [0, 3), [0, 16)
  Analyzer analyzer;

  Simplify() {
    analyzer.bind(i, Range{0, 11});
    analyzer.bind(j, Range{0, 3});
    analyzer.bind(k, Range{0, 16});
  }
  std::string text(const Expr& e) { return to_string(analyzer.simplify(e)); }
  static Expr ge(const Expr& a, const Expr& b) { return make(GreaterEqual{.a = a, .b = b}); }
};

TEST_F(Simplify, ConstantsStandOnTheRightAndOutside) {
  EXPECT_EQ(text(2 + x), "(x + 2)");
  EXPECT_EQ(text(x - 2), "(x + -2)");
  EXPECT_EQ(text((x + 2) + (y - 5)), "((x + y) + -3)");
  EXPECT_EQ(text(3 * (x + 2)), "((x*3) + 6)");
  EXPECT_EQ(text(((x * 7 + (y - 2)) * 9 + (z - 2))), "(((((x*7) + y)*9) + z) + -20)");
  EXPECT_EQ(text(8 - x), "(8 - x)");
  EXPECT_EQ(text((8 - x) + 1), "(9 - x)");
  EXPECT_EQ(text(0 - x), "(x*-1)");
}

TEST_F(Simplify, SaturatingCastsOfWhatFitsAreCasts) {
  EXPECT_EQ(text(saturating_cast(int_type(8), x)), "saturating_cast<int8>(x)");
  EXPECT_EQ(text(saturating_cast(int_type(8), i + 0 * x)), "int8(i)");
  EXPECT_EQ(text(saturating_cast(uint_type(8), i - 1)), "saturating_cast<uint8>((i + -1))");
  EXPECT_EQ(text(saturating_cast(int_type(8), x - x + 300)), "(int8)127");
  EXPECT_EQ(text(saturating_cast(float_type(32), x)), "float32(x)");
  EXPECT_EQ(text(saturating_cast(int_type(64), x)), "int64(x)");
}

TEST_F(Simplify, TheNestedFormStays) {
  EXPECT_EQ(text((x * 7 + y) * 9 + z), "((((x*7) + y)*9) + z)");
  EXPECT_EQ(text((((x * 64 + y) * 56 + z) * 56 + i) * 4 + j),
            "((((((((x*64) + y)*56) + z)*56) + i)*4) + j)");
}

TEST_F(Simplify, SumsKeepTheOrderOfTheirTerms) {
  EXPECT_EQ(text(z + (x + (y + 1))), "(((z + x) + y) + 1)");
  EXPECT_EQ(text(x - (y - z)), "((x - y) + z)");
  EXPECT_EQ(text(y * -3 + x), "(x - (y*3))");
}

TEST_F(Simplify, EqualTermsJoin) {
  EXPECT_EQ(text(x + y + x), "((x*2) + y)");
  EXPECT_EQ(text(x * 4 + y * 3 - x * 4), "(y*3)");
  EXPECT_EQ(text((x * 7 + y) * 9 + z - (x * 7 + y) * 9), "z");
  EXPECT_EQ(text((x * 7 + y) * 9 + z - x * 63), "((y*9) + z)");
  EXPECT_EQ(text(x * n + y - x * n), "y");
}

TEST_F(Simplify, QuotientsJoinTheirRemainders) {
  EXPECT_EQ(text(floor_div(f, 3) * 3 + floor_mod(f, 3)), "f");
  EXPECT_EQ(text((floor_div(f, 3) * 3 + floor_mod(f, 3)) * 11 + i), "((f*11) + i)");
  EXPECT_EQ(text(floor_div(f, 3) * 99 + floor_mod(f, 3) * 33 + i), "((f*33) + i)");
  EXPECT_EQ(text(i + floor_div(f, 3) * 99 + k + floor_mod(f, 3) * 33), "((i + (f*33)) + k)");
  EXPECT_EQ(text((x * 64 + floor_div(f, 14)) * 14 + floor_mod(f, 14)), "((x*896) + f)");
  EXPECT_EQ(text(((x * 5 + y) * 64 + floor_div(f, 14)) * 14 + floor_mod(f, 14)),
            "((((x*5) + y)*896) + f)");
  EXPECT_EQ(text(floor_div(x - 1, 16) * 16 + floor_mod(x - 1, 16)), "(x + -1)");
  EXPECT_EQ(text(floor_div(x * 17, 16) * 16 + floor_mod(x * 17, 16)), "(x*17)");
  EXPECT_EQ(text(floor_div(x * 16 + k, 24) * 24 + floor_mod(x * 16 + k, 24)), "((x*16) + k)");
  EXPECT_EQ(text(floor_div(f, n) * n + floor_mod(f, n)), "((floordiv(f, n)*n) + floormod(f, n))");
  analyzer.bind(f, Range{0, m * n});
  EXPECT_EQ(text(floor_div(f, n) * n + floor_mod(f, n)), "f");
  const Var l("l"), o("o"), u("u");
  EXPECT_EQ(text(floor_div(u * l, l)), "floordiv((u*l), l)");
  analyzer.bind(o, Range{0, floor_div(l * m + 7, 8)});
  EXPECT_EQ(text(floor_div(u * l, l)), "u");
  EXPECT_EQ(text((floor_div(f, n) * n + floor_mod(f, n)) * m + i), "((f*m) + i)");
}

// Five axes fused into one, taken apart, and flattened again.
TEST_F(Simplify, AFuseOfFiveAxesFlattensToItself) {
  const int extents[] = {2, 7, 3, 5, 4};
  analyzer.bind(f, Range{0, 2 * 7 * 3 * 5 * 4});
  Expr rest = f;
  Expr index[5];
  for (int d = 4; d > 0; --d) {
    index[d] = floor_mod(rest, extents[d]);
    rest = floor_div(rest, extents[d]);
  }
  index[0] = rest;
  Expr flat = index[0];
  for (int d = 1; d < 5; ++d) flat = flat * extents[d] + index[d];
  EXPECT_EQ(text(flat), "f");
  // Fused from the right: the first axis is divided off first.
  Expr remaining = f;
  int inner = 7 * 3 * 5 * 4;
  flat = 0;
  for (int d = 0; d < 5; ++d) {
    const Expr axis = floor_div(remaining, inner);
    remaining = floor_mod(remaining, inner);
    flat = flat * extents[d] + axis;
    if (d < 4) inner /= extents[d + 1];
  }
  EXPECT_EQ(text(flat), "f");
  EXPECT_EQ(text(index[1]), "floormod(floordiv(f, 60), 7)");
  EXPECT_EQ(text(index[0]), "floordiv(f, 420)");
}

TEST_F(Simplify, DivisionByKnownRanges) {
  EXPECT_EQ(text(floor_div(x * 16 + k, 16)), "x");
  EXPECT_EQ(text(floor_mod(x * 16 + k, 16)), "k");
  EXPECT_EQ(text(floor_mod(x * 16 + j, 4)), "j");
  EXPECT_EQ(text(floor_div(k, 16)), "0");
  EXPECT_EQ(text(floor_div(k - 16, 16)), "-1");
  EXPECT_EQ(text(floor_div(floor_div(x, 3), 5)), "floordiv(x, 15)");
  EXPECT_EQ(text(floor_div(x * 64 + k * 4 + 3, 16)), "((x*4) + floordiv(k, 4))");
  EXPECT_EQ(text(floor_mod(x * 64 + k * 4 + 3, 32)), "((floormod(k, 8)*4) + 3)");
  EXPECT_EQ(text(floor_div((x * 11 + i) * 9 + floor_mod(y, 9), 99)), "x");
  EXPECT_EQ(text(floor_mod((x * 11 + i) * 9 + floor_mod(y, 9), 99)), "((i*9) + floormod(y, 9))");
  EXPECT_EQ(text(floor_div(x + 35, 16)), "(floordiv((x + 3), 16) + 2)");
  EXPECT_EQ(text(floor_mod(floor_mod(x, 12), 4)), "floormod(x, 4)");
  EXPECT_EQ(text(floor_div(floor_mod(x, 12), 4)), "floormod(floordiv(x, 4), 3)");
  EXPECT_EQ(text(floor_mod(floor_div(i, 4), 3)), "floordiv(i, 4)");
}

TEST_F(Simplify, DivisionBySymbolicExtents) {
  EXPECT_EQ(text(floor_div(x * n, n)), "floordiv((x*n), n)");  // n may be zero
  analyzer.bind(z, Range{0, n});
  EXPECT_EQ(text(floor_div(x * n + y, n)), "(x + floordiv(y, n))");
  EXPECT_EQ(text(floor_div(x * n + z, n)), "x");
  EXPECT_EQ(text(floor_mod(x * n + z, n)), "z");
  EXPECT_EQ(text(z < n), "(bool)1");
  EXPECT_EQ(text(min(z, n)), "z");
}

TEST_F(Simplify, TruncationIsFloorWhereSignsAreKnown) {
  EXPECT_EQ(text(trunc_div(x * 0 + k, 4)), "floordiv(k, 4)");
  EXPECT_EQ(text(trunc_mod(k, 4)), "floormod(k, 4)");
  EXPECT_EQ(text(trunc_div(x, 4)), to_string(trunc_div(x, 4)));
  EXPECT_EQ(text(trunc_mod(k, 16)), "k");
}

TEST_F(Simplify, Comparisons) {
  EXPECT_EQ(text(x >= 2), "(2 <= x)");
  EXPECT_EQ(text(x - 2 < 7), "(x < 9)");
  EXPECT_EQ(text(x - 2 >= 0), "(2 <= x)");
  EXPECT_EQ(text(x > y), "(y < x)");
  EXPECT_EQ(text(k < 16), "(bool)1");
  EXPECT_EQ(text(k >= 16), "(bool)0");
  EXPECT_EQ(text(x * 16 + k < 64), "(x < 4)");
  EXPECT_EQ(text(x * 16 + k < 99), "(((x*16) + k) < 99)");
  EXPECT_EQ(text(floor_div(x, 3) < 5), "(x < 15)");
  EXPECT_EQ(text(x * 4 == 7), "(bool)0");
  EXPECT_EQ(text(x * 4 == 8), "(x == 2)");
  EXPECT_EQ(text(x + y < x + z), "(y < z)");
  EXPECT_EQ(text(x + k < x + 16), "(bool)1");
  EXPECT_EQ(text(!(x < 3)), "(3 <= x)");
}

TEST_F(Simplify, ConjunctionsAssociateToTheLeft) {
  const Expr a = x >= 2, b = x - 2 < 7, c = y >= 2, d = y - 2 < 9;
  const std::string expected = "((((2 <= x) && (x < 9)) && (2 <= y)) && (y < 11))";
  EXPECT_EQ(text(((a && b) && c) && d), expected);
  EXPECT_EQ(text((a && b) && (c && d)), expected);
  EXPECT_EQ(text(a && (b && (c && d))), expected);
  EXPECT_EQ(text((a && b) && a), "((2 <= x) && (x < 9))");
  EXPECT_EQ(text(((a && c) && x >= 5) && k >= 0), "((5 <= x) && (2 <= y))");
  EXPECT_EQ(text(x < 3 && x >= 3), "(bool)0");
  EXPECT_EQ(text(likely(k < 16)), "(bool)1");
  EXPECT_EQ(text(likely(x < 16) && likely(k < 16)), "likely((x < 16))");
}

TEST_F(Simplify, MinimaMaximaAndChoices) {
  EXPECT_EQ(text(min(k, 99)), "k");
  EXPECT_EQ(text(max(k, 99)), "99");
  EXPECT_EQ(text(min(3, x)), "min(x, 3)");
  EXPECT_EQ(text(min(min(x, 5), 3)), "min(x, 3)");
  EXPECT_EQ(text(min(x * 16 + 15, 98) - x * 16 + 1), "(min((98 - (x*16)), 15) + 1)");
  EXPECT_EQ(text(min(x + 3, x + 5)), "(x + 3)");
  EXPECT_EQ(text(select(k < 16, x, y)), "x");
  EXPECT_EQ(text(if_then_else(k >= 16, x, y)), "y");
  EXPECT_EQ(text(if_then_else(x < 4, if_then_else(x < 5, y, z), z)),
            to_string(if_then_else(x < 4, y, z)));
}

TEST_F(Simplify, FactsHoldUntilTheirScopeEnds) {
  {
    const auto scope = analyzer.assume(x < 4 && x >= 0);
    EXPECT_EQ(text(floor_div(x, 4)), "0");
    EXPECT_EQ(text(x < 9), "(bool)1");
    EXPECT_EQ(text(likely(x < 4)), "(bool)1");
    const auto inner = analyzer.assume(likely(y * 16 + k < n));
    EXPECT_EQ(text(y * 16 + k < n && x < 4), "(bool)1");
    EXPECT_EQ(text(y * 16 + k <= n + 2), "(bool)1");
    EXPECT_EQ(text(n <= y * 16 + k), "(bool)0");
  }
  EXPECT_EQ(text(floor_div(x, 4)), "floordiv(x, 4)");
  EXPECT_EQ(text(x < 9), "(x < 9)");
}

TEST_F(Simplify, BindingAVariableToAValueReplacesIt) {
  analyzer.bind(x, Expr(y + 1));
  EXPECT_EQ(text(x * 2), "((y*2) + 2)");
  analyzer.bind(z, Range{5, 1});
  EXPECT_EQ(text(z * 2), "10");
}

TEST_F(Simplify, FloatsChangeInNoBit) {
  const Var a("a", float_type(32)), b("b", float_type(32));
  EXPECT_EQ(text((a + b) - b), "((a + b) - b)");
  EXPECT_EQ(text(a * make_const_float(float_type(32), 1)), "a");
  EXPECT_EQ(text(make(Add{.a = a, .b = make_const_float(float_type(32), 0)})), "(a + 0.000000f)");
  EXPECT_EQ(text(a - a), "(a - a)");
  EXPECT_EQ(text(a < a), "(a < a)");
  EXPECT_EQ(text(!(a < b)), to_string(!(a < b)));
  EXPECT_EQ(text(select(k < 16, a, b)), "a");
  EXPECT_EQ(text(a * make_zero(float_type(32))), "(a*0.000000f)");
}

TEST_F(Simplify, UnsignedNumbersWrap) {
  const Var a("a", uint_type(8)), b("b", uint_type(8));
  const auto number = [](int v) { return make_const(uint_type(8), v); };
  EXPECT_EQ(text(a + number(200) < b + number(200)), to_string(a + number(200) < b + number(200)));
  EXPECT_EQ(text(a >= number(0)), "(bool)1");
  EXPECT_EQ(text((a - b) + b), "((a - b) + b)");
}

TEST_F(Simplify, LargeConstantsDoNotOverflow) {
  const int big = 2000000000;
  EXPECT_EQ(text((x + big) + big), to_string((x + big) + big));
  EXPECT_EQ(text((x * 65536) * 65536), to_string((x * 65536) * 65536));
  const Var w("w", int_type(64));
  EXPECT_EQ(text((w * 65536) * 65536),
            "(w*" + to_string(make_const(int_type(64), int64_t{1} << 32)) + ")");
}

TEST_F(Simplify, DivisionByZeroGivesZero) {
  const Expr zero = make(Sub{.a = y, .b = y});
  EXPECT_EQ(text(make(FloorDiv{.a = x, .b = zero})), "0");
  EXPECT_EQ(text(make(FloorMod{.a = x, .b = zero})), "0");
  EXPECT_EQ(text(make(Div{.a = x, .b = zero})), "0");
  EXPECT_EQ(text(make(Mod{.a = x, .b = zero})), "0");
}

// A divisor cancels where it is not zero; the least number has no negative.
TEST_F(Simplify, DivisionByWhatMayBeZero) {
  EXPECT_EQ(text(floor_div(x, x)), "floordiv(x, x)");
  EXPECT_EQ(text(floor_div(x * k, k)), "floordiv((x*k), k)");
  EXPECT_EQ(text(floor_div(x * (k + 1), k + 1)), "x");
  EXPECT_EQ(text(x - floor_div(x, k) * k), "(x - (floordiv(x, k)*k))");
  EXPECT_EQ(text(floor_mod(x * k, k)), "0");
  EXPECT_EQ(text(if_then_else(y != 0, floor_div(x * y, y), 0)), "tvm_if_then_else((y != 0), x, 0)");
  EXPECT_EQ(text(floor_div(x, -3)), "floordiv(x, -3)");
  EXPECT_EQ(text(floor_div(k, -3)), "floordiv((k*-1), 3)");
}

TEST_F(Simplify, VectorsOfIndices) {
  const auto ramp = [](const Expr& base, const Expr& stride) {
    return make(Ramp{.base = base, .stride = stride, .lanes = 4});
  };
  EXPECT_EQ(text(ramp(x, 1) + broadcast(y, 4) * 2), to_string(ramp(x + y * 2, 1)));
  EXPECT_EQ(text(floor_div(ramp(x * 8, 1), broadcast(8, 4))), to_string(broadcast(x, 4)));
  EXPECT_EQ(text(floor_mod(ramp(x * 8, 1), broadcast(8, 4))), to_string(ramp(0, 1)));
  EXPECT_EQ(text(ramp(0, 1) < broadcast(4, 4)), to_string(broadcast(make_bool(true), 4)));
}

TEST_F(Simplify, Proofs) {
  EXPECT_TRUE(analyzer.can_prove(k < 16));
  EXPECT_FALSE(analyzer.can_prove(x < 16));
  EXPECT_TRUE(analyzer.can_prove_equal((x * 16 + k) * n, k * n + n * x * 16));
  EXPECT_TRUE(analyzer.can_prove_equal((x + y) * (x - y), x * x - y * y));
  EXPECT_TRUE(analyzer.can_prove_at_least(k * 2 + 1, 1));
  EXPECT_TRUE(analyzer.can_prove(k * 2 + 1 < 32));
  EXPECT_FALSE(analyzer.can_prove(k * 2 + 1 < 31));
}

TEST_F(Simplify, CanonicalFormExpandsWhereTermsCancel) {
  EXPECT_EQ(to_string(analyzer.canonical_simplify((x * 16 + k) * n - (x * 16) * n)), "(k*n)");
  EXPECT_EQ(to_string(analyzer.canonical_simplify(n * m - m * n)), "0");
  EXPECT_EQ(to_string(analyzer.canonical_simplify((x * 7 + y) * 9 + z)), "((((x*7) + y)*9) + z)");
  EXPECT_EQ(to_string(analyzer.canonical_simplify((n - 1) * m + m - 1)), "((n*m) + -1)");
}

}  // namespace
}  // namespace tw
