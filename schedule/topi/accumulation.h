// SPDX-License-Identifier: Apache-2.0
// In which type elements are added up and multiplied: float16 and bfloat16 in float32, rounded once
// at the end, as PyTorch and ONNX Runtime do; others in their own.
#pragma once

#include "schedule/topi/common.h"

namespace tw::topi {

DType accumulation_type(DType type);

// Elements in another type, each rounded once; the tensor itself where it has that type or there is
// none.
Tensor converted(const Tensor& x, DType type);

// The result of an operator on the tensor `x`, or on several with `others`, that computes in more
// than one step: `f` is given them in the accumulation type, and what it gives is rounded to the
// type of x.
template <class F, class... Others>
Tensor rounded_once(const F& f, const Tensor& x, const Others&... others) {
  const DType wide = accumulation_type(x.dtype());
  return converted(f(converted(x, wide), converted(others, wide)...), x.dtype());
}

// Whether it has to be done so.
inline bool is_accumulated_wider(const Tensor& x) {
  return accumulation_type(x.dtype()) != x.dtype();
}

}  // namespace tw::topi
