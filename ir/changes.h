// SPDX-License-Identifier: Apache-2.0
// What statements may change while they run: a condition or a bound that reads memory says what was
// so when it was read.
#pragma once

#include "ir/node.h"

namespace tw {

// Whether the value of `e` may change while `body` runs, which writes what it reads.
bool may_change(const Expr& e, const Stmt& body);

// What of a condition that holds before `body` holds as long as it runs; undefined when nothing
// does.
Expr lasting(const Expr& condition, const Stmt& body);

// What the variable of a loop runs over, in terms of what does not change while `body` runs: a
// fresh variable stands for each bound that does.
Range lasting(const Range& range, const Stmt& body);

// The same statements, where each loop whose first value may change while it runs has it from a
// variable. What repeats or replaces the loop's variable may then read that value again.
Stmt hold_changing_bounds(const Stmt& s);

}  // namespace tw
