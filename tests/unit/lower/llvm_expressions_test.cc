// SPDX-License-Identifier: Apache-2.0
// Each expression kind, scalar and vector, against the interpreter.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "ir/constant.h"
#include "ir/scalar.h"
#include "runtime/element.h"
#include "runtime/error.h"
#include "tests/unit/lower/llvm_support.h"

namespace tw::test {
namespace {

constexpr int kLanes = 16;

// Values of a type that make trouble: signs, halves, small and larger ones.
// Of both signs unless they are to be positive; of unsigned integers the greatest and the least.
NDArray values(DType t, int count, int salt, bool positive = false) {
  NDArray a = NDArray::empty({count}, t);
  InterpreterBuffer b(t, count);
  for (int i = 0; i < count; ++i) {
    int n = (i * 37 + salt * 11) % 29 - 14;
    if (positive) n = std::abs(n) + 1;
    if (t.is_bool()) {
      b.set(i, Value{.type = t, .i = n % 2 != 0});
    } else if (t.is_float()) {
      b.set(i, Value{.type = t, .f = n * 0.5});
    } else {
      b.set(i, Value{.type = t, .i = scalar::wrap(t, n)});
    }
  }
  b.copy_to(a.data());
  return a;
}

void expect_same(const NDArray& got, const NDArray& want, double relative,
                 const std::string& what) {
  const InterpreterBuffer g = InterpreterBuffer::from_bytes(got.dtype(), got.data(), got.size());
  const InterpreterBuffer w = InterpreterBuffer::from_bytes(want.dtype(), want.data(), want.size());
  for (int64_t i = 0; i < got.size(); ++i) {
    const Value a = g.at(i), b = w.at(i);
    if (got.dtype().is_float()) {
      if (std::isnan(a.f) && std::isnan(b.f)) continue;
      if (a.f == b.f) continue;
      ASSERT_NEAR(a.f, b.f, relative * std::abs(b.f)) << what << " at " << i;
    } else {
      ASSERT_EQ(a.i, b.i) << what << " at " << i;
    }
  }
}

// O[…] = value, once for vectors and once for scalars; `value` has {X}, {Y}, {Z} for the operands.
void check(const std::string& value, DType in, DType out, double relative = 0,
           bool positive = false) {
  const int n = 2 * kLanes;
  const std::vector<TensorArgument> tensors = {
      {"A", in, {n}}, {"B", in, {n}}, {"C", bool_type(), {n}}, {"O", out, {n}, true}};
  const std::vector<NDArray> arrays = {values(in, n, 1, positive), values(in, n, 2, true),
                                       values(bool_type(), n, 3), NDArray::zeros({n}, out)};
  const auto fill = [&](std::string index) {
    std::string text = value;
    for (const auto& [mark, name] : {std::pair("{X}", "A"), {"{Y}", "B"}, {"{Z}", "C"}}) {
      for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
        text.replace(at, 3, std::string(name) + "[" + index + "]");
      }
    }
    return text;
  };
  const std::string vector = "ramp((i*16), 1, 16)";
  for (const std::string& text :
       {fmt::format("for (i, 0, 2) {{ O[{}] = {} }}", vector, fill(vector)),
        fmt::format("for (i, 0, 32) {{ O[i] = {} }}", fill("i"))}) {
    const bool is_vector = text.find("16)] =") != std::string::npos;
    std::string typed = text;
    for (const auto& [mark, code] : {std::pair("$in", in), {"$out", out}}) {
      const std::string name = to_string(code.with_lanes(is_vector ? kLanes : 1));
      for (size_t at = typed.find(mark); at != std::string::npos; at = typed.find(mark)) {
        typed.replace(at, std::strlen(mark), name);
      }
    }
    SCOPED_TRACE(typed + " of " + to_string(in));
    const Kernel kernel = make_kernel(typed, tensors);
    const std::vector<NDArray> want = interpret_on(kernel, arrays);
    for (const Target& target : {Target::host(), Target::parse("llvm -mcpu=x86-64-v3")}) {
      if (!target.features_missing_on_host().empty()) continue;
      for (const NDArray& a : arrays) std::ignore = a;
      std::vector<NDArray> mine = arrays;
      mine[3] = NDArray::zeros({n}, out);
      call(compile_function(kernel, target, {.fast_math_contract = false}), mine);
      expect_same(mine[3], want[3], relative, target.text());
    }
  }
}

const DType kIntegers[] = {int_type(8),  int_type(16),  int_type(32),  int_type(64),
                           uint_type(8), uint_type(16), uint_type(32), uint_type(64)};
const DType kFloats[] = {float_type(16), bfloat_type(16), float_type(32), float_type(64)};

TEST(LlvmExpressions, IntegerArithmetic) {
  for (DType t : kIntegers) {
    for (const char* e :
         {"({X} + {Y})", "({X} - {Y})", "({X}*{Y})", "({X}/{Y})", "({X} % {Y})",
          "floordiv({X}, {Y})", "floormod({X}, {Y})", "min({X}, {Y})", "max({X}, {Y})"}) {
      check(e, t, t);
    }
  }
}

// Of bools a sum is "or" and a difference "exclusive or", as NumPy has them.
TEST(LlvmExpressions, BoolArithmetic) {
  for (const char* e : {"({X} + {Z})", "({X} - {Z})", "({X}*{Z})", "min({X}, {Z})", "max({X}, {Z})",
                        "bitwise_not({X})", "bitwise_xor({X}, {Z})"}) {
    check(e, bool_type(), bool_type());
  }
}

TEST(LlvmExpressions, DivisionByConstants) {
  for (int d : {1, 2, 3, 7, 8, 14}) {
    for (const char* e : {"floordiv", "floormod"}) {
      const std::string scalar = fmt::format("{}(A[i], {})", e, d);
      const Kernel k = make_kernel(fmt::format("for (i, 0, 32) {{ O[i] = {} }}", scalar),
                                   {{"A", int_type(32), {32}}, {"O", int_type(32), {32}, true}});
      std::vector<NDArray> arrays = {values(int_type(32), 32, 1),
                                     NDArray::zeros({32}, int_type(32))};
      const auto want = interpret_on(k, arrays);
      call(compile_function(k), arrays);
      expect_same(arrays[1], want[1], 0, scalar);
    }
  }
}

// Every pair of numbers that make trouble, in every type.
TEST(LlvmExpressions, DivisionByZeroAndOverflow) {
  constexpr int kValues = 8, kPairs = kValues * kValues;
  for (DType t : kIntegers) {
    const int64_t least = *as_const_int(min_value(t)), greatest = *as_const_int(max_value(t));
    const int64_t numbers[kValues] = {0, -1, 1, least, greatest, least + 1, 2, -7};
    InterpreterBuffer x(t, kPairs), y(t, kPairs);
    for (int i = 0; i < kPairs; ++i) {
      x.set(i, Value{.type = t, .i = scalar::wrap(t, numbers[i / kValues])});
      y.set(i, Value{.type = t, .i = scalar::wrap(t, numbers[i % kValues])});
    }
    NDArray a = NDArray::empty({kPairs}, t), b = NDArray::empty({kPairs}, t);
    x.copy_to(a.data());
    y.copy_to(b.data());
    for (const char* operation : {"(A[{0}]/B[{0}])", "(A[{0}] % B[{0}])",
                                  "floordiv(A[{0}], B[{0}])", "floormod(A[{0}], B[{0}])"}) {
      const std::string_view name = operation;
      const bool quotient = name.find('/') != name.npos || name.starts_with("floordiv");
      for (const auto& [loop, index] :
           {std::pair("for (i, 0, 64)", "i"), std::pair("for (i, 0, 4)", "ramp((i*16), 1, 16)")}) {
        const std::string value = fmt::format(fmt::runtime(operation), index);
        const Kernel kernel =
            make_kernel(fmt::format("{} {{ O[{}] = {} }}", loop, index, value),
                        {{"A", t, {kPairs}}, {"B", t, {kPairs}}, {"O", t, {kPairs}, true}});
        std::vector<NDArray> arrays = {a, b, NDArray::zeros({kPairs}, t)};
        const auto want = interpret_on(kernel, arrays);
        call(compile_function(kernel), arrays);
        expect_same(arrays[2], want[2], 0, value + " of " + to_string(t));
        const auto got = InterpreterBuffer::from_bytes(t, arrays[2].data(), kPairs);
        for (int i = 0; i < kPairs; ++i) {
          if (y.at(i).i == 0) EXPECT_EQ(got.at(i).i, 0) << value << " of " << to_string(t);
          if (t.is_int() && x.at(i).i == least && y.at(i).i == -1) {
            EXPECT_EQ(got.at(i).i, quotient ? least : 0) << value << " of " << to_string(t);
          }
        }
      }
    }
  }
}

// Machine code that knows no overflow may take x*x for zero only where x is: 65536² is not.
TEST(LlvmExpressions, ADivisorThatOverflowedToZero) {
  const Kernel kernel = make_kernel(
      "for (i, 0, 4) { O[i] = floordiv(A[i], (B[i]*B[i])) }",
      {{"A", int_type(32), {4}}, {"B", int_type(32), {4}}, {"O", int_type(32), {4}, true}});
  const auto array = [](std::vector<int32_t> v) {
    NDArray a = NDArray::empty({4}, int_type(32));
    std::memcpy(a.data(), v.data(), sizeof(int32_t) * v.size());
    return a;
  };
  const std::vector<NDArray> arrays = {array({7, 7, -7, 7}), array({65536, 2, 1, 0}),
                                       NDArray::zeros({4}, int_type(32))};
  call(compile_function(kernel), arrays);
  const int32_t* o = static_cast<const int32_t*>(arrays[2].data());
  EXPECT_EQ(std::vector<int32_t>(o, o + 4), (std::vector<int32_t>{0, 1, -7, 0}));
}

// Index arithmetic has divisors that are known, and pays nothing for those that are not.
TEST(LlvmExpressions, KnownDivisorsAreNotTested) {
  const auto emitted = [](const std::string& text) {
    const Kernel kernel = make_kernel(
        text,
        {{"A", int_type(32), {64}}, {"B", int_type(32), {64}}, {"O", int_type(32), {64}, true}});
    return compile({kernel}, Target::parse("llvm -opt=0"))->source("ll");
  };
  for (const char* divisor : {"7", "-3", "max(B[i], 1)", "(i + 1)", "n", "(n*m)", "t"}) {
    const std::string text =
        emitted(fmt::format("let t = min(num_threads(), 8)\nlet n = A[0]\nlet m = max(A[1], "
                            "0)\nfor (i, 0, max(n, 0)) {{ for (f, 0, m) {{ "
                            "for (g, 0, n) {{ O[i] = floordiv(A[i], {}) }} }} }}",
                            divisor));
    EXPECT_EQ(text.find("freeze"), std::string::npos) << divisor << "\n" << text;
  }
  EXPECT_NE(emitted("for (i, 0, 64) { O[i] = floordiv(A[i], B[i]) }").find("freeze"),
            std::string::npos);
}

TEST(LlvmExpressions, FloatArithmetic) {
  for (DType t : kFloats) {
    for (const char* e : {"({X} + {Y})", "({X} - {Y})", "({X}*{Y})", "({X}/{Y})", "min({X}, {Y})",
                          "max({X}, {Y})"}) {
      check(e, t, t);
    }
  }
}

TEST(LlvmExpressions, ComparisonsAndLogic) {
  for (DType t : {int_type(8), int_type(32), uint_type(16), int_type(64), float_type(32),
                  float_type(64), bfloat_type(16)}) {
    for (const char* e :
         {"({X} == {Y})", "({X} != {Y})", "({X} < {Y})", "({X} <= {Y})", "({X} > {Y})",
          "({X} >= {Y})", "(({X} < {Y}) && {Z})", "(({X} < {Y}) || {Z})", "!{Z}"}) {
      check(e, t, bool_type());
    }
    check("select(({X} < {Y}), {X}, {Y})", t, t);
    check("select({Z}, {X}, {Y})", t, t);
  }
}

TEST(LlvmExpressions, IfThenElse) {
  check("tvm_if_then_else({Z}, {X}, {Y})", float_type(32), float_type(32));
  check("tvm_if_then_else({Z}, ({X}/{Y}), {Y})", int_type(32), int_type(32));
  check("tvm_if_then_else({Z}, tvm_if_then_else(({X} < {Y}), {X}, {Y}), {Y})", float_type(32),
        float_type(32));
}

TEST(LlvmExpressions, CastsBetweenAllTypes) {
  std::vector<DType> all(std::begin(kIntegers), std::end(kIntegers));
  all.insert(all.end(), std::begin(kFloats), std::end(kFloats));
  all.push_back(bool_type());
  for (DType from : all) {
    for (DType to : all) {
      if (from == to) continue;
      // A negative float is out of the range of uint64.
      check("$out({X})", from, to, 0, from.is_float() && to == uint_type(64));
    }
  }
}

TEST(LlvmExpressions, Mathematics) {
  for (DType t : {float_type(32), float_type(64), float_type(16), bfloat_type(16)}) {
    const double relative = t.bits == 64 ? 1e-14 : t.bits == 32 ? 1e-6 : 1e-2;
    for (const char* f : {"exp", "exp2", "sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "erf",
                          "fabs", "floor", "ceil", "trunc", "round", "nearbyint"}) {
      check(fmt::format("{}({{X}})", f), t, t, relative);
    }
    for (const char* f : {"log", "log2", "log10", "sqrt"}) {
      check(fmt::format("{}({{Y}})", f), t, t, relative);
    }
    check("pow({Y}, {X})", t, t, relative);
    check("atan2({X}, {Y})", t, t, relative);
    check("fma({X}, {Y}, {Y})", t, t, t.bits == 16 ? relative : 0);
    check("isnan({X})", t, bool_type());
    check("isinf(({X}/({Y} - {Y})))", t, bool_type());
  }
}

TEST(LlvmExpressions, Bits) {
  for (DType t : kIntegers) {
    for (const char* e : {"bitwise_and({X}, {Y})", "bitwise_or({X}, {Y})", "bitwise_xor({X}, {Y})",
                          "bitwise_not({X})", "popcount({X})"}) {
      check(e, t, t);
    }
  }
  check("shift_right({X}, bitwise_and({Y}, {Y}))", int_type(32), int_type(32));
  check("shift_left({Y}, {Y})", uint_type(32), uint_type(32));
}

// Conversions to 16 bits round once, subnormals and halfway cases included.
TEST(LlvmExpressions, NarrowingRoundsOnce) {
  for (DType to : {float_type(16), bfloat_type(16)}) {
    for (DType from : {float_type(32), float_type(64)}) {
      const int n = 4096;
      NDArray a = NDArray::empty({n}, from);
      for (int i = 0; i < n; ++i) {
        const double sign = i % 2 == 0 ? 1 : -1;
        const double base = std::ldexp(1.0 + (i % 64) / 2048.0 + (i % 5) * 0x1p-11,
                                       i / 64 - (to.code == TypeCode::Float ? 40 : 150));
        const double nudge = (i % 3 - 1) * std::ldexp(base, -(i % 7) * 6 - 12);
        const double v = sign * (base + nudge);
        if (from.bits == 32) {
          a.data_as<float>()[i] = static_cast<float>(v);
        } else {
          a.data_as<double>()[i] = v;
        }
      }
      const Kernel k = make_kernel(
          fmt::format(
              "for (i, 0, 256) {{ O[ramp((i*16), 1, 16)] = {}x16(A[ramp((i*16), 1, 16)]) }}",
              to_string(to)),
          {{"A", from, {n}}, {"O", to, {n}, true}});
      std::vector<NDArray> arrays = {a, NDArray::zeros({n}, to)};
      const auto want = interpret_on(k, arrays);
      call(compile_function(k), arrays);
      const auto* got = arrays[1].data_as<uint16_t>();
      const auto* expected = want[1].data_as<uint16_t>();
      for (int i = 0; i < n; ++i) {
        ASSERT_EQ(got[i], expected[i]) << to_string(from) << " to " << to_string(to) << " at " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tw::test
