// SPDX-License-Identifier: Apache-2.0
// Conditions apart, and together again.
#pragma once

#include <vector>

#include "ir/node.h"

namespace tw {

// The condition with every likely(…) taken off.
Expr strip_likely(const Expr& condition);

// The parts of a conjunction; likely(a && b) gives likely(a) and likely(b).
std::vector<Expr> conjuncts(const Expr& condition);
// All of them at once; undefined for none.
Expr conjunction(const std::vector<Expr>& conditions);

}  // namespace tw
