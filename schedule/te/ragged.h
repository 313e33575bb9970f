// SPDX-License-Identifier: Apache-2.0
// Axes of reductions that have another domain for each element: the columns up to a diagonal, the
// entries of a sparse matrix's row. Such a domain is an expression of the data axes, and may read
// tensors.
#pragma once

#include <vector>

#include "ir/arithmetic/analyzer.h"
#include "schedule/te/operation.h"

namespace tw::te {

bool reads_tensor(const Expr& e);
// Whether the axis has another domain for each element of the operation.
bool is_ragged(const OperationNode& op, const IterVar& axis);
// What the domains of those axes are: expressions that are evaluated once for an element, before
// the terms of its reduction.
std::vector<Expr> ragged_ends(const OperationNode& op);

// The axis over the same domain in terms of other variables.
IterVar over(const IterVar& axis, const VarMap& values);

// The same axis, whose ends are read where `inside` holds only: elsewhere those that read are 0.
IterVar inside_only(const IterVar& axis, const Expr& inside);

// The least range found that holds the domain wherever the variables of `ranges` are in theirs. The
// domain itself where it does not depend on them; undefined where there is none, as where elements
// that are read decide.
Range hull(const Range& domain, const DomainMap& ranges, Analyzer& analyzer);

}  // namespace tw::te
