// SPDX-License-Identifier: Apache-2.0
// Determinants.
#pragma once

#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi {

// Of square matrices in the last two dimensions, by Gaussian elimination with the greatest of a
// column as its pivot. ONNX Det.
Tensor det(const Tensor& data);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> determinant_rows();

}  // namespace tw::topi
