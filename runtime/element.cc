// SPDX-License-Identifier: Apache-2.0
#include "runtime/element.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/error.h"
#include "runtime/half.h"

namespace tw {
namespace {

[[noreturn]] void unsupported(DType type) {
  raise({.code = ErrorCode::TypeMismatch,
         .what = "an element of type " + to_string(type) + " is no number",
         .legal = "integers, floats and bool"});
}

template <class T>
T read(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void write(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

double load_float(const void* element, DType type) {
  if (type.code == TypeCode::BFloat) return bfloat16_to_float(read<uint16_t>(element));
  switch (type.bits) {
    case 16:
      return float16_to_float(read<uint16_t>(element));
    case 32:
      return read<float>(element);
    case 64:
      return read<double>(element);
  }
  unsupported(type);
}

// Nearest even for |value| ≥ 2²⁴ as well: the integer is split so that no bit is lost before the
// one rounding. Returns the double that rounds to `type` as the integer itself would.
double as_double_for(DType type, int64_t value) {
  const bool fits = value >= -(int64_t(1) << 53) && value <= int64_t(1) << 53;
  if (fits || type.bits == 64) return static_cast<double>(value);
  // Round to odd: the low bit of the double remembers what was cut, so that the second rounding,
  // to 24 bits or fewer, sees on which side of a tie the integer lies.
  const double near = static_cast<double>(value);
  if (near >= 0x1p63) return std::nextafter(near, 0.0);
  const auto back = static_cast<int64_t>(near);
  if (back == value || (std::bit_cast<uint64_t>(near) & 1) != 0) return near;
  return std::nextafter(near, back < value ? std::numeric_limits<double>::infinity()
                                           : -std::numeric_limits<double>::infinity());
}

// The truncated value modulo 2⁶⁴, defined for every double (NaN and infinities give 0).
int64_t truncate(double value) {
  if (!std::isfinite(value)) return 0;
  const double whole = std::trunc(value);
  if (whole >= -0x1p63 && whole < 0x1p63) return static_cast<int64_t>(whole);
  double modulo = std::fmod(whole, 0x1p64);
  if (modulo < 0) modulo += 0x1p64;
  return static_cast<int64_t>(static_cast<uint64_t>(modulo));
}

}  // namespace

double load_as_double(const void* element, DType type) {
  if (type.is_float()) return load_float(element, type);
  const int64_t value = load_as_int(element, type);
  const bool wide_unsigned = type.is_uint() && type.bits == 64;
  return wide_unsigned ? static_cast<double>(static_cast<uint64_t>(value))
                       : static_cast<double>(value);
}

int64_t load_as_int(const void* element, DType type) {
  if (type.is_float()) return truncate(load_float(element, type));
  if (type.is_bool()) return read<uint8_t>(element) != 0;
  if (!type.is_integer()) unsupported(type);
  int64_t value = 0;
  std::memcpy(&value, element, static_cast<size_t>(type.element_bytes()));  // little-endian
  return wrap_to(type, value);
}

void store_double(void* element, DType type, double value) {
  if (type.code == TypeCode::BFloat) return write(element, double_to_bfloat16(value));
  if (type.is_bool()) return write<uint8_t>(element, value != 0);
  if (type.is_integer()) return store_int(element, type, truncate(value));
  if (!type.is_float()) unsupported(type);
  switch (type.bits) {
    case 16:
      return write(element, double_to_float16(value));
    case 32:
      return write(element, static_cast<float>(value));
    case 64:
      return write(element, value);
  }
  unsupported(type);
}

void store_int(void* element, DType type, int64_t value) {
  if (type.is_float()) return store_double(element, type, as_double_for(type, value));
  if (type.is_bool()) return write<uint8_t>(element, value != 0);
  if (!type.is_integer()) unsupported(type);
  std::memcpy(element, &value, static_cast<size_t>(type.element_bytes()));  // little-endian
}

double round_to(DType type, double value) {
  unsigned char memory[8];
  store_double(memory, type, value);
  return load_float(memory, type);
}

int64_t wrap_to(DType type, int64_t value) {
  if (type.is_bool()) return value != 0;
  if (type.bits >= 64) return value;
  const uint64_t shifted = static_cast<uint64_t>(value) << (64 - type.bits);
  return type.is_int() ? static_cast<int64_t>(shifted) >> (64 - type.bits)
                       : static_cast<int64_t>(shifted >> (64 - type.bits));
}

}  // namespace tw
