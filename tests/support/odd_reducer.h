// SPDX-License-Identifier: Apache-2.0
// Reducers of which the order of the terms matters, or where they begin.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ir/expr.h"
#include "tests/support/random_ir.h"

namespace tw::test {

constexpr int64_t kOddIdentity = 5;

// Values stay within the bound of a sum that begins with kOddIdentity.
inline CommReducer odd_reducer(Random& random, DType type) {
  const Var x("x", type), y("y", type);
  const Expr zero = make_zero(type);
  const std::vector<std::pair<Expr, Expr>> rows = {
      {x - y, zero},  // of which the order may change
      {y - x, zero},
      {x + y, make_const(type, kOddIdentity)},
      {select(x != zero, x, y), zero},  // which may be grouped in order
      {max(x, y), zero},                // which may begin more than once
      {y, zero},
  };
  const auto& [result, identity] = random.pick(rows);
  return {.lhs = {x}, .rhs = {y}, .result = {result}, .identity = {identity}};
}

}  // namespace tw::test
