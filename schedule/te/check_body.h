// SPDX-License-Identifier: Apache-2.0
// What is checked of the body of a compute, so that no later stage meets it.
#pragma once

#include <string>

#include "schedule/te/operation.h"

namespace tw::te {

// Scalar integers; TypeMismatch, naming the tensor, for anything else.
void check_index(const Expr& index, const std::string& tensor);

// A body of few enough levels and parts (BadArgument), whose operators have operands of types that
// they are for (TypeMismatch), and whose reads have an index for each dimension (IndexCount).
void check_body(const Expr& body, const std::string& stage);

// Of an operation that is computed whole: OutOfBounds when an index is sure to leave the tensor it
// reads: outside every condition, and a sum of constants and of multiples of axes of constant
// extent, each of them once.
void check_bounds(const Operation& op);

}  // namespace tw::te
