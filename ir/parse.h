// SPDX-License-Identifier: Apache-2.0
// The inverse of print.h: text with declarations gives back a structurally equal tree.
#pragma once

#include <string_view>

#include "ir/node.h"

namespace tw {

// Throw UserError (ParseError) with line, column, what was found and what would be legal there.
Expr parse_expr(std::string_view text);
Stmt parse_stmt(std::string_view text);

}  // namespace tw
