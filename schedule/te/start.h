// SPDX-License-Identifier: Apache-2.0
// Reductions that start from other values than their identity, as sums on top of a tensor do.
#pragma once

#include <vector>

#include "schedule/te/operation.h"

namespace tw::te {

// Bodies of a compute: the reduction that `reduction` are the components of, starting from `init`,
// one expression of the data axes for each component; without any, `reduction` as they are. `init`
// is combined before the first term, and is what a reduction over nothing gives. BadReduction for
// another number or type of values, and for values that depend on an axis that is reduced over.
std::vector<Expr> starting_from(const std::vector<Expr>& reduction, const std::vector<Expr>& init);
Expr starting_from(const Expr& reduction, const Expr& init);

// What a reduction evaluates before its first term, in terms of its data axes; empty where it
// starts from its identity, and for what is no reduction.
std::vector<Expr> started_from(const OperationNode& op);

// The bodies of a compute without what starting_from has put around them, which goes to `init`.
std::vector<Expr> taken_apart(const std::vector<Expr>& bodies, std::vector<Expr>& init);

}  // namespace tw::te
