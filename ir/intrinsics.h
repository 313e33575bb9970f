// SPDX-License-Identifier: Apache-2.0
// The table of named intrinsics (ir/intrinsics.def) that Call nodes refer to.
#pragma once

#include <string_view>

#include "ir/node.h"

namespace tw {

struct Intrinsic {
  std::string_view name;
  int arity;  // -1: any
  CallKind kind;
  std::string_view printed;
  std::string_view doc;
};

// Null when there is no such intrinsic; the second form looks up the printed spelling.
const Intrinsic* find_intrinsic(std::string_view name);
const Intrinsic* find_printed_intrinsic(std::string_view printed);

}  // namespace tw
