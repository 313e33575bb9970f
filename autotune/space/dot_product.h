// SPDX-License-Identifier: Apache-2.0
// Sums of products of narrow numbers, several of which a processor adds to a wide sum at once: see
// lower/llvm/emit_dot.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lower/llvm/target.h"
#include "schedule/te/compute.h"
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

// A sum of products that tile registers compute (schedule/builtin_intrins.cc): one data axis walks
// through `a` alone, another, the last, through `b` alone, and a reduction through both, in `a`
// along what lies side by side.
struct TileProduct {
  size_t row, column;  // the data axes
  size_t reduce_axis;  // the one that walks through both factors
  te::Tensor a, b;
  size_t a_row;                          // the dimension that `row` walks along
  size_t b_column, b_depth;              // those of `column` and `reduce_axis`
  int64_t group;                         // products of one sum that stand side by side
  std::string a_type, b_type, sum_type;  // as intrinsics name them
  std::string product() const { return a_type == "bf16" ? a_type : a_type + b_type; }
  int64_t depth() const { return kTileRows * group; }  // products of one sum that are added at once

  static constexpr int64_t kTileRows = 16;  // and columns, of sums
};

// Nothing where the operation is no such sum, too small to fill a fair part of a tile, or the
// target has no tile registers, or is this machine, whose system refuses them.
std::optional<TileProduct> find_tile_product(const te::ComputeNode& compute, const Target& target);

}  // namespace tw::autotune
