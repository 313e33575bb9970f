// SPDX-License-Identifier: Apache-2.0
#include "runtime/dtype.h"

#include <fmt/format.h>

#include <charconv>

#include "runtime/error.h"

namespace tw {
namespace {

struct Spelling {
  TypeCode code;
  std::string_view prefix;
};
constexpr Spelling kSpellings[] = {{TypeCode::UInt, "uint"},
                                   {TypeCode::Int, "int"},
                                   {TypeCode::BFloat, "bfloat"},
                                   {TypeCode::Float, "float"}};

[[noreturn]] void unknown(std::string_view text) {
  raise({.code = ErrorCode::UnknownDType,
         .what = fmt::format("unknown data type '{}'", text),
         .legal = "int8 … int64, uint8 … uint64, float16, float32, float64, bfloat16, bool, "
                  "handle, and a lane count as in float32x16"});
}

// Reads a decimal number off the front of `text`; 0 when there is none.
int take_number(std::string_view& text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

bool legal_bits(TypeCode code, int bits) {
  switch (code) {
    case TypeCode::Int:
    case TypeCode::UInt:
      return bits == 8 || bits == 16 || bits == 32 || bits == 64;
    case TypeCode::Float:
      return bits == 16 || bits == 32 || bits == 64;
    case TypeCode::BFloat:
      return bits == 16;
    default:
      return false;
  }
}

}  // namespace

std::string to_string(DType type) {
  std::string text;
  switch (type.code) {
    case TypeCode::Int:
      text = fmt::format("int{}", type.bits);
      break;
    case TypeCode::UInt:
      text = fmt::format("uint{}", type.bits);
      break;
    case TypeCode::Float:
      text = fmt::format("float{}", type.bits);
      break;
    case TypeCode::BFloat:
      text = fmt::format("bfloat{}", type.bits);
      break;
    case TypeCode::Bool:
      text = "bool";
      break;
    case TypeCode::Handle:
      text = "handle";
      break;
  }
  if (type.lanes != 1) text += fmt::format("x{}", type.lanes);
  return text;
}

DType parse_dtype(std::string_view text) {
  std::string_view rest = text;
  DType type;
  if (rest.starts_with("bool")) {
    rest.remove_prefix(4);
    type = bool_type();
  } else if (rest == "handle") {
    return handle_type();
  } else {
    bool found = false;
    for (const Spelling& s : kSpellings) {
      if (!rest.starts_with(s.prefix)) continue;
      rest.remove_prefix(s.prefix.size());
      const int bits = take_number(rest);
      if (!legal_bits(s.code, bits)) unknown(text);
      type = {s.code, static_cast<uint8_t>(bits), 1};
      found = true;
      break;
    }
    if (!found) unknown(text);
  }
  if (rest.starts_with("x")) {
    rest.remove_prefix(1);
    const int lanes = take_number(rest);
    if (lanes < 1 || lanes > 65535) unknown(text);
    type.lanes = static_cast<uint16_t>(lanes);
  }
  if (!rest.empty()) unknown(text);
  return type;
}

}  // namespace tw
