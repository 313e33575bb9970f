// SPDX-License-Identifier: Apache-2.0
// What each operation does to scalar values. Integers and bools are held sign- or zero-extended in
// 64 bits, floating values as doubles already rounded to their type; handles are addresses.
#pragma once

#include <cstdint>

#include "ir/intrinsics.h"
#include "ir/node.h"
#include "runtime/element.h"

namespace tw::scalar {

union Scalar {
  int64_t i;
  double f;
};

inline Scalar of_int(int64_t v) { return {.i = v}; }
inline Scalar of_float(double v) { return {.f = v}; }

inline int64_t wrap(DType type, int64_t v) {
  if (type.is_int()) {
    switch (type.bits) {
      case 64:
        return v;
      case 32:
        return static_cast<int32_t>(v);
      case 16:
        return static_cast<int16_t>(v);
      case 8:
        return static_cast<int8_t>(v);
      default:
        break;
    }
  } else if (type.is_handle()) {
    return v;
  }
  return wrap_to(type.element(), v);
}

inline double round(DType type, double v) {
  if (type.bits == 64) return v;
  if (type.bits == 32) return static_cast<double>(static_cast<float>(v));
  return round_to(type.element(), v);
}

Scalar convert(DType from, DType to, Scalar v);
// The same, except that integers do not wrap: what lies beyond `to` becomes its nearest limit, and
// NaN becomes 0. Between types that lose nothing, and to floats, it is `convert`.
Scalar saturate(DType from, DType to, Scalar v);
// Operands of type `type`. Of integers x/0 and x%0 are 0, whatever way division rounds, and the
// least number by -1 wraps.
Scalar binary(NodeKind kind, DType type, Scalar a, Scalar b);
// A pure intrinsic whose arguments are all evaluated (not if_then_else) and that needs no kernel
// arguments. `args` are values of `types`.
Scalar apply(const Intrinsic& intrinsic, DType result, const Scalar* args, const DType* types,
             int count);

// Whether an intrinsic belongs to the calling convention, so that only a running kernel knows it.
bool is_argument(const Intrinsic& intrinsic);

}  // namespace tw::scalar
