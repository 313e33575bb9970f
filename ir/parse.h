// SPDX-License-Identifier: Apache-2.0
// The inverse of print.h: text with declarations gives back a structurally equal tree.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "ir/node.h"

namespace tw {

// Throw UserError (ParseError) with line, column, what was found and what would be legal there.
Expr parse_expr(std::string_view text);
Stmt parse_stmt(std::string_view text);

// What names mean that a piece of a larger text does not declare, and where the piece stands.
struct ParseScope {
  std::unordered_map<std::string, Var> variables;
  std::unordered_map<std::string, ProducerRef> producers;
  int line = 1, column = 1;  // of the first character
};
Expr parse_expr(std::string_view text, const ParseScope& scope);
Stmt parse_stmt(std::string_view text, const ParseScope& scope);

}  // namespace tw
