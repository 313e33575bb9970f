// SPDX-License-Identifier: Apache-2.0
// What the families of gather and scatter share.
#pragma once

#include "graph/inference.h"

namespace tw::graph {

// Input 1 are positions along `axis` of input 0, at their own place in all other dimensions; the
// output has their shape.
void infer_gather(ShapeInference& s);

}  // namespace tw::graph
