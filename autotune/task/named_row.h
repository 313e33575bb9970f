// SPDX-License-Identifier: Apache-2.0
// A row of a table by its name.
#pragma once

#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>

#include "runtime/error.h"

namespace tw::autotune {

// BadArgument lists the names of all rows; `what` says what they are: "cost model".
template <class Row>
const Row& named_row(std::span<const Row> rows, std::string_view name, std::string_view what) {
  std::string names;
  for (const Row& row : rows) {
    if (row.name == name) return row;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  raise({.code = ErrorCode::BadArgument,
         .what = fmt::format("unknown {} '{}'", what, name),
         .legal = names});
}

}  // namespace tw::autotune
