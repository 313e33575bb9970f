// SPDX-License-Identifier: Apache-2.0
// Copies of operands in which the lanes of a tile lie side by side: tiles of the vector axis
// outermost, its lanes innermost, the rest as it was.
#pragma once

#include <vector>

#include "autotune/space/tiling.h"

namespace tw::autotune {

// A factor in a packed copy that follows the tiles of the vector axis: the innermost of them, or
// its lanes.
struct PackPlace {
  Knob::Place place;
  bool lanes;
};

struct PackedCopies {
  std::vector<PackPlace> places;
  std::vector<Stage> in_call;  // copies of arguments, which may move into the tiles
};

// Packs what the members ask for, once for all that want it alike. `sums[k]` are the stages that
// read the operands of member k; its data axes have been collapsed already.
PackedCopies pack_operands(Builder& b, const Tiling& tiling, const std::vector<Stage>& sums);

// One axis for several neighbouring ones of the stage.
void collapse(const Stage& stage, const std::vector<size_t>& dimensions);

}  // namespace tw::autotune
