// SPDX-License-Identifier: Apache-2.0
// One way to tile a reduction, alone or with those in its company: see rule_tile.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "autotune/space/builder.h"
#include "autotune/space/data_axes.h"

namespace tw::autotune {

// Terms of the sum that stand side by side: so many along a reduction axis, which is a dimension of
// the packed operand. The other factor, where they lie apart in it, is packed too.
struct TermGroup {
  int64_t terms;
  size_t reduce_axis, dimension;
  std::optional<Operand> apart;
};

// A reduction whose sums are computed in the tiles.
struct TileMember {
  size_t op;
  std::vector<Operand> operands;  // those to pack
  std::optional<TermGroup> group;
};

struct Tiling {
  std::vector<DataAxis> axes;  // of every member
  size_t vector_axis;          // of those
  bool packed;
  std::vector<TileMember> members;  // first the one that owns the tail
  // What the tiles compute behind the first one's sums, in order; the last of it is stored.
  std::vector<size_t> tail = {};
  // The dimension of what is stored that each data axis of the first one is; nothing for some of
  // one position.
  std::vector<std::optional<size_t>> places = {};
};

void apply_tiling(Builder& b, const Tiling& tiling);

}  // namespace tw::autotune
