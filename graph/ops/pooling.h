// SPDX-License-Identifier: Apache-2.0
// What poolings and their gradients share.
#pragma once

#include <string_view>
#include <vector>

#include "graph/op.h"
#include "schedule/topi/nn/pooling.h"

namespace tw::graph {

// Of an operator that slides windows.
std::vector<AttributeSpec> window_attributes(topi::nn::PoolType type);
// The output has an element for each window of input 0; of one over whole images where pool_size is
// ().
void infer_pool(ShapeInference& s);
// The operator that gives the gradient of what was pooled.
std::string_view pool_gradient_of(topi::nn::PoolType type);

}  // namespace tw::graph
