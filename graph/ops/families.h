// SPDX-License-Identifier: Apache-2.0
// Families of operators: a file each beside this one, a row each of graph/ops.def.
#pragma once

#include <vector>

#include "graph/op.h"

namespace tw::graph {

#define OPERATOR_FAMILY(name) std::vector<Op> name();
#include "graph/ops.def"
#undef OPERATOR_FAMILY

}  // namespace tw::graph
