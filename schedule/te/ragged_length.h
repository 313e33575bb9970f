// SPDX-License-Identifier: Apache-2.0
// How long loops are expected to be whose length depends on where they stand, or is read from
// tensors: triangles, and rows of sparse matrices.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "schedule/te/operation.h"

namespace tw::te {

// Whether `var` stands in the expression outside of what it loads: then neighbouring values of the
// variable are neighbouring values of the expression, and not anywhere.
bool moves_with(const Expr& e, const Var& var);

// How many elements a loop over `var` walks through in all of its runs together: the least extent
// of a dimension that `body` reads along the variable. 0 where it reads none.
int64_t elements_along(const Stmt& body, const Var& var);
int64_t elements_along(const Expr& body, const Var& var);

// The length of a loop that it has in the middle: `middle` gives of variables that loops outside
// run over a value halfway, and nothing of others. What is read from a tensor is taken to rise
// evenly along the tensor's last dimension from 0 to `elements`, as ends of rows do that share so
// many elements. At least 1.
int64_t expected_length(const Expr& extent, const std::function<Expr(const Var&)>& middle,
                        int64_t elements);

// Of each of the operation's root axes: the extent, or for a ragged one that which it has while all
// axes outside are halfway; nothing for symbolic ones.
std::vector<std::optional<int64_t>> expected_extents(const OperationNode& op);

}  // namespace tw::te
