// SPDX-License-Identifier: Apache-2.0
// canonical_simplify: expressions in normal form, so that later passes meet one spelling of each.
//
// before:                                       after:
//   C[(((f/3)*3) + (f % 3))] = A[(x*1 + 2 - 2)]   C[f] = A[x]
#include "ir/arithmetic/analyzer.h"
#include "lower/passes.h"

namespace tw::pass {

Kernel canonical_simplify(Kernel kernel, const PassContext&) {
  kernel.body = tw::canonical_simplify(kernel.body);
  return kernel;
}

}  // namespace tw::pass
