// SPDX-License-Identifier: Apache-2.0
// float16 (IEEE binary16) and bfloat16, held as their 16 bits. Every conversion is correctly
// rounded, to nearest with ties to even, overflow to infinity, subnormals kept. Narrowing starts
// from double, so that a value that is rounded once never is rounded twice. NaN stays NaN (made
// quiet, the high payload bits kept), as the F16C and AVX512-BF16 instructions do.
#pragma once

#include <bit>
#include <cstdint>

namespace tw {
namespace half_detail {

template <int kExponentBits, int kMantissaBits>
constexpr uint16_t narrow(double value) {
  constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  constexpr uint64_t kInfinity = uint64_t((1 << kExponentBits) - 1) << kMantissaBits;
  constexpr uint64_t kInfinity64 = 0x7ff0'0000'0000'0000;
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 63 << 15);
  const uint64_t magnitude = bits & 0x7fff'ffff'ffff'ffff;
  const uint64_t fraction = magnitude & 0x000f'ffff'ffff'ffff;
  if (magnitude > kInfinity64) {
    const uint64_t payload = fraction >> (52 - kMantissaBits);
    return static_cast<uint16_t>(sign | kInfinity | payload | 1u << (kMantissaBits - 1));
  }
  // A subnormal double is far below half of the least 16-bit subnormal.
  if (magnitude < 0x0010'0000'0000'0000) return sign;
  int biased = static_cast<int>(magnitude >> 52) - 1023 + kBias;
  int dropped = 52 - kMantissaBits;  // bits of the significand that do not fit
  if (biased <= 0) {                 // a subnormal: no hidden bit, fewer bits stay
    dropped += 1 - biased;
    biased = 1;
  }
  if (dropped > 53) return sign;
  const uint64_t significand = fraction | uint64_t(1) << 52;
  uint64_t kept = significand >> dropped;
  const uint64_t rest = significand & ((uint64_t(1) << dropped) - 1);
  const uint64_t half = uint64_t(1) << (dropped - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // `kept` carries the hidden bit, so adding it lets a carry climb into the exponent.
  const uint64_t result = (uint64_t(biased - 1) << kMantissaBits) + kept;
  return static_cast<uint16_t>(sign | (result < kInfinity ? result : kInfinity));
}

}  // namespace half_detail

constexpr uint16_t double_to_float16(double value) { return half_detail::narrow<5, 10>(value); }
constexpr uint16_t double_to_bfloat16(double value) { return half_detail::narrow<8, 7>(value); }
constexpr uint16_t float_to_float16(float value) { return double_to_float16(value); }
constexpr uint16_t float_to_bfloat16(float value) { return double_to_bfloat16(value); }

constexpr float bfloat16_to_float(uint16_t bits) {
  const uint32_t wide = uint32_t(bits) << 16;
  const bool nan = (wide & 0x7fff'ffff) > 0x7f80'0000;
  return std::bit_cast<float>(nan ? wide | 0x0040'0000 : wide);
}

constexpr float float16_to_float(uint16_t bits) {
  const uint32_t sign = uint32_t(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 0x1f;
  const uint32_t fraction = bits & 0x3ff;
  if (exponent == 0x1f) {
    const uint32_t quiet = fraction != 0 ? 0x0040'0000 : 0;
    return std::bit_cast<float>(sign | 0x7f80'0000 | quiet | fraction << 13);
  }
  if (exponent == 0) {  // zero and subnormals: fraction · 2⁻²⁴, exact in float
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

}  // namespace tw
