// SPDX-License-Identifier: Apache-2.0
// What is checked of the parts of an operation, so that no later stage meets it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedule/te/operation.h"

namespace tw::te {

// Scalar integers; TypeMismatch, naming the tensor, for anything else.
void check_index(const Expr& index, const std::string& tensor);

// Numbers, bool and vectors of them; TypeMismatch for others. `what` is whose type it is.
void check_element_type(DType type, std::string_view what, const std::string& stage);

// Extents are integer expressions of variables, constants among them not negative (BadShape).
void check_extent(const Expr& extent, std::string_view what, const std::string& stage);
void check_shape(const std::vector<Expr>& shape, const std::string& stage);
// The ends of an axis of a reduction: integer expressions, which may be other ones for each element
// (BadShape).
void check_reduced_domain(const Range& domain, const std::string& axis);

// Statements whose expressions are of few enough levels and parts (BadArgument); parts that stand
// in several places of a large one are bound by Lets in the result.
Stmt checked_statements(const Stmt& body, const std::string& stage);

// A body of few enough levels and parts (BadArgument), whose operators have operands of types that
// they are for (TypeMismatch), and whose reads have an index for each dimension (IndexCount). Parts
// that stand in several places of a large body are bound by Lets in the result.
Expr checked_body(const Expr& body, const std::string& stage);

}  // namespace tw::te
