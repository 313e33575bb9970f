// SPDX-License-Identifier: Apache-2.0
// A loop moved into its body: the statements that depend on it get loops of their own, the others
// run once, and memory that each iteration has for itself gets a place for each.
//
//   for (t, 0, 4) {                       allocate P[float32 * 4]
//     allocate S[float32 * 8]             allocate S[float32 * 8]
//     allocate P[float32 * 1]             for (k, 0, 8) { S[k] = A[k] }
//     for (k, 0, 8) { S[k] = A[k] }       for (t, 0, 4) { P[t] = S[t] }
//     P[0] = S[t]                         for (t, 0, 4) { B[t] = P[t] }
//     B[t] = P[0]
//   }
//
// Iterations must be independent but for memory that is allocated inside.
#pragma once

#include <optional>

#include "ir/node.h"

namespace tw {

// Where loops stand in the end.
enum class Distribution {
  AroundShared,  // around the longest runs of statements that write nothing the iterations share
  Innermost,     // around single statements, unrolled: the iterations are interleaved
};
// Nothing where the body is not of that kind: there a condition, a loop's extent or a size depends
// on the iteration, or memory is passed on whole.
std::optional<Stmt> distribute_loop(const For& loop, Distribution distribution);

}  // namespace tw
