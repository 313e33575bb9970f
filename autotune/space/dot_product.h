// SPDX-License-Identifier: Apache-2.0
// Sums of products of narrow numbers, several of which a processor adds to a wide sum at once: see
// lower/llvm/emit_dot.cc.
#pragma once

#include <optional>

#include "lower/llvm/target.h"
#include "schedule/te/text.h"

namespace tw::autotune {

struct DotProduct {
  // A tensor of narrow numbers, which the reduction walks along one dimension.
  struct Factor {
    te::Tensor tensor;
    size_t dimension;
  };
  int64_t group;       // products that one instruction adds
  size_t reduce_axis;  // the one that walks through both factors
  Factor a, b;
};

// Nothing where the operation is no such sum, or the target has no such instruction.
std::optional<DotProduct> find_dot_product(const te::ComputeNode& compute, const Target& target);

// Products of these types that one instruction of the target adds to a sum of type `wide`; 1 where
// there is none.
int64_t products_at_once(DType a, DType b, DType wide, const Target& target);

}  // namespace tw::autotune
