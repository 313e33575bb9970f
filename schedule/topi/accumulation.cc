// SPDX-License-Identifier: Apache-2.0
#include "schedule/topi/accumulation.h"

#include "schedule/topi/elementwise.h"

namespace tw::topi {

DType accumulation_type(DType type) {
  return type.is_float() && type.bits == 16 ? float_type(32, type.lanes) : type;
}

Tensor converted(const Tensor& x, DType type) {
  return !x.defined() || x.dtype() == type ? x : cast(x, type);
}

}  // namespace tw::topi
