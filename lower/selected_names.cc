// SPDX-License-Identifier: Apache-2.0
#include "lower/selected_names.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

namespace tw {

std::function<bool(std::string_view)> selected_names(
    const char* variable, const std::function<void(std::string_view)>& require) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == 0) return [](std::string_view) { return false; };
  std::set<std::string, std::less<>> names;
  std::string_view rest = value;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view name = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (name == "all") return [](std::string_view) { return true; };
    if (name.empty()) continue;
    require(name);
    names.emplace(name);
  }
  return [names](std::string_view name) { return names.contains(name); };
}

}  // namespace tw
