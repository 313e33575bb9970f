// SPDX-License-Identifier: Apache-2.0
// Loops over four 8-bit products, or two of bfloat16, become one instruction a vector, and compute
// what they did.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tests/support/assembly.h"
#include "tests/unit/lower/llvm_support.h"

namespace tw::test {
namespace {

const Target kTarget = Target::parse("llvm -mcpu=sapphirerapids");
const Target kNarrow = Target::parse("llvm -mcpu=alderlake");  // AVX-VNNI, without AVX-512

struct Case {
  DType a, b;
  int lanes;
  bool broadcast_first = true;  // otherwise both factors have lanes
  bool swapped = false;         // the factor with lanes comes first
  int terms = 0;                // of a group; 0: all
};

Kernel dot_kernel(const Case& c, int rows, int steps) {
  const bool floats = c.a.is_float();
  const int group = floats ? 2 : 4;
  const std::string sum = floats ? "float32" : "int32", wide = fmt::format("{}x{}", sum, c.lanes);
  const std::string at = fmt::format("(t*{}) + k", group);
  const std::string x = c.broadcast_first ? fmt::format("x{}({}(A[((i*{}) + ({}))]))", c.lanes, sum,
                                                        steps * group, at)
                                          : fmt::format("{}(A[ramp(((i*{}) + ({})), {}, {})])",
                                                        wide, steps * group, at, group, c.lanes);
  const std::string y =
      fmt::format("{}(B[ramp(((t*{}) + k), {}, {})])", wide, group * c.lanes, group, c.lanes);
  const std::string target = fmt::format("C[ramp((i*{0}), 1, {0})]", c.lanes);
  const std::string text = fmt::format(
      "for (i, 0, {}) {{ for (t, 0, {}) {{ for (k, 0, {}) {{ {} = ({} + ({}*{})) }} }} }}", rows,
      steps, c.terms > 0 ? c.terms : group, target, target, c.swapped ? y : x, c.swapped ? x : y);
  const int64_t a = int64_t{rows} * steps * group + (c.broadcast_first ? 0 : group * c.lanes);
  return make_kernel(text,
                     {{"A", c.a, {a}},
                      {"B", c.b, {int64_t{steps} * group * c.lanes}},
                      {"C", floats ? float_type(32) : int_type(32), {rows * c.lanes}, true}},
                     "dot");
}

void check(const Case& c, const Target& target = kTarget) {
  constexpr int kRows = 3, kSteps = 5;
  const Kernel kernel = dot_kernel(c, kRows, kSteps);
  const std::string what = fmt::format("{} {} lanes {} broadcast {} swapped {}", to_string(c.a),
                                       to_string(c.b), c.lanes, c.broadcast_first, c.swapped);
  const auto module = compile({kernel}, target, {.cross = true});
  const std::string assembly = module->source("asm");
  const char* instruction = c.a.is_float() ? "vdpbf16ps" : "vpdpbusd";
  EXPECT_NE(assembly.find(instruction), std::string::npos) << what;
  if (!target.features_missing_on_host().empty()) return;

  std::mt19937 random(c.lanes);
  std::vector<NDArray> arrays;
  for (const KernelArgument& argument : kernel.arguments) {
    const int64_t size = *as_const_int(argument.shape[0]);
    InterpreterBuffer values(argument.dtype, size);
    for (int64_t i = 0; i < size; ++i) {
      // Any byte; bfloat16 whose products and sums are exact.
      const auto byte = static_cast<int64_t>(random() % 256);
      if (argument.dtype.is_float()) {
        values.set(i, {.type = argument.dtype, .f = static_cast<double>(byte % 17 - 8) / 4});
      } else {
        values.set(i, {.type = argument.dtype, .i = argument.dtype.is_uint() ? byte : byte - 128});
      }
    }
    arrays.push_back(NDArray::empty({size}, argument.dtype));
    values.copy_to(arrays.back().data());
  }
  const std::vector<NDArray> expected = interpret_on(kernel, arrays);
  call(module->get_function("dot"), arrays);
  EXPECT_EQ(
      std::memcmp(expected[2].data(), arrays[2].data(), static_cast<size_t>(arrays[2].byte_size())),
      0)
      << what;
}

TEST(DotProduct, BytesOfAnySign) {
  const DType s = int_type(8), u = uint_type(8);
  for (const int lanes : {4, 8, 16, 32, 48}) {
    for (const bool swapped : {false, true}) {
      check({.a = u, .b = s, .lanes = lanes, .swapped = swapped});
      check({.a = s, .b = u, .lanes = lanes, .swapped = swapped});
      check({.a = s, .b = s, .lanes = lanes, .swapped = swapped});
      check({.a = u, .b = s, .lanes = lanes, .broadcast_first = false, .swapped = swapped});
      check({.a = s, .b = s, .lanes = lanes, .broadcast_first = false, .swapped = swapped});
    }
  }
}

TEST(DotProduct, BytesInVectorsOf256Bits) {
  const DType s = int_type(8), u = uint_type(8);
  for (const int lanes : {4, 8, 16, 24}) {
    check({.a = u, .b = s, .lanes = lanes}, kNarrow);
    check({.a = s, .b = s, .lanes = lanes, .swapped = true}, kNarrow);
    check({.a = s, .b = s, .lanes = lanes, .broadcast_first = false}, kNarrow);
    check({.a = u, .b = s, .lanes = lanes, .terms = 3}, kNarrow);
  }
}

// Where a sum ends within a group: the other bytes of it are neither added nor touched.
TEST(DotProduct, PartsOfGroups) {
  const DType s = int_type(8), u = uint_type(8);
  for (const int terms : {2, 3}) {
    for (const int lanes : {4, 16, 32}) {
      check({.a = u, .b = s, .lanes = lanes, .terms = terms});
      check({.a = s, .b = s, .lanes = lanes, .swapped = true, .terms = terms});
      check({.a = u, .b = s, .lanes = lanes, .broadcast_first = false, .terms = terms});
    }
  }
}

TEST(DotProduct, Bfloat16) {
  for (const int lanes : {4, 8, 16, 64}) {
    check({.a = bfloat_type(16), .b = bfloat_type(16), .lanes = lanes});
    check({.a = bfloat_type(16), .b = bfloat_type(16), .lanes = lanes, .broadcast_first = false});
  }
}

// What looks like one and is none stays a loop.
TEST(DotProduct, OthersAreLeftAlone) {
  const auto is_dot = [](const std::string& text, DType a, DType b, const Target& target) {
    const Kernel kernel =
        make_kernel(text, {{"A", a, {256}}, {"B", b, {256}}, {"C", int_type(32), {64}, true}}, "f");
    return assembly_for(target, kernel).find("vpdpbusd") != std::string::npos;
  };
  const auto loop = [](int extent, const std::string& a, const std::string& b) {
    return fmt::format(
        "for (k, 0, {}) {{ C[ramp(0, 1, 16)] = (C[ramp(0, 1, 16)] + "
        "(x16(int32(A[{}]))*int32x16(B[{}]))) }}",
        extent, a, b);
  };
  const DType s = int_type(8), u = uint_type(8);
  EXPECT_TRUE(is_dot(loop(4, "(k + 3)", "ramp(k, 4, 16)"), u, s, kTarget));
  EXPECT_FALSE(is_dot(loop(4, "(k*2)", "ramp(k, 4, 16)"), u, s, kTarget)) << "bytes apart";
  EXPECT_FALSE(is_dot(loop(4, "k", "ramp(k, 3, 16)"), u, s, kTarget)) << "lanes overlap";
  EXPECT_FALSE(is_dot(loop(5, "k", "ramp(k, 4, 16)"), u, s, kTarget)) << "five";
  EXPECT_FALSE(is_dot(loop(4, "k", "ramp(k, 4, 16)"), u, u, kTarget)) << "no signs";
  EXPECT_FALSE(is_dot(loop(4, "k", "ramp(k, 4, 16)"), u, int_type(16), kTarget)) << "wider";
  EXPECT_FALSE(is_dot(loop(4, "k", "ramp(k, 4, 16)"), u, s, Target::parse("llvm -mcpu=x86-64-v3")))
      << "no such instruction";
}

}  // namespace
}  // namespace tw::test
