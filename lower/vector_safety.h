// SPDX-License-Identifier: Apache-2.0
// Questions that passes ask before they let lanes run together, or run that were off.
#pragma once

#include "ir/node.h"
#include "ir/substitute.h"

namespace tw {

// True when a mask can be pushed into the statement: stores under loops and conditions, nothing
// with another effect. Undefined statements can.
bool can_be_masked(const Stmt& s);

bool loads_from(const Expr& e, const Var& buffer);

// Whether a call gets the buffer, or the address of an element of it.
bool is_addressed(const Var& buffer, const Stmt& s);

// True when evaluating cannot fault, whatever the operands: no memory (unless `allow_loads`), no
// division by what may be zero, no unknown code.
bool always_safe(const Expr& e, bool allow_loads);

// Whether lanes divide integers by what is not a constant: one that is off holds anything, zero
// too.
bool divides_in_any_lane(const Stmt& s);

// Statements that touch one of the buffers; a load outside of a store counts as one.
int statements_touching(const Stmt& s, const VarSet& buffers);

}  // namespace tw
