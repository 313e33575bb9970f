// SPDX-License-Identifier: Apache-2.0
// A tensor intrinsic called on slices of tensors, as te.compute has it: each call computes a block
// of what is computed.
#pragma once

#include <string>
#include <vector>

#include "schedule/te/operation.h"
#include "schedule/tensor_intrin.h"

namespace tw {

struct TensorRegion {
  te::Tensor tensor;
  std::vector<Range> region;  // one for each dimension
};

struct IntrinCall {
  TensorIntrin intrin;
  std::vector<TensorRegion> inputs;  // in the order of the intrinsic's
  std::vector<Expr> scalars;         // of its scalar parameters
  std::vector<IterVar> reduction;    // loops around the calls that add to the same block
};

// The operation whose element blocks of shape `block` the calls compute, one for each point of
// `axis`, which are the dimensions before those of the blocks. What the intrinsic computes of
// slices has their shape but for dimensions of extent 1. BadArgument, saying which shapes disagree.
te::Operation called_op(const IntrinCall& call, const std::string& name, std::vector<IterVar> axis,
                        const std::vector<Expr>& block, const std::string& tag = "",
                        const te::Attributes& attributes = {});

}  // namespace tw
