// SPDX-License-Identifier: Apache-2.0
// Element types with vector lanes. The codes are DLPack's, plus bool.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/api.h"

namespace tw {

enum class TypeCode : uint8_t { Int = 0, UInt = 1, Float = 2, Handle = 3, BFloat = 4, Bool = 6 };

struct DType {
  TypeCode code = TypeCode::Int;
  uint8_t bits = 32;
  uint16_t lanes = 1;

  bool operator==(const DType&) const = default;

  bool is_int() const { return code == TypeCode::Int; }
  bool is_uint() const { return code == TypeCode::UInt; }
  bool is_integer() const { return is_int() || is_uint(); }
  bool is_float() const { return code == TypeCode::Float || code == TypeCode::BFloat; }
  bool is_bool() const { return code == TypeCode::Bool; }
  bool is_handle() const { return code == TypeCode::Handle; }
  bool is_vector() const { return lanes > 1; }
  DType element() const { return with_lanes(1); }
  DType with_lanes(int n) const { return {code, bits, static_cast<uint16_t>(n)}; }
  // Bytes of one element in memory; bool takes one byte.
  int element_bytes() const { return (bits + 7) / 8; }
};

constexpr DType int_type(int bits, int lanes = 1) {
  return {TypeCode::Int, static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)};
}
constexpr DType uint_type(int bits, int lanes = 1) {
  return {TypeCode::UInt, static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)};
}
constexpr DType float_type(int bits, int lanes = 1) {
  return {TypeCode::Float, static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)};
}
constexpr DType bfloat_type(int bits, int lanes = 1) {
  return {TypeCode::BFloat, static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)};
}
constexpr DType bool_type(int lanes = 1) {
  return {TypeCode::Bool, 1, static_cast<uint16_t>(lanes)};
}
constexpr DType handle_type() { return {TypeCode::Handle, 64, 1}; }

// "float32", "int8x16", "bool", "handle", "bfloat16"; the inverse of parse_dtype.
TW_API std::string to_string(DType type);
// Throws UserError (UnknownDType), naming the known spellings.
TW_API DType parse_dtype(std::string_view text);

}  // namespace tw
