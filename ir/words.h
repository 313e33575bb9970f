// SPDX-License-Identifier: Apache-2.0
// What printer and parser agree on: operators, reserved words, types that calls have by default.
#pragma once

#include <string_view>
#include <vector>

#include "ir/intrinsics.h"
#include "ir/node.h"

namespace tw::words {

// Every node of the shape {a, b}. Infix ones print as "(a + b)", or as "(a*b)" when `tight`; the
// others as "floordiv(a, b)".
struct Binary {
  NodeKind kind;
  std::string_view symbol;
  int precedence;  // 0: written as a function
  bool tight;
};
const Binary* find_binary(NodeKind kind);
const Binary* find_infix(std::string_view symbol);
const Binary* find_binary_function(std::string_view name);

// What words and numbers are made of: `starts_word` is a letter or underscore, `continues_word`
// that, a digit or a dot.
bool is_digit(char c);
bool starts_word(char c);
bool continues_word(char c);

// "float32x4" and the like.
bool is_dtype(std::string_view word);
// "x4": how the broadcast to 4 lanes is spelled.
bool is_broadcast(std::string_view word);
// A letter or underscore, then letters, digits, underscores and dots.
bool is_identifier(std::string_view word);
// Words that no variable, or no producer, may be called in text. A producer stands where a function
// can, so intrinsics are taken there too.
bool is_reserved_for_variables(std::string_view word);
bool is_reserved_for_producers(std::string_view word);

// Calls that are not rows of ir/intrinsics.def: "call_extern<float32>("name", x)".
std::string_view generic_call(CallKind kind);
bool find_generic_call(std::string_view word, CallKind& kind);

// The type of a call that prints without one: "exp(x)" against "tensor_shape<int32>(0, 1)".
DType default_type(const Intrinsic& intrinsic, const std::vector<Expr>& args);

}  // namespace tw::words
