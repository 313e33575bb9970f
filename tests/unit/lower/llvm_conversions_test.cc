// SPDX-License-Identifier: Apache-2.0
// Conversions of every value of the 16-bit types, and of what lies next to their ties: compiled
// code, scalar and vector, and te/evaluate against the interpreter.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "runtime/element.h"
#include "runtime/half.h"
#include "schedule/te/evaluate.h"
#include "tests/support/assembly.h"
#include "tests/unit/lower/llvm_support.h"

namespace tw::test {
namespace {

const DType kIntegers[] = {int_type(8),  int_type(16),  int_type(32),  int_type(64),
                           uint_type(8), uint_type(16), uint_type(32), uint_type(64)};
const DType kFloats[] = {float_type(16), bfloat_type(16), float_type(32), float_type(64)};

// All 65,536 bit patterns.
NDArray every(DType t) {
  NDArray a = NDArray::empty({65536}, t);
  for (int i = 0; i < 65536; ++i) a.data_as<uint16_t>()[i] = static_cast<uint16_t>(i);
  return a;
}

Value element(const NDArray& a, int64_t i) {
  const auto* at = static_cast<const char*>(a.data()) + i * a.dtype().element_bytes();
  return a.dtype().is_float() ? Value{.type = a.dtype(), .f = load_as_double(at, a.dtype())}
                              : Value{.type = a.dtype(), .i = load_as_int(at, a.dtype())};
}

// Bit for bit; one NaN is as good as another.
void expect_same(const NDArray& got, const NDArray& want, const NDArray& from,
                 const std::string& what) {
  for (int64_t i = 0; i < got.size(); ++i) {
    const Value a = element(got, i), b = element(want, i);
    if (got.dtype().is_float() ? std::isnan(a.f) && std::isnan(b.f) : a.i == b.i) continue;
    if (got.dtype().is_float() && a.f == b.f && std::signbit(a.f) == std::signbit(b.f)) continue;
    const Value v = element(from, i);
    FAIL() << what << " at " << i << ": "
           << (v.type.is_float() ? fmt::format("{}", v.f) : fmt::format("{}", v.i)) << " gives "
           << (a.type.is_float() ? fmt::format("{} for {}", a.f, b.f)
                                 : fmt::format("{} for {}", a.i, b.i));
  }
}

struct Conversion {
  DType to;
  bool saturating = false;
  std::string text(int lanes, const std::string& value) const {
    const std::string type = to_string(to.with_lanes(lanes));
    return saturating ? fmt::format("saturating_cast<{}>({})", type, value)
                      : fmt::format("{}({})", type, value);
  }
};

std::vector<Conversion> to_all(std::vector<DType> types, bool saturating) {
  std::vector<Conversion> result;
  for (DType t : types) result.push_back({t, saturating});
  return result;
}

// One kernel with an output for each conversion of `from`, once over vectors and once over scalars,
// on this processor and on an older one; and each as a tensor expression.
void check(const NDArray& from, const std::vector<Conversion>& conversions) {
  constexpr int kLanes = 16;
  const int64_t n = from.size();
  ASSERT_EQ(n % kLanes, 0);
  for (const bool vector : {true, false}) {
    std::string body;
    std::vector<TensorArgument> tensors = {{"A", from.dtype(), {n}}};
    std::vector<NDArray> arrays = {from};
    const int lanes = vector ? kLanes : 1;
    const std::string index = vector ? fmt::format("ramp((i*{0}), 1, {0})", lanes) : "i";
    for (size_t k = 0; k < conversions.size(); ++k) {
      body += fmt::format("O{}[{}] = {}\n", k, index,
                          conversions[k].text(lanes, fmt::format("A[{}]", index)));
      tensors.push_back({fmt::format("O{}", k), conversions[k].to, {n}, true});
      arrays.push_back(NDArray::zeros({n}, conversions[k].to));
    }
    const Kernel kernel =
        make_kernel(fmt::format("for (i, 0, {}) {{\n{}}}", n / lanes, body), tensors);
    const std::vector<NDArray> want = interpret_on(kernel, arrays);
    for (const Target& target : {Target::host(), Target::parse("llvm -mcpu=x86-64-v3")}) {
      if (!target.features_missing_on_host().empty()) continue;
      call(compile_function(kernel, target), arrays);
      for (size_t k = 0; k < conversions.size(); ++k) {
        expect_same(arrays[k + 1], want[k + 1], from,
                    fmt::format("{} for {}", conversions[k].text(lanes, to_string(from.dtype())),
                                target.text()));
      }
    }
    if (vector) continue;
    const te::Tensor a = te::placeholder({static_cast<int>(n)}, from.dtype(), "A");
    for (size_t k = 0; k < conversions.size(); ++k) {
      const auto [to, saturating] = conversions[k];
      const te::Tensor c = te::compute({static_cast<int>(n)}, [&](const std::vector<Var>& i) {
        return saturating ? saturating_cast(to, a(i[0])) : cast(to, a(i[0]));
      });
      InterpreterBuffer in = InterpreterBuffer::from_bytes(from.dtype(), from.data(), n);
      InterpreterBuffer out(to, n);
      te::evaluate(te::make_program({c}), {&in, &out});
      const NDArray got = NDArray::zeros({n}, to);
      out.copy_to(got.data());
      expect_same(got, want[k + 1], from, "te " + conversions[k].text(1, to_string(from.dtype())));
    }
  }
}

TEST(Conversions, EveryHalfToFloats) {
  for (DType from : {float_type(16), bfloat_type(16)}) {
    std::vector<DType> others;
    for (DType to : kFloats) {
      if (to != from) others.push_back(to);
    }
    others.push_back(bool_type());
    check(every(from), to_all(others, false));
  }
}

// What a plain cast leaves undefined, values beyond the type, is zero here.
TEST(Conversions, EveryHalfToIntegers) {
  for (DType from : {float_type(16), bfloat_type(16)}) {
    for (DType to : kIntegers) {
      NDArray a = every(from);
      const double least = to.is_int() ? -std::ldexp(1.0, to.bits - 1) : 0;
      const double above = std::ldexp(1.0, to.is_int() ? to.bits - 1 : to.bits);
      for (int64_t i = 0; i < a.size(); ++i) {
        const double v = std::trunc(element(a, i).f);
        if (!(v >= least && v < above)) a.data_as<uint16_t>()[i] = 0;
      }
      check(a, {{to}});
    }
  }
}

TEST(Conversions, EveryInteger16) {
  for (DType from : {int_type(16), uint_type(16)}) {
    check(every(from), to_all({std::begin(kFloats), std::end(kFloats)}, false));
    check(every(from), to_all({std::begin(kIntegers), std::end(kIntegers)}, false));
    check(every(from), to_all({std::begin(kIntegers), std::end(kIntegers)}, true));
  }
}

TEST(Conversions, EveryHalfSaturates) {
  for (DType from : {float_type(16), bfloat_type(16)}) {
    check(every(from), to_all({std::begin(kIntegers), std::end(kIntegers)}, true));
  }
}

// Each value of a 16-bit type as a wider float, the middle between it and its neighbour, and what
// lies on either side of both.
NDArray around(DType narrow, DType wide) {
  NDArray a = NDArray::empty({int64_t{65536} * 6}, wide);
  const auto widen = narrow.code == TypeCode::BFloat ? bfloat16_to_float : float16_to_float;
  int64_t at = 0;
  const auto put = [&](double v) {
    store_double(static_cast<char*>(a.data()) + at * wide.element_bytes(), wide, v);
    ++at;
  };
  const auto beside = [&](double v, double towards) {
    return wide.bits == 32 ? static_cast<double>(std::nextafterf(static_cast<float>(v),
                                                                 static_cast<float>(towards)))
                           : std::nextafter(v, towards);
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 65536; ++i) {
    const double v = widen(static_cast<uint16_t>(i)), w = widen(static_cast<uint16_t>(i + 1));
    const double middle = std::isfinite(v) && std::isfinite(w) ? 0.5 * (v + w) : v;
    for (const double x : {v, middle}) {
      put(x);
      put(beside(x, kInfinity));
      put(beside(x, -kInfinity));
    }
  }
  return a;
}

TEST(Conversions, FloatsRoundOnceToEven) {
  for (DType narrow : {float_type(16), bfloat_type(16)}) {
    for (DType wide : {float_type(32), float_type(64)}) check(around(narrow, wide), {{narrow}});
  }
}

// Around zero and both limits of every integer type, in every type that has such values.
TEST(Conversions, LimitsSaturate) {
  for (DType from : kFloats) {
    std::vector<double> values = {0,   -0.0, 0.5,      -0.5,      0.999, -0.999,
                                  NAN, -NAN, INFINITY, -INFINITY, 1e30,  -1e30};
    for (const int bits : {7, 8, 15, 16, 31, 32, 63, 64}) {
      for (const double sign : {1.0, -1.0}) {
        const double v = sign * std::ldexp(1.0, bits);
        for (const double x :
             {v, v - 1, v + 1, v - 0.5, v + 0.5, v * (1 - 0x1p-8), v * (1 - 0x1p-11),
              v * (1 - 0x1p-24), std::nextafter(v, 0.0), v * (1 + 0x1p-7)}) {
          values.push_back(x);
        }
      }
    }
    while (values.size() % 16 != 0) values.push_back(1);
    NDArray a = NDArray::empty({static_cast<int64_t>(values.size())}, from);
    for (size_t i = 0; i < values.size(); ++i) {
      store_double(static_cast<char*>(a.data()) + i * static_cast<size_t>(from.element_bytes()),
                   from, values[i]);
    }
    check(a, to_all({std::begin(kIntegers), std::end(kIntegers)}, true));
  }
  for (DType from : kIntegers) {
    std::vector<uint64_t> values = {0};
    for (int bits = 0; bits < 64; ++bits) {
      for (const uint64_t near : {uint64_t{0}, ~uint64_t{0}, uint64_t{1}}) {
        values.push_back((uint64_t{1} << bits) + near);
        values.push_back(0 - (uint64_t{1} << bits) + near);
      }
    }
    while (values.size() % 16 != 0) values.push_back(1);
    NDArray a = NDArray::empty({static_cast<int64_t>(values.size())}, from);
    for (size_t i = 0; i < values.size(); ++i) {
      store_int(static_cast<char*>(a.data()) + i * static_cast<size_t>(from.element_bytes()), from,
                static_cast<int64_t>(values[i]));
    }
    check(a, to_all({std::begin(kIntegers), std::end(kIntegers)}, true));
  }
}

// Vectors stay vectors, and integers narrow in one instruction.
TEST(Conversions, SaturatingVectorsKeepTheirInstructions) {
  const auto assembly = [](DType from, DType to) {
    const Kernel kernel = make_kernel(
        fmt::format("O[ramp(0, 1, 16)] = saturating_cast<{}x16>(A[ramp(0, 1, 16)])", to_string(to)),
        {{"A", from, {16}}, {"O", to, {16}, true}});
    return assembly_for("llvm -mcpu=skylake-avx512", kernel);
  };
  EXPECT_NE(assembly(int_type(32), int_type(8)).find("vpmovsdb"), std::string::npos);
  EXPECT_NE(assembly(int_type(32), uint_type(8)).find("vpmovusdb"), std::string::npos);
  for (DType to : {int_type(8), uint_type(8), int_type(32), uint_type(32)}) {
    const std::string text = assembly(float_type(32), to);
    EXPECT_NE(text.find("vcvttps2"), std::string::npos) << to_string(to);
    EXPECT_EQ(text.find("vcvttss2"), std::string::npos) << to_string(to) << " lane by lane";
  }
}

}  // namespace
}  // namespace tw::test
