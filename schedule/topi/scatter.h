// SPDX-License-Identifier: Apache-2.0
// Operators that write elements to positions which tensors of integers give: from the end where
// negative, the nearest one where outside. Shapes are constant. What several updates of one element
// give does not depend on threads: updates are taken in row-major order, each element by one
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/topi/gather.h"

namespace tw::topi {

// What becomes of an element and an update of it.
enum class Reduction : uint8_t { Update, Add, Mul, Min, Max };
// "update", "add", "mul", "min", "max"; BadArgument for others.
Reduction reduction_named(const Place& place, std::string_view text);

// data with each update at its own position but along `axis`, where the index says. `indices` and
// `updates` have one shape, of the rank of data and nowhere larger but along the axis. TVM's
// scatter_elements; ONNX ScatterElements.
Tensor scatter_elements(const Tensor& data, const Tensor& indices, const Tensor& updates,
                        int axis = 0, std::string_view reduction = "update",
                        const std::string& name = "T_scatter");
// data with the update updates[y…] where the columns of `indices`, [m, y…], say: of data.shape[m:].
// ONNX ScatterND, whose columns are its last dimension.
Tensor scatter_nd(const Tensor& data, const Tensor& indices, const Tensor& updates,
                  std::string_view mode = "update", const std::string& name = "T_scatter_nd");

// The gradients of what gather.h has: zeros of a shape with the elements of `grad` added where the
// forward operator took them.
Tensor take_grad(const Tensor& grad, const std::vector<Expr>& shape, const Tensor& indices,
                 std::optional<int> axis, int batch_dims, std::string_view mode,
                 const std::string& name = "T_take_grad");
Tensor gather_grad(const Tensor& grad, const std::vector<Expr>& shape, int axis,
                   const Tensor& indices, IndexMode mode = IndexMode::FromEnd,
                   const std::string& name = "T_gather_grad");
Tensor gather_nd_grad(const Tensor& grad, const std::vector<Expr>& shape, const Tensor& indices,
                      int batch_dims, const std::string& name = "T_gather_nd_grad");

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> scatter_rows();

}  // namespace tw::topi
