// SPDX-License-Identifier: Apache-2.0
// Writing expressions: operators and the helpers every pass needs. The operators fold
// constants and the identities x + 0, x * 1, x * 0, true && x, … so that passes need not;
// everything cleverer is the simplifier's. Operands of different types are brought to one type:
// constants and narrower integers are cast, int with float gives float; anything else is a
// TypeMismatch.
#pragma once

#include <string>
#include <vector>

#include "ir/constant.h"  // IWYU pragma: export
#include "ir/node.h"

namespace tw {

Expr cast(DType type, const Expr& value);
// To an integer type, with its limits for what lies beyond them and 0 for NaN; floats are rounded
// towards zero first. To a floating type, and where nothing can be lost, a cast.
Expr saturating_cast(DType type, const Expr& value);
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
Expr operator*(const Expr& a, const Expr& b);
Expr div(const Expr& a, const Expr& b);  // floats; integers round towards zero
Expr trunc_div(const Expr& a, const Expr& b);
Expr trunc_mod(const Expr& a, const Expr& b);
// With the sign of a: C's fmod of floats, which is exact, and trunc_mod of integers.
Expr fmod(const Expr& a, const Expr& b);
Expr floor_div(const Expr& a, const Expr& b);
Expr floor_mod(const Expr& a, const Expr& b);
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
Expr operator==(const Expr& a, const Expr& b);  // an expression; use same_as or equal() to test
Expr operator!=(const Expr& a, const Expr& b);
Expr operator<(const Expr& a, const Expr& b);
Expr operator<=(const Expr& a, const Expr& b);
Expr operator>(const Expr& a, const Expr& b);
Expr operator>=(const Expr& a, const Expr& b);
Expr operator&&(const Expr& a, const Expr& b);
Expr operator||(const Expr& a, const Expr& b);
Expr operator!(const Expr& a);
Expr select(const Expr& condition, const Expr& true_value, const Expr& false_value);
// Evaluates only the chosen side.
Expr if_then_else(const Expr& condition, const Expr& true_value, const Expr& false_value);
// Marks a condition that holds on most iterations; loop_partition peels those where it may not.
Expr likely(const Expr& condition);
Expr broadcast(const Expr& value, int lanes);
// A pure intrinsic of ir/intrinsics.def; the result has the type of the first argument.
Expr call(const std::string& name, std::vector<Expr> args);
Expr call(DType type, const std::string& name, std::vector<Expr> args, CallKind kind);

// Folds a list; `empty` when there is nothing to fold.
Expr all_of(const std::vector<Expr>& conditions);
Expr product(const std::vector<Expr>& factors);  // int32 1 when empty

// Rebuilds a binary node of kind `kind` through the folding operators above.
Expr make_binary(NodeKind kind, const Expr& a, const Expr& b);
// The node as it is, without folding.
Expr raw_binary(NodeKind kind, const Expr& a, const Expr& b);

}  // namespace tw
