// SPDX-License-Identifier: Apache-2.0
// The loops that are dot products of small groups, for which processors have one instruction:
// llvm/emit_dot.cc emits it, and the passes before leave such loops as they are.
//
//   for (k, 0, 4) {
//     C[ramp(c, 1, 16)] = (C[ramp(c, 1, 16)] +
//                          (x16(int32(A[(a + k)]))*int32x16(B[ramp((b + k), 4, 16)])))
//   }
//
// The loop may be shorter than the group, where a sum ends: for (k, 0, 3), the lanes 4 apart still.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/node.h"
#include "lower/llvm/target.h"

namespace tw {

// One factor of the products: groups side by side in memory, one for all lanes or one a lane; or a
// number.
struct DotFactor {
  const Load* load = nullptr;
  Expr base;  // where the group of the first lane begins, a function of the loop's variable
  bool broadcast = false;  // one group for all lanes
  bool flipped = false;    // of what is loaded, signed bytes, the sign bit counts as 128
  int64_t constant = 0;    // where nothing is loaded: 0 to 255
  bool is_signed() const { return load != nullptr && load->type.is_int() && !flipped; }
};

struct DotProduct {
  const Store* store;
  const Load* sum;
  DotFactor first, second;
  bool integers;  // bytes into int32; otherwise bfloat16 into float32
  int terms;      // of a group of 4 or 2
  int lanes;
};

// Nothing where the loop is none, or `target` has no instruction for it.
std::optional<DotProduct> match_dot_product(const For& loop, const Target& target);

}  // namespace tw
