// SPDX-License-Identifier: Apache-2.0
// Operators of which an element follows from those before it along a dimension. Shapes are
// constant. Rows are computed one beside the other, on all threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi {

// The sum, or product, of the elements up to each along `axis`; of all in row-major order, as a
// vector, without an axis. In `dtype`, which is that of data unless given. `exclusive`: of those
// before it, so that the first is 0, or 1. `reverse`: from the last element on. ONNX CumSum.
Tensor cumsum(const Tensor& data, std::optional<int> axis = std::nullopt,
              std::optional<DType> dtype = std::nullopt, bool exclusive = false,
              bool reverse = false, const std::string& name = "T_cumsum");
Tensor cumprod(const Tensor& data, std::optional<int> axis = std::nullopt,
               std::optional<DType> dtype = std::nullopt, bool exclusive = false,
               bool reverse = false, const std::string& name = "T_cumprod");

// What a linear recurrence gives along an axis, y being 0 before the first element.
enum class Recurrence : uint8_t {
  Current,    // y[k] = data[k] + factor[k] * y[k - 1]
  Before,     // y[k] = data[k] + factor[k - 1] * y[k - 1]
  Exclusive,  // y[k - 1] of Current
};
// "current", "before", "exclusive"; BadArgument for others.
Recurrence recurrence_named(const Place& place, std::string_view text);
// Of two tensors of one shape and type, from the last element on with `reverse`.
Tensor linear_recurrence(const Tensor& data, const Tensor& factor, int axis,
                         Recurrence form = Recurrence::Current, bool reverse = false,
                         const std::string& name = "T_linear_recurrence");

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> cumulative_rows();

}  // namespace tw::topi
