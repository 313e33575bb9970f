// SPDX-License-Identifier: Apache-2.0
// simplify: folds what unrolling and vectorisation left, under the ranges and conditions around it.
//
// before:                                       after:
//   C[((y*8) + 0)] = (A[((2*4) + x)] + B[0])      C[(y*8)] = (A[(x + 8)] + B[0])
#include "ir/arithmetic/analyzer.h"
#include "lower/passes.h"

namespace tw::pass {

Kernel simplify(Kernel kernel, const PassContext&) {
  kernel.body = tw::simplify(kernel.body);
  return kernel;
}

}  // namespace tw::pass
