// SPDX-License-Identifier: Apache-2.0
// What is wrong with the statements of an extern, as far as running their indices shows it.
#pragma once

#include <vector>

#include "runtime/error.h"
#include "schedule/te/extern.h"

namespace tw::te {

// OutOfBounds for an access of memory, the tensors' or their own, beyond its elements;
// ParallelReduction for two iterations of a parallel or vectorized loop that access one element, of
// which one stores it; lanes may all store to one, and run statement by statement; threads of a
// block, which run in turn, may too, and none may read what another stores. Each is what
// some iterations do, so nothing right is reported. What cannot be known before a call is passed
// over: what depends on elements of memory, or happens only where they allow it. Symbolic extents
// take several values, and what is reported is wrong for all of them; of long loops the first and
// the last iterations are tried.
std::vector<ErrorInfo> check_statements(const ExternParts& parts);

// That of an operation, if statements compute it; else nothing.
std::vector<ErrorInfo> findings_of(const Operation& op);

}  // namespace tw::te
