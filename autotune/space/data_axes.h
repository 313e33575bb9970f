// SPDX-License-Identifier: Apache-2.0
// The data axes of a reduction as tiles see them, and the operands that move along them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autotune/space/analysis.h"
#include "schedule/te/compute.h"

namespace tw::autotune {

// Neighbouring axes that every operand that moves with them is read along as it lies are one: rows
// and columns of the image under a 1×1 convolution. Its tiles need not end where a row does.
struct DataAxis {
  std::vector<size_t> axes;  // of the operation, in order
  int64_t extent;            // their product
  std::string name;
};
std::vector<DataAxis> data_axes(const OperationFacts& facts);
// Those of several operations of one shape: axes are one where they are in each of them. Names are
// the first one's.
std::vector<DataAxis> data_axes(std::span<const OperationFacts* const> facts);

// The last of them, of an operation that nothing else's loops move into; else the last axis alone.
DataAxis last_as_one(const OperationFacts& facts);

// After how many positions along a data axis all that is read is read again: those of copies of a
// tensor behind one another. Nothing where some read moves on, and for the axis as a whole.
std::optional<int64_t> period_of(const OperationFacts& facts, size_t axis);

// An operand that one data axis moves along one dimension, by itself; along `dimensions` of them
// that follow each other where the axis is several.
struct Operand {
  te::Tensor tensor;
  size_t dimension;
  size_t dimensions = 1;
};
// The operands whose reads use the axis; nothing when one of them uses it in any but the plain way,
// or several reads of one tensor disagree.
std::optional<std::vector<Operand>> operands_along(const te::ComputeNode& compute,
                                                   const DataAxis& axis);
// By axis, whether some operand that moves along the vector axis moves along it too: there are
// vectors of that one, and elements for all lanes of others.
std::vector<bool> axes_of_vectors(const te::ComputeNode& compute, std::span<const DataAxis> axes,
                                  size_t vector_axis);

}  // namespace tw::autotune
