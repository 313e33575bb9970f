// SPDX-License-Identifier: Apache-2.0
// Structural equality and hash. Bound variables match by position; free variables and producers by
// identity, or, with `map_free_vars`, by a consistent one-to-one renaming.
#pragma once

#include <cstdint>

#include "ir/node.h"

namespace tw {

struct EqualOptions {
  bool map_free_vars = false;
};
bool equal(const Expr& a, const Expr& b, const EqualOptions& options = {});
bool equal(const Stmt& a, const Stmt& b, const EqualOptions& options = {});

// Equal trees (with map_free_vars) have equal hashes. Stable across processes and machines: it
// depends on structure, types and constants, never on names or addresses.
uint64_t structural_hash(const Expr& e);
uint64_t structural_hash(const Stmt& s);

// Orders expressions totally and deterministically, by structure, then by the names of free
// variables and producers, then by the order in which these were created; zero only for equal(a,
// b). For sorting operands canonically.
int compare(const Expr& a, const Expr& b);

}  // namespace tw
