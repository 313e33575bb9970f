// SPDX-License-Identifier: Apache-2.0
// What poolings and their gradients share.
#pragma once

#include <string_view>
#include <vector>

#include "graph/op.h"
#include "schedule/topi/nn/pooling.h"

namespace tw::graph {

// Operators that pool over so many spatial dimensions, and texts of their attributes.
struct PoolingFamily {
  size_t spatial;
  std::string_view max, average, lp, sum;
  std::string_view global_max, global_average, adaptive_max, adaptive_average;
  std::string_view max_gradient, average_gradient, sum_gradient, select;
  std::string_view layout, ones, zeros;

  std::string_view gradient(topi::nn::PoolType type) const;
  std::string_view sliding(topi::nn::PoolType type) const;
};
const PoolingFamily& poolings(size_t spatial);  // 1, 2 or 3

AttributeSpec pool_layout(const PoolingFamily& family);
AttributeSpec output_size();
// Of an operator that slides windows.
std::vector<AttributeSpec> pool_windows(const PoolingFamily& family, topi::nn::PoolType type);
// The output has an element for each window of the input of that number. Windows slide where
// pool_size is not empty; else there are output_size of them, one where that is empty too.
void infer_pool(ShapeInference& s, const PoolingFamily& family, size_t input = 0);
// How an operator with such attributes pools.
topi::nn::Pooling pooling_of(const AttributeValues& a, topi::nn::PoolType type);

}  // namespace tw::graph
