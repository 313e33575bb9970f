// SPDX-License-Identifier: Apache-2.0
// Numbers that a user sets in the environment.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "runtime/log.h"

namespace tw {

// The variable's value; `fallback` where it is not set, and with a warning where it makes no sense.
template <class Number>
Number environment_number(const char* name, Number least, Number most, Number fallback) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return fallback;
  const std::string_view view(text);
  Number value{};
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error == std::errc() && end == view.data() + view.size() && value >= least && value <= most) {
    return value;
  }
  log_warning(fmt::format("{} is '{}'; legal: a number from {} to {}", name, view, least, most));
  return fallback;
}

}  // namespace tw
