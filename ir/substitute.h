// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/node.h"

namespace tw {

using VarMap = std::unordered_map<Var, Expr, IdentityHash, IdentityEqual>;
using VarSet = std::unordered_set<Var, IdentityHash, IdentityEqual>;

// Replaces uses of variables. Bindings inside are not renamed: variables are identities, so
// nothing can be captured.
Expr substitute(const Expr& e, const VarMap& map);
Stmt substitute(const Stmt& s, const VarMap& map);
// The same with a function: an undefined result keeps the variable. Buffers of Load, Store and
// Allocate are replaced too (by another Var).
Stmt substitute(const Stmt& s, const std::function<Expr(const Var&)>& f);

bool uses(const Expr& e, const Var& var);
bool uses(const Stmt& s, const Var& var);
bool uses_any(const Expr& e, const VarSet& vars);
// Variables used but not bound inside, in the order of their first use.
std::vector<Var> free_vars(const Expr& e);
std::vector<Var> free_vars(const Stmt& s);
// True when evaluating the expression twice, or never, is the same as once: no call with an
// effect. Loads count as pure.
bool is_pure(const Expr& e);
bool loads_memory(const Expr& e);
// Gives every binding inside a fresh variable, for a copy that stands beside the original.
Stmt rename_bindings(const Stmt& s);

}  // namespace tw
