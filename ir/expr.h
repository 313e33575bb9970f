// SPDX-License-Identifier: Apache-2.0
// Writing expressions: constants, operators and the helpers every pass needs. The operators fold
// constants and the identities x + 0, x * 1, x * 0, true && x, … so that passes need not;
// everything cleverer is the simplifier's. Operands of different types are brought to one type:
// constants and narrower integers are cast, int with float gives float; anything else is a
// TypeMismatch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/node.h"

namespace tw {

// A constant of any scalar or vector type (vectors are broadcasts).
Expr make_const(DType type, int64_t value);
Expr make_const_float(DType type, double value);
Expr make_zero(DType type);
Expr make_bool(bool value);

// The value of an integer or bool constant (or a broadcast of one).
std::optional<int64_t> as_const_int(const Expr& e);
bool is_const_int(const Expr& e, int64_t value);
inline bool is_zero(const Expr& e) { return is_const_int(e, 0); }
inline bool is_one(const Expr& e) { return is_const_int(e, 1); }
// A constant of any type: IntImm, FloatImm, or a broadcast of one.
bool is_const(const Expr& e);
// Least and greatest value of an integer or floating type, as constants of it.
Expr min_value(DType type);
Expr max_value(DType type);
// What leaves every value as it is under max or min: ∓infinity, or the integer type's end.
Expr max_identity(DType type);
Expr min_identity(DType type);

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
// Folds two integer constants as the IR defines the operation; nothing when undefined (division by
// zero, signed overflow).
std::optional<int64_t> fold_integers(NodeKind kind, DType type, int64_t a, int64_t b);

}  // namespace tw
