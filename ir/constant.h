// SPDX-License-Identifier: Apache-2.0
// Constants: making them, asking for their values, and what operations make of them.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "ir/node.h"

namespace tw {

// A constant of any scalar or vector type (vectors are broadcasts).
Expr make_const(DType type, int64_t value);
// A fraction would be cut off: say make_const_float(type, value).
template <class T>
  requires std::is_floating_point_v<T>
Expr make_const(DType type, T value) = delete;
Expr make_const_float(DType type, double value);
Expr make_zero(DType type);
Expr make_bool(bool value);

// The value of an integer or bool constant (or a broadcast of one).
std::optional<int64_t> as_const_int(const Expr& e);
bool is_const_int(const Expr& e, int64_t value);
inline bool is_zero(const Expr& e) { return is_const_int(e, 0); }
inline bool is_one(const Expr& e) { return is_const_int(e, 1); }
std::optional<double> as_const_float(const Expr& e);
// A constant of this value, of any type.
bool is_value(const Expr& e, int value);
// A constant of any type: IntImm, FloatImm, or a broadcast of one.
bool is_const(const Expr& e);
// Least and greatest value of an integer or floating type, as constants of it.
Expr min_value(DType type);
Expr max_value(DType type);
// What leaves every value as it is under max or min: ∓infinity, or the integer type's end.
Expr max_identity(DType type);
Expr min_identity(DType type);

bool is_comparison(NodeKind kind);  // of Equal to GreaterEqual, whose results are bools
int64_t floor_quotient(int64_t a, int64_t b);
// Folds two integer constants as the IR defines the operation; nothing when undefined (division by
// zero, signed overflow).
std::optional<int64_t> fold_integers(NodeKind kind, DType type, int64_t a, int64_t b);
// The same for two constants of any one type; undefined when nothing can be folded.
Expr fold(NodeKind kind, const Expr& a, const Expr& b);

}  // namespace tw
