// SPDX-License-Identifier: Apache-2.0
// Expressions are graphs: a part may stand in several places. Most walks meet it in each, which
// takes time that doubles with every level of x = exp(x) + tanh(x).
#pragma once

#include "ir/node.h"

namespace tw {

// Whether the expression has more nodes than that, those that stand in several places counted in
// each: as many as a walk meets. This one ends when it knows.
bool has_more_parts_than(const Expr& e, int most);

// The same value, where parts that stand in several places, or are equal, are computed once and
// bound by a Let: around all of `e`, or inside the side of a choice that alone needs them. A part
// that reads memory is not moved to where it was not read before. Lets of `e` itself are opened
// first. Integers are bound only where they are large, since indices are read as linear forms.
// Undefined when the result has more than `most` parts.
Expr bind_shared_parts(const Expr& e, int most);

}  // namespace tw
