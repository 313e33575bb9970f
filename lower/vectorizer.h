// SPDX-License-Identifier: Apache-2.0
// The body of one vectorized loop over all its lanes at once.
#pragma once

#include "ir/arithmetic/analyzer.h"
#include "ir/node.h"
#include "lower/passes.h"

namespace tw::pass {

struct VectorBody {
  // Undefined when lanes hand values to one another through memory, so that each must run to its
  // end before the next.
  Stmt body;
  // Whether all of it has a vector form; the rest runs lane by lane.
  bool only_vectors = true;
};
VectorBody vectorize_body(const For& loop, int lanes, Analyzer& analyzer,
                          const PassOptions& options);

}  // namespace tw::pass
