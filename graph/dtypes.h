// SPDX-License-Identifier: Apache-2.0
// Element types by number, as graph attributes and variables hold them.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "runtime/dtype.h"

namespace tw::graph {

struct NumberedType {
  int number;
  DType type;
};
// NNVM's numbers: 0 is float32, 1 float64; ours beyond them.
std::span<const NumberedType> numbered_types();
// Of a type that has none: BadAttribute.
int number_of(DType type);
std::optional<DType> type_of_number(int number);

}  // namespace tw::graph
