// SPDX-License-Identifier: Apache-2.0
// Numbers in text, read alike in every locale: strtod takes the decimal point from the program that
// we are part of.
#pragma once

#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <system_error>

namespace tw {

// The double that the whole of `text` spells, rounded to nearest; nothing where it spells none.
inline std::optional<double> read_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error != std::errc::result_out_of_range) return value;
  // Beyond all doubles, or nearer to zero than they come.
  const bool negative = text.starts_with('-');
  const size_t exponent = text.find_first_of("eE");
  const bool tiny = exponent == text.npos ? text.substr(negative).starts_with("0.")
                                          : text.substr(exponent + 1).starts_with('-');
  const double magnitude = tiny ? 0 : std::numeric_limits<double>::infinity();
  return negative ? -magnitude : magnitude;
}

}  // namespace tw
