// SPDX-License-Identifier: Apache-2.0
// Functions of float32 as arithmetic that rounds as the IR says it does: the interpreter, machine
// code for scalars and for vectors of any number of lanes find the same bits.
//
//            most error, in units of the last place, over all 2³² inputs (./tw bench math --full)
//   exp      0.90
//   log      0.94
//   sigmoid  2.41
//   tanh     1.96
//   erf      1.89
//
// Results that are too great are infinite, those that are too small round to subnormal numbers and
// to zero. It takes multiply-adds of one rounding; their products are never summed otherwise, so
// that contraction finds nothing to change.
#pragma once

#include <span>
#include <string_view>

#include "ir/expr.h"

namespace tw {

// Their names.
std::span<const std::string_view> math_functions();
// Whether they are arithmetic for this type, on processors with such multiply-adds.
bool is_arithmetic(DType type);
// The function of that name of `x`, a float32 or of 16 bits, which are widened and round once;
// undefined where there is none. `scales`: with ldexp, which is one instruction on some
// processors, and gives the same.
Expr math_function(std::string_view name, const Expr& x, bool scales);

}  // namespace tw
