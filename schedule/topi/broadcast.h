// SPDX-License-Identifier: Apache-2.0
// Operators on two tensors whose shapes are brought together by NumPy's rule: shapes are aligned at
// their last dimension; extents are equal, or one of them is 1 (or missing) and is repeated
// (numpy.org/doc, "Broadcasting"). Symbolic extents are equal when they are the same expression.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi {

// The shape that two shapes broadcast to. BadShape when they do not.
std::vector<Expr> broadcast_shape(const std::vector<Expr>& a, const std::vector<Expr>& b,
                                  std::string_view op = "broadcast");
// `t` read at a position of a shape that it broadcasts to.
Expr read_broadcast(const Tensor& t, const std::vector<Var>& position);

// broadcast.def gives three functions a row: of two tensors, and of a tensor and a scalar
// expression. Types that do not go together are a TypeMismatch.
#define BINARY(name, expression, doc)                                                  \
  Tensor name(const Tensor& a, const Tensor& b, const std::string& label = "T_" #name, \
              const std::string& tag = kBroadcast);                                    \
  Tensor name(const Tensor& a, const Expr& b, const std::string& label = "T_" #name,   \
              const std::string& tag = kElementwise);                                  \
  Tensor name(const Expr& a, const Tensor& b, const std::string& label = "T_" #name,   \
              const std::string& tag = kElementwise);
#include "schedule/topi/broadcast.def"
#undef BINARY

// The rows as data, for bindings, documentation and tests.
struct BinaryOperator {
  std::string_view name;
  std::string_view doc;
  Expr (*element)(const Expr& a, const Expr& b);
  // Of two expressions: an expression.
  Operand (*apply)(const Operand& a, const Operand& b);
};
const std::vector<BinaryOperator>& binary_operators();
// Null when there is no such row.
const BinaryOperator* find_binary(std::string_view name);

// `x` repeated to `shape`. BadShape when it does not broadcast to exactly that. NumPy broadcast_to.
Tensor broadcast_to(const Tensor& x, const std::vector<Expr>& shape,
                    const std::string& label = "T_broadcast_to",
                    const std::string& tag = kBroadcast);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> broadcast_rows();

}  // namespace tw::topi
