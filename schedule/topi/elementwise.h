// SPDX-License-Identifier: Apache-2.0
// Operators on each element by itself. The families are tables: elementwise.def gives one function
// Tensor name(x) a row, whose result has x's shape and (but for isnan and isinf) its type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedule/topi/common.h"

namespace tw::topi {

// Elements of another kind than the row's are a TypeMismatch.
#define UNARY(name, elements, expression, doc)                        \
  Tensor name(const Tensor& x, const std::string& label = "T_" #name, \
              const std::string& tag = kElementwise);
#include "schedule/topi/elementwise.def"
#undef UNARY

// The rows as data, for bindings, documentation and tests.
struct UnaryOperator {
  std::string_view name;
  std::string_view elements;  // "Any", "Number", "Float", "Bool"
  std::string_view doc;
  Tensor (*apply)(const Tensor& x, const std::string& label, const std::string& tag);
  Expr (*of)(const Expr& x);  // of one element
};
const std::vector<UnaryOperator>& unary_operators();
// Null when there is no such row.
const UnaryOperator* find_unary(std::string_view name);

// Elements converted to `type`: integers wrap, floats round to nearest even, floats to integers go
// towards zero. ONNX Cast.
Tensor cast(const Tensor& x, DType type, const std::string& label = "T_cast",
            const std::string& tag = kElementwise);
// The same, with the limits of an integer type for what lies beyond them, and 0 for NaN.
Tensor saturating_cast(const Tensor& x, DType type, const std::string& label = "T_saturating_cast",
                       const std::string& tag = kElementwise);
// max(low, min(x, high)); bounds beyond an integer type cut off nothing. ONNX Clip.
Tensor clip(const Tensor& x, double low, double high, const std::string& label = "T_clip",
            const std::string& tag = kElementwise);
// Every element is `value`, converted to `type`. NumPy full.
Tensor full(const std::vector<Expr>& shape, DType type, const Expr& value,
            const std::string& label = "T_full", const std::string& tag = kElementwise);
Tensor full_like(const Tensor& x, const Expr& value, const std::string& label = "T_full_like",
                 const std::string& tag = kElementwise);

// Rows of the table in schedule/topi/operator.h.
std::vector<Operator> elementwise_rows();

}  // namespace tw::topi
