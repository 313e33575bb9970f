// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi::nn {

// `data` with `before` and `after` elements of `value` around each dimension; `after` empty means
// as `before`, `value` undefined means zero. Dimensions without padding are copied plainly. The
// condition is that of an element being inside: tvm_if_then_else(((2 <= i2) && (i2 < 9)), …).
// BadShape unless there is an amount for each dimension and constant ones are at least 0. ONNX Pad.
Tensor pad(const Tensor& data, const std::vector<Expr>& before, const std::vector<Expr>& after = {},
           const Expr& value = {}, const std::string& name = "PadInput");

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> pad_rows();

}  // namespace tw::topi::nn
