// SPDX-License-Identifier: Apache-2.0
#include "bench/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "runtime/error.h"
#include "runtime/machine.h"
#include "runtime/read_number.h"

namespace tw::bench {

Options::Options(const std::vector<std::string>& words, std::string_view legal) {
  std::istringstream names{std::string(legal)};
  legal_ = {std::istream_iterator<std::string>(names), {}};
  for (const std::string& word : words) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.starts_with("--") ? word.substr(2, equals - 2) : "";
    if (!legal_.contains(name)) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("unknown option '{}'", word.substr(0, equals)),
             .legal = fmt::format("--{}", fmt::join(legal_, ", --"))});
    }
    values_[name] = equals == word.size() ? "1" : word.substr(equals + 1);
  }
}

std::string Options::text(const std::string& name, const std::string& otherwise) const {
  TW_CHECK(legal_.contains(name));  // the table in main.cc tells all
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : found->second;
}

double Options::number(const std::string& name, double otherwise) const {
  const std::string value = text(name);
  if (value.empty()) return otherwise;
  const auto number = read_double(value);
  if (!number || !std::isfinite(*number) || *number < 0) {
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("--{}={}", name, value),
           .legal = "a number that is not negative"});
  }
  return *number;
}

int Options::count(const std::string& name, int otherwise) const {
  return static_cast<int>(number(name, otherwise));
}

bool Options::flag(const std::string& name) const { return count(name, 0) != 0; }

std::vector<std::string> Options::list(const std::string& name,
                                       const std::string& otherwise) const {
  std::vector<std::string> parts;
  const std::string value = text(name, otherwise);
  for (size_t begin = 0; begin < value.size();) {
    const size_t end = std::min(value.find(';', begin), value.size());
    if (end > begin) parts.push_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

int Options::threads() const { return std::max(count("threads", host().usable_cores), 1); }

std::vector<int> Options::thread_counts() const {
  std::vector<int> counts;
  for (const std::string& part : list("threads", fmt::format("1;{}", host().usable_cores))) {
    const int n = std::atoi(part.c_str());
    if (n >= 1 && std::find(counts.begin(), counts.end(), n) == counts.end()) counts.push_back(n);
  }
  return counts;
}

Target Options::target() const {
  const std::string value = text("target");
  return value.empty() ? Target::host() : Target::parse(value);
}

}  // namespace tw::bench
