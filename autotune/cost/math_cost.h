// SPDX-License-Identifier: Apache-2.0
// What mathematical functions cost where they are arithmetic (lower/math_functions.h).
#pragma once

#include <string_view>

#include "runtime/dtype.h"

namespace tw::autotune {

struct MathCost {
  double operations = 0;  // of vectors, divisions aside; 0 where the function is a call
  double divisions = 0;
};
// Of the function of a `type`, counted in its arithmetic.
MathCost math_cost(std::string_view name, DType type);

}  // namespace tw::autotune
