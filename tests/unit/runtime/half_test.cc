// SPDX-License-Identifier: Apache-2.0
#include "runtime/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tw {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Format {
  const char* name;
  int exponent_bits, mantissa_bits;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);
  uint16_t (*narrow_double)(double);
};
constexpr Format kFormats[] = {
    {"float16", 5, 10, float16_to_float, float_to_float16, double_to_float16},
    {"bfloat16", 8, 7, bfloat16_to_float, float_to_bfloat16, double_to_bfloat16},
};

// The value by the definition of the format, in double arithmetic.
double value_of(const Format& f, uint16_t bits) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const int exponent = bits >> f.mantissa_bits & ((1 << f.exponent_bits) - 1);
  const int fraction = bits & ((1 << f.mantissa_bits) - 1);
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == (1 << f.exponent_bits) - 1) return fraction ? NAN : sign * kInfinity;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - f.mantissa_bits);
  return sign * std::ldexp(fraction + (1 << f.mantissa_bits), exponent - bias - f.mantissa_bits);
}

TEST(Half, EveryValueWidensExactlyAndComesBack) {
  for (const Format& f : kFormats) {
    for (uint32_t i = 0; i <= 0xffff; ++i) {
      const auto bits = static_cast<uint16_t>(i);
      const double expected = value_of(f, bits);
      const float wide = f.widen(bits);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(wide)) << f.name << ' ' << i;
        // Quiet, the sign and the rest of the payload kept.
        ASSERT_EQ(f.narrow(wide), bits | 1 << (f.mantissa_bits - 1)) << f.name << ' ' << i;
        continue;
      }
      ASSERT_EQ(static_cast<double>(wide), expected) << f.name << ' ' << i;
      ASSERT_EQ(std::signbit(wide), std::signbit(expected)) << f.name << ' ' << i;
      ASSERT_EQ(f.narrow(wide), bits) << f.name << ' ' << i;
      ASSERT_EQ(f.narrow_double(expected), bits) << f.name << ' ' << i;
    }
  }
}

// Between each two neighbours: the middle goes to the even one, and what is next to the middle
// goes to the nearer one, in float and in double.
TEST(Half, EveryTieGoesToEven) {
  for (const Format& f : kFormats) {
    const auto infinity = static_cast<uint16_t>(((1 << f.exponent_bits) - 1) << f.mantissa_bits);
    for (uint16_t low = 0; low < infinity; ++low) {
      const auto high = static_cast<uint16_t>(low + 1);
      const double a = value_of(f, low);
      // Past the largest finite value the middle lies where the next value would have been.
      const double b = high == infinity ? 2 * a - value_of(f, static_cast<uint16_t>(low - 1))
                                        : value_of(f, high);
      const double middle = 0.5 * (a + b);
      const uint16_t even = low % 2 == 0 ? low : high;
      for (const int sign : {0, 0x8000}) {
        const double s = sign ? -1 : 1;
        ASSERT_EQ(f.narrow_double(s * middle), sign | even) << f.name << ' ' << low;
        ASSERT_EQ(f.narrow_double(s * std::nextafter(middle, 0.0)), sign | low);
        ASSERT_EQ(f.narrow_double(s * std::nextafter(middle, 1e300)), sign | high);
        const auto m = static_cast<float>(middle);
        if (m != middle) continue;  // beyond float's own subnormals
        ASSERT_EQ(f.narrow(static_cast<float>(s) * m), sign | even) << f.name << ' ' << low;
        ASSERT_EQ(f.narrow(static_cast<float>(s) * std::nextafter(m, 0.0f)), sign | low);
        ASSERT_EQ(f.narrow(static_cast<float>(s) * std::nextafter(m, kInfinity)), sign | high);
      }
    }
  }
}

TEST(Half, Extremes) {
  EXPECT_EQ(float_to_float16(65519.996f), 0x7bff);
  EXPECT_EQ(float_to_float16(65520.0f), 0x7c00);
  EXPECT_EQ(double_to_float16(1e300), 0x7c00);
  EXPECT_EQ(double_to_float16(-1e300), 0xfc00);
  EXPECT_EQ(double_to_float16(1e-300), 0);
  EXPECT_EQ(double_to_bfloat16(std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_EQ(float_to_float16(-0.0f), 0x8000);
  EXPECT_EQ(double_to_float16(kInfinity), 0x7c00);
  EXPECT_EQ(float_to_bfloat16(std::numeric_limits<float>::max()), 0x7f80);
  // Rounded by way of float this would become 1.
  EXPECT_EQ(double_to_float16(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  static_assert(float_to_float16(1.0f) == 0x3c00 && bfloat16_to_float(0x3f80) == 1.0f);
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
__attribute__((target("f16c"))) uint16_t hardware_narrow(float value) {
  return static_cast<uint16_t>(
      _mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT), 0));
}
__attribute__((target("f16c"))) float hardware_widen(uint16_t bits) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
}

TEST(Half, AgreesWithTheProcessor) {
  if (!__builtin_cpu_supports("f16c")) GTEST_SKIP() << "no F16C here";
  for (uint32_t i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    ASSERT_EQ(std::bit_cast<uint32_t>(float16_to_float(bits)),
              std::bit_cast<uint32_t>(hardware_widen(bits)))
        << i;
  }
  std::mt19937 random(7);
  for (int i = 0; i < 1'000'000; ++i) {
    // Half of them in float16's range of exponents.
    uint32_t bits = static_cast<uint32_t>(random());
    if (i % 2) bits = (bits & 0x807f'ffff) | (100 + random() % 45) << 23;
    const float value = std::bit_cast<float>(bits);
    ASSERT_EQ(float_to_float16(value), hardware_narrow(value)) << bits;
  }
}
#endif

}  // namespace
}  // namespace tw
