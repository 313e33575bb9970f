// SPDX-License-Identifier: Apache-2.0
#include "graph/dtypes.h"

#include <fmt/format.h>

#include "runtime/error.h"

namespace tw::graph {
namespace {

// Files hold these numbers: append, never change.
constexpr NumberedType kTypes[] = {
    {0, float_type(32)},   {1, float_type(64)}, {2, float_type(16)}, {3, uint_type(8)},
    {4, int_type(32)},     {5, int_type(8)},    {6, int_type(64)},   {7, int_type(16)},
    {8, uint_type(16)},    {9, uint_type(32)},  {10, uint_type(64)}, {11, bool_type()},
    {12, bfloat_type(16)},
};

}  // namespace

std::span<const NumberedType> numbered_types() { return kTypes; }

int number_of(DType type) {
  for (const NumberedType& t : kTypes) {
    if (t.type == type) return t.number;
  }
  raise({.code = ErrorCode::BadAttribute,
         .what = fmt::format("{} has no number in a graph", to_string(type)),
         .legal = "the types of graph.dtypes()"});
}

std::optional<DType> type_of_number(int number) {
  for (const NumberedType& t : kTypes) {
    if (t.number == number) return t.type;
  }
  return std::nullopt;
}

}  // namespace tw::graph
