// SPDX-License-Identifier: Apache-2.0
// Does a part of a stage compute what an intrinsic computes? Axes and tensors are matched with
// those of the intrinsic's own expression: axes by their extents, tensors by how they are read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/relation.h"
#include "schedule/tensor_intrin.h"

namespace tw {

// What stands for a tensor of the intrinsic.
struct IntrinOperand {
  te::Tensor tensor;
  std::vector<Expr> indices;  // of its first element
  // For each dimension of the intrinsic's tensor, the one of `tensor` that it runs along; -1 where
  // it has one element.
  std::vector<int> dimensions;
};

// What stands for all that an intrinsic leaves open.
struct IntrinMatch {
  std::vector<IntrinOperand> operands;  // in the order of the intrinsic's buffers
  std::vector<Expr> values;             // of open_variables()
};

// `parts`: where each root axis begins, and its extent. Nothing when there is no match.
std::optional<IntrinMatch> match_intrin(const te::Operation& op, const DomainMap& parts,
                                        const TensorIntrinNode& intrin, Analyzer& analyzer);
// Where there is no match: the first thing that is another one, "A[x] where it has a[i]".
std::string first_difference(const te::Operation& op, const DomainMap& parts,
                             const TensorIntrinNode& intrin, Analyzer& analyzer);
// The same with the outputs, from operand `first` on, where `parts` begin.
IntrinMatch outputs_at(const DomainMap& parts, const te::Operation& op, size_t first,
                       IntrinMatch match);

// The nest `body` that the intrinsic stands for, with what the pass tensorize needs to put it
// there.
Stmt mark_nest(const TensorIntrinNode& intrin, IntrinPart part, const IntrinMatch& match,
               const Stmt& body);

}  // namespace tw
